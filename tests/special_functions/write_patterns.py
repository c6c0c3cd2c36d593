"""Write the patterns of special functions again, from what the installed JAX writes for them.

Run it as ``python -m xla2py.tests.special_functions.write_patterns``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import xla2py
from xla2py.tests.special_functions.functions import FUNCTIONS
from xla2py.transpile.array.support import Support
from xla2py.transpile.hlo.custom_calls.special_functions import own_target
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.passes import special_functions
from xla2py.transpile.passes.special_functions.library import _files, numbers_of

# Where 64-bit types are on, counters have them, too.
_FORMS = (("f32", jnp.float32, False), ("f32_x64", jnp.float32, True), ("f64", jnp.float64, True))
_NUMBERS = (0.3, 1.75, 3.0)  # to give for arguments
_COMMON = {-1.0, 0.0, 0.5, 1.0, 2.0}  # in any program: a function that leaves no other ones is short
_FOLDER = Path(special_functions.__file__).parent / "patterns"


def write() -> None:
    """Write a text for each function and type; what is in one is named in those after it."""
    for path in _FOLDER.glob("*.hlo"):
        path.unlink()
    _files.cache_clear()
    for names in ("lgamma digamma zeta".split(), list(FUNCTIONS)):
        for suffix, dtype, has_64_bits in _FORMS:
            for name in names:
                with jax.enable_x64(has_64_bits):
                    text = _text(name, dtype)
                if own_target(name) not in text:  # it is not known in this form
                    (_FOLDER / f"{name}.{suffix}.hlo").write_text(text, "utf-8")
                    _files.cache_clear()


def _text(name: str, dtype: type) -> str:
    function, count = FUNCTIONS[name]
    module = xla2py.load(_lowered(function, count, dtype))
    named, _ = special_functions.special_functions(module, Support())
    lines = re.sub(r", metadata=\{[^}]*\}|\{0\}(?= )", "", print_module(named)).splitlines()
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
    write()
