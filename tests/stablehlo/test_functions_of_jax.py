"""What JAX lowers, its public functions on arguments that each of them takes, is the same Python whichever reader reads
it, ours or jaxlib's, which simplifies more.
"""

import importlib
import inspect
import random
import warnings

import numpy as np
import pytest

import xla2py
from xla2py.tests.stablehlo.test_against_jaxlib import translated
from xla2py.tests.whole import much
from xla2py.transpile.errors import XlaToPythonError
from xla2py.transpile.hlo.equality import structurally_equal
from xla2py.transpile.hlo.source import SourceText
from xla2py.transpile.hlo.verifier import verify
from xla2py.transpile.stablehlo.reading import read_text

jax = pytest.importorskip("jax")
pytest.importorskip("jaxlib.mlir.ir")
pytestmark = pytest.mark.usefixtures("forms_of_jaxlib")
MODULES = "numpy numpy.linalg numpy.fft nn lax lax.linalg scipy.special scipy.linalg scipy.signal scipy.stats random"
TEXTS_OF_EACH = much(3, 12)
ROW, PLANE = np.linspace(0.1, 0.9, 4, dtype=np.float32), np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(3, 4)
SQUARE, WORDS = PLANE[:, :3] + np.eye(3, dtype=np.float32), np.array([1, 0, 2, 1], np.int32)
KEY = np.array([0, 7], np.uint32)
ARGUMENTS = [
    *((each,) for each in (ROW, PLANE, SQUARE, WORDS, WORDS > 0, ROW.astype(np.complex64), np.float32(0.5))),
    *((each, each) for each in (ROW, PLANE, SQUARE, WORDS, WORDS > 0, np.int32(2))),
    *((ROW, each) for each in (2, 0.3, -1, WORDS, np.float32(2))),
    *((PLANE, each) for each in (0, 1, (4, 3), (1, 0), ROW)),
    *((KEY, each) for each in (4, (3,), 0.3, ROW)),
    *((2, ROW), (3, SQUARE), (ROW, ROW, ROW), (WORDS > 0, ROW, ROW), (PLANE, 0, 1), (KEY, 2.0, (3,))),
]
OTHER = {"scipy.special.multigammaln"}  # adds -0.0 to 0.0, see below


def functions():
    """The public functions by their names, in an order that no module decides."""
    found = {}
    for module in MODULES.split():
        for name, function in vars(importlib.import_module(f"jax.{module}")).items():
            if callable(function) and not inspect.isclass(function) and not name.startswith("_"):
                found[f"{module}.{name}"] = function
    names = sorted(found)
    random.Random(0).shuffle(names)
    return {name: found[name] for name in much(names[:40], names) if name not in OTHER}


def lowered(function, arguments, chance):
    """The text for one call, for its gradient or for a batch of calls; None where the function does not take that."""
    places = [k for k, each in enumerate(arguments) if isinstance(each, np.ndarray | np.generic)]
    arrays = [arguments[k] for k in places]

    def called(*given):
        own = list(arguments)
        for k, each in zip(places, given, strict=True):
            own[k] = each
        return jax.tree.map(jax.numpy.asarray, function(*own))

    def total(*given):
        return sum(each.sum() for each in jax.tree.leaves(called(*given)) if each.dtype == np.float32)

    transformed = chance.choice((called, called, jax.grad(total), jax.vmap(called)))
    batch = [np.stack([each, each]) for each in arrays] if chance.random() < 0.5 else arrays
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return jax.jit(transformed).lower(*batch).as_text()
    except Exception:
        return None


def emitted(module):
    """The text for a module but for its header, or why there is none."""
    try:
        return xla2py.emit(module, annotate="none").source.partition("\nfrom ")[2]
    except XlaToPythonError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]


@pytest.mark.parametrize("name", FUNCTIONS := functions())
def test_a_function(name):
    chance = random.Random(name)
    texts = set()
    for arguments in chance.sample(ARGUMENTS, len(ARGUMENTS)):
        text = lowered(FUNCTIONS[name], arguments, chance)
        if text is None or text in texts or len(text) > 60_000:
            continue
        texts.add(text)
        module = read_text(SourceText(text))
        verify(module)
        theirs = translated(text.encode())
        assert structurally_equal(module, theirs, labels=False) or emitted(module) == emitted(theirs), text
        if len(texts) == TEXTS_OF_EACH:
            break


def test_the_sum_of_zeros():
    """The sum of 0.0 and -0.0 is 0.0. In a program without lines of lgamma jaxlib makes -0.0 of it."""
    text = jax.jit(lambda x: jax.scipy.special.multigammaln(x, 0.3)).lower(ROW).as_text()
    ours, theirs = (
        module.entry.root.operands[0]["literal"] for module in (read_text(SourceText(text)), translated(text.encode()))
    )
    assert (ours, theirs) == (0, 0)
    assert (np.signbit(ours), np.signbit(theirs)) == (False, True)
