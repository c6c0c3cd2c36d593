"""Modules whose values are compared with XLA's, for tests of their text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import xla2py
from xla2py.tests.recording.lazy_jax import jax
from xla2py.transpile.emission.module.generated import GeneratedModule


def agree(found: Any, wanted: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """The leaves of two trees are close."""
    for one, other in zip(*map(jax.tree.leaves, (found, wanted)), strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=rtol, atol=atol)


def emitted(
    function: Callable[..., Any], *arguments: Any, rtol: float = 1e-5, atol: float = 1e-6, **options: Any
) -> GeneratedModule:
    """The module of a function, which takes and returns its trees."""
    module = xla2py.emit(xla2py.from_jax(function, *arguments), **options)
    agree(module.load().main(*arguments), jax.jit(function)(*arguments), rtol, atol)
    return module


def text_of(
    function: Callable[..., Any], *arguments: Any, rtol: float = 1e-5, atol: float = 1e-6, **options: Any
) -> str:
    """The text of a function without its source, which takes leaves unless it is ``nested``."""
    hlo = jax.jit(function, keep_unused=True).lower(*arguments).as_text("hlo", debug_info=True)
    module = xla2py.emit(hlo, **options)
    given = arguments if options.get("nested") else [*map(np.asarray, jax.tree.leaves(arguments))]
    agree(module.load().main(*given), jax.jit(function)(*arguments), rtol, atol)
    return str(module.source)
