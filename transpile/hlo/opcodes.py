"""The table of HLO opcodes in ``opcodes.toml``: arity, attributes, topic. All dispatch uses these names.

Shape rules are in :mod:`.shape_inference`, under the same opcode names.
"""

from __future__ import annotations

import re
import tomllib
from ast import literal_eval
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from .attributes import AttributeKind as K, AttributeSpec

MANY = None  # no upper bound on the number of operands


@dataclass(frozen=True, slots=True)
class OpSpec:
    """The form of a valid instruction of one opcode.

    ``arity`` is (fewest, most) operands; ``takes`` is a word for the element types of operands if the result has their
    shape and type; ``topic`` groups opcodes in the documentation; ``replica_only`` marks opcodes without a meaning on
    one replica; ``has_side_effect`` keeps an unused instruction alive.
    """

    opcode: str
    topic: str
    arity: tuple[int, int | None]
    attributes: dict[str, AttributeSpec] = field(default_factory=dict)
    takes: str = ""
    has_side_effect: bool = False
    replica_only: bool = False

    @property
    def is_elementwise(self) -> bool:
        return self.topic == "elementwise"

    @property
    def has_parameters(self) -> bool:
        """Whether an attribute other than called computations affects the result, so that an unknown one might, too."""
        return any(not spec.is_note and spec.kind not in _CALLED for spec in self.attributes.values())

    @property
    def calls(self) -> bool:
        """Whether an attribute names computations."""
        return any(spec.kind in _CALLED for spec in self.attributes.values())


_CALLED = (K.COMPUTATION, K.COMPUTATIONS)


_SPEC = re.compile(r"(\w+)(!?)(?:(\?)|=([^:]+))?(?:: (.+))?")


def _spec(text: str) -> AttributeSpec:
    """Return what ``word!='a': a b`` says of an attribute."""
    match = _SPEC.fullmatch(text)
    assert match is not None, f"{text!r} is no attribute"
    kind, note, absent, default, choices = match.groups()
    given: dict[str, Any] = {"default": literal_eval(default or "None")} if absent or default else {}
    return AttributeSpec(K(kind), choices=tuple((choices or "").split()), is_note=bool(note), **given)


def _specs(table: Mapping[str, str]) -> dict[str, AttributeSpec]:
    return {name: _spec(text) for name, text in table.items()}


def _rows(topics: Mapping[str, Mapping[str, Any]], usual: Mapping[str, AttributeSpec]) -> Iterator[OpSpec]:
    for topic, rows in topics.items():
        for names, row in rows.items():
            least, dots, most = str(row["operands"]).partition("..")
            arity = int(least), int(most or least) if most or not dots else MANY
            own = _specs(row.get("own", {}))
            attributes = {name: own.get(name) or usual[name] for name in row.get("attributes", "").split()}
            traits = dict.fromkeys(row.get("traits", "").split(), True)
            for name in names.split():
                yield OpSpec(name, topic, arity, attributes, row.get("takes", ""), **traits)


def _place(row: OpSpec) -> tuple[int, int, str]:
    """Return a key for the order of opcodes: plain element-wise ones by name, whatever types they take, then others."""
    return (0, row.arity[0], row.opcode) if row.is_elementwise and not row.attributes else (1, 0, "")


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))

COMMON_ATTRIBUTES = _specs(_TABLES["common"])

OPCODES = {spec.opcode: spec for spec in sorted(_rows(_TABLES["opcodes"], _specs(_TABLES["attributes"])), key=_place)}

ATTRIBUTES = frozenset(COMMON_ATTRIBUTES).union(*(spec.attributes for spec in OPCODES.values()))

ELEMENTWISE = frozenset(opcode for opcode, spec in OPCODES.items() if spec.is_elementwise)
