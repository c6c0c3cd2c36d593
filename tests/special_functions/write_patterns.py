"""Write the patterns of special functions again, from what the installed JAX writes for them.

Run it as ``python -m xla2py.tests.special_functions.write_patterns``.
"""

from __future__ import annotations

import re
from pathlib import Path

import jax
import jax.numpy as jnp

import xla2py
from xla2py.tests.special_functions.functions import FUNCTIONS
from xla2py.transpile.array.support import Support
from xla2py.transpile.hlo.custom_calls.special_functions import own_target
from xla2py.transpile.hlo.printer import print_module
from xla2py.transpile.passes import special_functions
from xla2py.transpile.passes.special_functions.library import _files

# Where 64-bit types are on, counters have them, too.
_FORMS = (("f32", jnp.float32, False), ("f32_x64", jnp.float32, True), ("f64", jnp.float64, True))
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
    arguments = [jax.ShapeDtypeStruct((2,), dtype)] * count
    module = xla2py.load(jax.jit(function).lower(*arguments).as_text("hlo"))
    named, _ = special_functions.special_functions(module, Support())
    lines = re.sub(r", metadata=\{[^}]*\}|\{0\}(?= )", "", print_module(named)).splitlines()
    return "\n".join([f"// {name}, as JAX {jax.__version__} writes it.", "HloModule pattern", *lines[1:]]) + "\n"


if __name__ == "__main__":
    write()
