"""Write the patterns of special functions again, from what the installed JAX writes for them, and, where that is newer
than the JAX of the tests, its texts with what XLA gives for them, for the tests.

Run it as ``python -m xla2py.tests.special_functions.write_patterns``, with names to write those functions alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np

import xla2py
from xla2py.tests.special_functions.functions import COMPLEX, FUNCTIONS, NEWER, samples
from xla2py.tests.special_functions.merging import kind_of, merge
from xla2py.transpile.array.support import Support
from xla2py.transpile.hlo.custom_calls.special_functions import own_target
from xla2py.transpile.hlo.opcodes import OPCODES
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.passes import special_functions
from xla2py.transpile.passes.special_functions.library import function_of, numbers_of, texts

# Where 64-bit types are on, counters have them, too.
_FORMS = (("f32", jnp.float32, False), ("f32_x64", jnp.float32, True), ("f64", jnp.float64, True))
_NARROW = (("f16", jnp.float16, False), ("bf16", jnp.bfloat16, False))  # written out in their own type
_COMPLEX = (("c64", jnp.complex64, False), ("c128", jnp.complex128, True))
_OWN_FORMS = (
    dict.fromkeys(("complex_sinc", *COMPLEX), _COMPLEX)
    | dict.fromkeys(("expi", "expn"), _FORMS[::2])
    | dict.fromkeys(("kl_div", "np.hypot", "rel_entr"), _FORMS + _NARROW)
)
_TYPES = {name: dtype for name, dtype, _ in _FORMS + _NARROW + _COMPLEX if name != "f32_x64"}
_NUMBERS = (0.3, 1.75, 3.0)  # to give for arguments
_COMMON = {-1.0, 0.0, 0.5, 1.0, 2.0}  # in any program: a function that leaves no other ones is short
_IS_NEWER = jax.__version_info__ >= (0, 12)
_KNOWN = {name: (function, 1) for name, function in COMPLEX.items()} | FUNCTIONS | (NEWER if _IS_NEWER else {})
# What JAX 0.12 gives by these names is not what earlier versions gave: other limits, and the last digits of float32.
_RENAMED = {name: f"{name}_with_limits" for name in ("digamma", "expi", "expn", "gammainc", "gammaincc", "polygamma")}
_RENAMED_IN_FLOAT32 = {name: f"{name}_in_float64" for name in ("betainc", "betaln", "erfcx", "lgamma")}
_VERSION = ".".join(jax.__version__.split(".")[:2])
_FOLDER = Path(special_functions.__file__).parent / "patterns" / f"jax_{_VERSION}"
_TEXTS = Path(__file__).parent / f"jax_{_VERSION}"


def write(names: Collection[str]) -> None:
    """Write a text for each function and type, unless another version writes the same; what is in one is named in those
    after it."""
    _FOLDER.mkdir(exist_ok=True)
    for path in _paths(_FOLDER, names):
        path.unlink()
    texts.cache_clear()
    for some in ("lgamma digamma zeta expn".split(), list(_KNOWN)):
        for form in _FORMS + _NARROW + _COMPLEX:
            for name in some:
                if name in names and form in _OWN_FORMS.get(name, _FORMS):
                    _write(name, *form)


def _write(name: str, suffix: str, dtype: Any, has_64_bits: bool) -> None:
    with jax.enable_x64(has_64_bits):
        text = _text(name, dtype)
    given = _given(name, dtype)
    is_opcode = given in OPCODES and f" {given}(" in text.splitlines()[-2]
    if own_target(given) not in text and not is_opcode:  # it is not known in this form
        (_FOLDER / f"{given}.{suffix}.hlo").write_text(text, "utf-8")
        texts.cache_clear()


def _paths(folder: Path, names: Collection[str]) -> list[Path]:
    """The files of functions."""
    return [path for path in sorted(folder.glob("*.hlo")) if _name_of(path) in names]


def _name_of(path: Path) -> str:
    """The function of JAX that a pattern is of."""
    return re.sub(r"_(with_limits|in_float\d+)$", "", function_of(path))


def write_texts(names: Collection[str]) -> None:
    """Write the texts of functions that the installed JAX writes anew, with arguments and what XLA gives for these."""
    _TEXTS.mkdir(exist_ok=True)
    for path in _paths(_FOLDER, names):
        name, suffix = _name_of(path), kind_of(path)
        if suffix in _TYPES:
            with jax.enable_x64(suffix in ("f64", "c128")):
                _write_text(_TEXTS / path.name, _KNOWN[name][0], _chosen(name, _TYPES[suffix]))


def _chosen(name: str, dtype: type) -> np.ndarray:
    """Some of the arguments to try a function with: edges, and ordinary numbers."""
    arrays = samples(name, dtype, 24)
    edges = np.random.default_rng(5).choice(arrays.shape[1] - 24, min(arrays.shape[1] - 24, 48), replace=False)
    return np.concatenate([arrays[:, np.sort(edges)], arrays[:, -24:]], 1)


def _write_text(path: Path, function: Callable[..., Any], arrays: np.ndarray) -> None:
    module = xla2py.load(jax.jit(function).lower(*arrays).as_text("hlo"))
    rows = [*arrays, np.asarray(jax.jit(function)(*arrays))]
    head = [f"// as JAX {jax.__version__} writes it; the arguments, and what XLA gives", *_numbers_in(rows)]
    path.write_text("\n".join([*head, _plain(print_module(module))]) + "\n", "utf-8")


def _numbers_in(rows: Iterable[np.ndarray]) -> Iterator[str]:
    for row in rows:
        yield "// " + " ".join(str(number) for number in row)


def _plain(text: str) -> str:
    return re.sub(r", metadata=\{[^}]*\}|\{0\}(?= )", "", text)


def _given(name: str, dtype: type) -> str:
    """The name that emitted code has for what the installed JAX calls so."""
    if not _IS_NEWER:
        return name
    if dtype in (jnp.float16, jnp.bfloat16):
        return f"{name}_in_float32"
    return _RENAMED.get(name, _RENAMED_IN_FLOAT32.get(name, name) if dtype is jnp.float32 else name)


def _text(name: str, dtype: type) -> str:
    function, count = _KNOWN[name]
    module = xla2py.load(_lowered(function, count, dtype))
    with mock.patch.object(special_functions, "_of_whole_number", lambda terms, term: term):  # as patterns have ``abs``
        named, _ = special_functions.special_functions(module, Support())
    lines = _plain(print_module(named)).splitlines()
    head = [f"// {name}, as JAX {jax.__version__} writes it.", *_kept(function, count, dtype)]
    return "\n".join([*head, "HloModule pattern", *lines[1:]]) + "\n"


def _lowered(function: Callable[..., Any], count: int, dtype: type) -> str:
    return jax.jit(function).lower(*[jax.ShapeDtypeStruct((2,), dtype)] * count).as_text("hlo")


def _kept(function: Callable[..., Any], count: int, dtype: type) -> Iterator[str]:
    """The line of the numbers that are left whichever arguments are numbers."""
    kept: set[float] | None = None
    for given in product((None, *_NUMBERS), repeat=count):
        if None not in given or not any(given):
            continue

        def partly(*arguments: Any, given: tuple[float | None, ...] = given) -> Any:
            left = iter(arguments)
            return function(*(next(left) if number is None else jnp.full((2,), number, dtype) for number in given))

        module = xla2py.load(_lowered(partly, given.count(None), dtype))
        if module.entry.root.opcode not in ("broadcast", "constant"):  # there is no such function of a number
            kept = numbers_of(module) if kept is None else kept & numbers_of(module)
    if kept and kept - _COMMON:
        yield f"// numbers that arguments leave: {' '.join(map(repr, sorted(kept)))}"


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(_KNOWN)
    write(chosen)
    if _IS_NEWER:
        write_texts(chosen)
    merge(_FOLDER)
