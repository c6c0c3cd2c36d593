"""Programs to be timed, and the arrays that they are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Program:
    """A function of JAX, what makes its arguments, and where that is sensible what one would write by hand in NumPy.
    Packages that this imports besides are ``allowed`` in modules, too. ``in_loops`` is by hand, too, for Numba.
    """

    kind: str
    name: str
    function: Function
    arguments: Callable[[], tuple[Any, ...]]
    by_hand: Function | None = None
    allowed: tuple[str, ...] = ()
    in_loops: Function | None = None


def either(kind: str, name: str, function: Function, *arguments: Callable[[], Any]) -> Program:
    """A program that reads the same in JAX and in NumPy: ``function(np, ..)``."""
    return Program(
        kind, name, partial(function, jnp), lambda: tuple(make() for make in arguments), partial(function, np)
    )


def traced(
    kind: str,
    name: str,
    function: Function,
    *arguments: Callable[[], Any],
    by_hand: Function | None = None,
    allowed: tuple[str, ...] = (),
) -> Program:
    """A program written in JAX, and otherwise by hand, if at all."""
    return Program(kind, name, function, lambda: tuple(make() for make in arguments), by_hand, allowed)


def kernel(
    name: str, function: Function, by_hand: Function | None, in_loops: Function | None, *arguments: Callable[[], Any]
) -> Program:
    """A scientific kernel, by hand in NumPy and as loops for Numba."""
    return Program("kernels", name, function, lambda: tuple(make() for make in arguments), by_hand, (), in_loops)


def normal(*shape: int, dtype: Any = np.float32, scale: float = 1.0) -> Callable[[], np.ndarray]:
    """Normally distributed numbers, always the same ones."""
    return lambda: (np.random.default_rng(0).normal(size=shape) * scale).astype(dtype)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> Callable[[], np.ndarray]:
    """Numbers of a range in float32."""
    return lambda: np.random.default_rng(1).uniform(low, high, shape).astype(np.float32)


def integers(*shape: int, below: int, dtype: Any = np.int32) -> Callable[[], np.ndarray]:
    """Whole numbers from 0."""
    return lambda: np.random.default_rng(2).integers(0, below, shape).astype(dtype)


def at_sizes(
    name: str,
    function: Function,
    by_hand: Function | None,
    in_loops: Function | None,
    sizes: tuple[int, int],
    arguments: Callable[[int], tuple[Callable[[], Any], ...]],
) -> list[Program]:
    """A scientific kernel at two sizes."""
    return [kernel(f"{name}, {size}", function, by_hand, in_loops, *arguments(size)) for size in sizes]
