"""What XLA's own reader and printer of HLO make of a text, as answers."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from xla2py.tests.recording.answers import ANSWERS
from xla2py.tests.recording.lazy_jax import Lowered
from xla2py.tests.recording.questions import Question, title

STYLES = ("", "canonical", "short_parsable")  # of printing what can be read again


class RefusedError(Exception):
    """XLA does not read the text."""


def of_module(what: str, text: str, function: Callable[[Any], Any]) -> Any:
    """Return what a function, which ``what`` names, makes of XLA's module. Raises :class:`RefusedError`."""
    found = ANSWERS.ask(Question(f"{what}: {title(text)}", ("of module", what, text)), lambda: _live(text, function))
    if "refused" in found:
        raise RefusedError(found["refused"])
    return found["gives"]


def _live(text: str, function: Callable[[Any], Any]) -> dict[str, Any]:
    try:
        module = _jaxlib().hlo_module_from_text(text)
    except Exception as error:  # jaxlib's own type
        return {"refused": str(error)[:300]}
    return {"gives": function(module)}


def _jaxlib() -> Any:
    return importlib.import_module("jaxlib._hlo")


def _style(name: str) -> Any:
    options = _jaxlib().HloPrintOptions
    made = getattr(options, name)() if name else options()
    made.print_large_constants = True
    return made


def read(text: str) -> None:
    """Let XLA read a text. Raises :class:`RefusedError`."""
    of_module("read", text, lambda module: True)


def printed(text: str, style: str = "") -> str:
    """Return a text as XLA prints what it reads."""
    return str(of_module(f"printed, {style}", text, lambda module: module.to_string(_style(style))))


def is_same(text: str, other: str) -> bool:
    """Tell whether XLA reads the same program from two texts: names and sources aside."""

    def same(module: Any) -> bool:
        again = _jaxlib().hlo_module_from_text(other)
        return bool(module.to_string(_style("fingerprint")) == again.to_string(_style("fingerprint")))

    digest = Question("", (other,)).key
    return bool(of_module(f"the same as {digest}", text, same))


def proto(text: str) -> bytes:
    """Return the serialized HloModuleProto of a text."""

    def serialized(module: Any) -> Any:
        return np.frombuffer(module.as_serialized_hlo_module_proto(), np.uint8)

    return bytes(of_module("proto", text, serialized).tobytes())


def optimised(lowered: Lowered, style: str) -> str:
    """Return a program of JAX as XLA optimises it, with all its constants."""

    def live() -> str:
        (module,) = lowered.live().compile().runtime_executable().hlo_modules()
        return str(module.to_string(_style(style)))

    return lowered.text(f"optimised, {style}", live)
