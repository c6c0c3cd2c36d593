"""Reports of differential tests as JSON, and back.

A dataclass is an object of its fields, a status its word, a number that JSON has no word for (NaN, an infinity, a
complex number) a string. Fields marked ``json=False`` (arrays) are left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ...errors import Diagnostic, UsageError
from .results import CheckReport

FORMAT = "xla2py check 1"


def report_to_json(report: CheckReport) -> str:
    """The report as indented JSON text that ends with a line break."""
    return json.dumps({"format": FORMAT, **_encode(report)}, indent=1, allow_nan=False) + "\n"


def report_from_json(text: str) -> CheckReport:
    """The report that :func:`report_to_json` wrote, without arrays. Raises ``UsageError`` (XP601) for other text."""
    try:
        document = json.loads(text)
        if document.pop("format") != FORMAT:
            raise ValueError("another format")
        report: CheckReport = _decode(document, CheckReport)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(Diagnostic("XP601", f"this is not a report of xla2py check: {error}")) from error
    return report


def _encode(value: Any) -> Any:
    if is_dataclass(value):
        kept = (field for field in fields(value) if field.metadata.get("json", True))
        return {field.name: _encode(getattr(value, field.name)) for field in kept}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _encode(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [_encode(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | str | NoneType):
        return value
    is_finite = isinstance(value, float) and math.isfinite(value)
    return value if is_finite else str(value)


def _decode(value: Any, hint: Any) -> Any:
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (one for one in get_args(hint) if one is not NoneType)
        return None if value is None else _decode(value, hint)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(**{name: _decode(part, hints[name]) for name, part in value.items()})  # type: ignore[operator]
    if get_origin(hint) is tuple:
        return tuple(_decode(part, get_args(hint)[0]) for part in value)
    if get_origin(hint) is Mapping:
        return {key: _decode(part, get_args(hint)[1]) for key, part in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if hint is float:
        return float(value)
    return _number(value) if hint is Any else value


def _number(value: Any) -> Any:
    """An element of any type: what JSON holds, or a number that it holds as text."""
    if not isinstance(value, str):
        return value
    try:
        return float(value)
    except ValueError:
        return complex(value)
