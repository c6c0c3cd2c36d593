"""The table of custom calls in ``docs/operations.md``, from the table that they are read by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..transpile.hlo.custom_calls import CustomCall
from ..transpile.hlo.custom_calls.fields import REQUIRED, Field, Kind
from ..transpile.hlo.custom_calls.table import CUSTOM_CALLS

INTRODUCTION = (
    "The operands of each custom call, for all libraries. In the column of forms:",
    "",
    "| sign | stands for |",
    "|---|---|",
    "| `*` | the same sizes throughout |",
    "| other letters | sizes and types: `F` real, `Z` complex, `T` either; `R`, `C` the same of its precision |",
    "| `...` | further arrays |",
    "",
    "Configuration fields with a default are in brackets. `XLA` means that results are compared with XLA on the CPU;",
    "other calls are replaced by the HLO or the function that defines them. A call of another form is an error",
    "(XP308), and so is an unknown target (XP305); for both, `--custom-call` can name a function.",
)
HEADINGS = ("targets", "form", "configuration", "judge")


def rows() -> Iterator[tuple[str, str, str, str]]:
    """One row for the targets that take and compute the same, whatever the precision."""
    groups: dict[tuple[str, str, bool, object], list[str]] = {}
    for target, row in CUSTOM_CALLS.items():
        groups.setdefault((_forms(row), _fields(row.config), row.runs_on_cpu, _meaning(row)), []).append(target)
    for (forms, fields, runs_on_cpu, _), targets in groups.items():
        names = ", ".join(f"`{target}`" for target in targets)
        yield names, forms, fields, "XLA" if runs_on_cpu else "its definition"


def _forms(row: CustomCall) -> str:
    return " or ".join(f"`{signature.strip()}`" for signature in row.forms or row.signatures)


def _fields(config: Mapping[str, Field]) -> str:
    return ", ".join(_shown(name, field) for name, field in config.items() if field.kind is not Kind.ANY)


def _shown(name: str, field: Field) -> str:
    choices = f" ({', '.join(map(str, field.choices))})" if field.choices else ""
    text = f"`{name}`{choices}" if name else "its whole text"
    return text if field.default is REQUIRED else f"[{text}]"


def _meaning(row: CustomCall) -> object:
    return row.rule or getattr(row.definition, "__qualname__", "")
