"""One small program for every operation of the builder, for the builder's documentation and for tests.

An example is Python text over ``b``, a builder, and the named parameters; its value is the program's result. The
tables of ``examples.toml`` are named by their parameters, and ``replicas=2`` if the program is for several.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ...dataclass import dataclass
from .. import builder
from ..ir import HloModule
from ..lexer import Cursor
from ..shape_parser import parse_shape
from ..source import SourceText
from . import XlaBuilder, XlaOp


@dataclass(frozen=True, slots=True)
class BuilderExample:
    """A program for one operation; ``parameters`` is ``"x=f32[4] y=s32[]"``."""

    operation: str
    code: str
    parameters: str
    replica_count: int = 1

    def build(self) -> HloModule:
        """Return the module that the code builds."""
        b = XlaBuilder(self.operation)
        names = {name: value for name, value in vars(builder).items() if not name.startswith("_")}
        for number, (name, shape) in enumerate(self._shapes()):
            names[name] = b.parameter(number, shape, name)
        result = eval(self.code, names, {"b": b})  # trusted text from the table below
        return b.build(result if isinstance(result, XlaOp) else None, replica_count=self.replica_count)

    def _shapes(self) -> Iterator[tuple[str, builder.Shape]]:
        for parameter in self.parameters.split():
            name, _, shape = parameter.partition("=")
            yield name, parse_shape(Cursor(SourceText(shape)))


def example(operation: str) -> BuilderExample:
    """Return the example of an operation. Raises ``KeyError`` for an unknown name."""
    return _examples()[operation]


@cache
def _examples() -> dict[str, BuilderExample]:
    found: dict[str, BuilderExample] = {}
    for named, rows in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items():
        parameters, _, replicas = named.partition("replicas=")
        found |= {
            name: BuilderExample(name, code, parameters.strip(), int(replicas or 1)) for name, code in rows.items()
        }
    return found


def operations() -> list[str]:
    """Return the names of all operations: the builder's public methods."""
    return [name for name in dir(XlaBuilder) if not name.startswith("_") and name not in ("build", "build_computation")]
