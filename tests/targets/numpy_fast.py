"""Modules for NumPy in the style ``fused``: kernels of small arrays, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import xla2py
from xla2py.tests.recording.lazy_jax import jax
from xla2py.transpile.emission.module.generated import GeneratedModule
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.equivalence.verdicts.comparison import compare, flatten


def emitted(program: str) -> GeneratedModule:
    return xla2py.emit(program, style="fused", format=False, checks=False, debug=True)


def kernels(module: GeneratedModule) -> list[str]:
    """The names of a module's kernels."""
    return re.findall(r"^@njit\(.*\)\ndef (\w+)", module.source, re.MULTILINE)


def results(module: GeneratedModule, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
    made = module.load(keep_compiled=False).main(*arguments)
    return [leaf for _, leaf in flatten(made)]


def differences(program: str, arguments: Sequence[np.ndarray], module: GeneratedModule | None = None) -> list[str]:
    """What a module gives otherwise than XLA."""
    expected = [leaf for _, leaf in flatten(run_hlo(program, *arguments))]
    actual = results(module or emitted(program), arguments)
    return [str(leaf) for leaf in compare(expected, actual) if not leaf.status.is_good]


def assert_as_in_xla(
    module: GeneratedModule, function: Callable[..., Any], arguments: Sequence[Any], tolerance: float
) -> None:
    """Run a module beside the JAX function that it was emitted from: types, shapes and values are the same, NaN and
    infinities stand in the same places."""
    with np.errstate(all="ignore"):
        made = module.load(keep_compiled=False).main(*arguments)
    for leaf, expected in zip(jax.tree.leaves(made), jax.tree.leaves(jax.jit(function)(*arguments)), strict=True):
        assert (leaf.dtype, leaf.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(leaf, np.asarray(expected), rtol=tolerance, atol=tolerance)


def as_in_xla(
    function: Callable[..., Any], *arguments: np.ndarray, tolerance: float = 2e-6, style: str = "fast"
) -> GeneratedModule:
    """The module of a function, which gives what XLA gives and leaves its arguments as they are."""
    module = xla2py.emit(xla2py.from_jax(function, *arguments), style=style, format=False, checks=False)
    before = [argument.copy() for argument in arguments]
    assert_as_in_xla(module, function, arguments, tolerance)
    assert all(np.array_equal(*pair, equal_nan=True) for pair in zip(arguments, before, strict=True))
    return module


def is_of_loops(name: str) -> bool:
    """Whether a function of Numba is one of a loop, or of all that ``main`` computes."""
    return name.endswith("_loop") or name == "compiled_main"


def rounds(module: GeneratedModule) -> str:
    """The lines of the loop of a module that has but one function of Numba."""
    (name,) = kernels(module)
    assert is_of_loops(name)
    text = module.source[module.source.index(f"def {name}(") :]
    return text[text.index("for ") : text.index("return")]
