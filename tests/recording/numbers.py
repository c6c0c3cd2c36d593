"""Random numbers of tests that do not depend on which tests ran, or were imported, before."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

IMPORTED, RUN = 0, 1  # streams: what tests draw is nothing that their module drew when it was imported


def restart(module: ModuleType | None, stream: int) -> None:
    """Let the generators of a test module, and those that test modules share, begin a stream of their own."""
    own = [] if module is None else _generators(vars(module))
    for generator in (*own, *_SHARED.found()):
        generator.bit_generator.state = _begin(type(generator.bit_generator), _seed(generator), stream)


def _generators(names: Mapping[str, Any]) -> Iterator[np.random.Generator]:
    return (value for value in names.values() if isinstance(value, np.random.Generator))


class _Shared:
    """The generators of modules that hold no tests; each module is looked at once, when all of it is imported."""

    def __init__(self) -> None:
        self.modules = 0
        self.looked_at: set[str] = set()
        self.generators: dict[int, np.random.Generator] = {}

    def found(self) -> Iterable[np.random.Generator]:
        if len(sys.modules) != self.modules:
            self.modules, new = len(sys.modules), sys.modules.keys() - self.looked_at
            self.looked_at |= new
            for name in new:
                if name.startswith(("xla2py.tests.", "tests.")) and not name.rpartition(".")[2].startswith("test_"):
                    self.generators |= {id(each): each for each in _generators(vars(sys.modules[name]))}
        return self.generators.values()


_SHARED = _Shared()


def _seed(generator: np.random.Generator) -> int:
    entropy = generator.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
    return int(entropy) if isinstance(entropy, int) else hash(tuple(entropy))


@cache
def _begin(kind: Any, seed: int, stream: int) -> Any:
    return kind(np.random.SeedSequence(seed, spawn_key=(stream,))).state
