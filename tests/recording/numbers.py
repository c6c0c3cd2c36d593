"""Random numbers of tests that do not depend on which tests ran, or were imported, before."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

IMPORTED, RUN = 0, 1  # streams: what tests draw is nothing that their module drew when it was imported


def restart(module: ModuleType | None, stream: int) -> None:
    """Let the generators of a test module, and those that test modules share, begin a stream of their own."""
    own = [] if module is None else _generators(vars(module))
    for generator in (*own, *_shared(len(sys.modules))):
        generator.bit_generator.state = _begin(type(generator.bit_generator), _seed(generator), stream)


def _generators(names: Mapping[str, Any]) -> Iterator[np.random.Generator]:
    return (value for value in names.values() if isinstance(value, np.random.Generator))


@cache
def _shared(modules: int) -> tuple[np.random.Generator, ...]:
    """Return the generators of modules that hold no tests, as long as so many modules are imported."""
    ours = [name for name in sys.modules if name.startswith(("xla2py.tests.", "tests."))]
    helpers = [sys.modules[name] for name in ours if not name.rpartition(".")[2].startswith("test_")]
    return tuple({id(each): each for helper in helpers for each in _generators(vars(helper))}.values())


def _seed(generator: np.random.Generator) -> int:
    entropy = generator.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
    return int(entropy) if isinstance(entropy, int) else hash(tuple(entropy))


@cache
def _begin(kind: Any, seed: int, stream: int) -> Any:
    return kind(np.random.SeedSequence(seed, spawn_key=(stream,))).state
