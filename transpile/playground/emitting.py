"""The modules of the program that the page shows: what it may choose, and the last few, which it asks for again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes

from ..dataclass import dataclass
from ..emission import GeneratedModule, emit
from ..errors import Diagnostic, HloSyntaxError, UsageError
from ..frontends import load
from ..hlo.ir import HloModule
from ..hlo.shapes import ArrayShape, leaves
from ..hlo.verifier import verify
from ..options import FAST, SETTINGS, TARGET, Setting, keywords
from ..target import load_target, require_targets, target_names

# What a page may choose. Options that name files, or functions to import, are not among them.
OFFERED = (
    "style", "edge-cases", "annotate", "checks", "results", "nested", "line-length", "precision", "memory", "chunks",
)  # fmt: skip
NAME = "program"  # what errors and headers call the text
_KEPT = 8
_NARROW = ("bf16", "f4", "f8", "s2", "s4", "u2", "u4")


@dataclass(frozen=True, slots=True)
class Side:
    """A target and options: one of the modules that the page shows of a program."""

    target: str
    options: str  # those that are no defaults, as JSON: modules are kept by it

    @classmethod
    def of(cls, question: Mapping[str, Any]) -> Side:
        """The side that a question names. Raises UsageError: XP406 for an unknown target, XP416 for an option."""
        target, options = question.get("target", "numpy"), question.get("options", {})
        require_targets([str(target)])
        for name, value in options.items():
            problem = SETTINGS[name].problem(value) if name in OFFERED else "a page cannot choose it"
            if problem is not None:
                raise UsageError(Diagnostic("XP416", f"{name}: {problem}"))
        return cls(str(target), json.dumps(dict(sorted(options.items()))))

    def plain(self) -> Side:
        """The side whose ``main`` takes arrays, one by one."""
        return Side(self.target, json.dumps({**json.loads(self.options), "nested": False}))


@lru_cache(maxsize=_KEPT)
def loaded(text: str) -> HloModule:
    """The verified program of a text; never of a file that it may name. Raises ``XlaToPythonError``."""
    module = load(text.encode("utf-8", "surrogatepass"), name=NAME)
    verify(module, module.source)
    if hasattr(ml_dtypes, "IS_STAND_IN"):
        _refuse_narrow_types(module)
    return module


def _refuse_narrow_types(module: HloModule) -> None:
    """Raise HloSyntaxError (XP106) for types that only ml_dtypes has, where there is but its stand-in."""
    for instruction in module.instructions():
        for _, leaf in leaves(instruction.shape):
            if isinstance(leaf, ArrayShape) and leaf.element_type.name.startswith(_NARROW):
                message = f"there is no element type `{leaf.element_type}` in this tab, which has no ml_dtypes"
                raise HloSyntaxError(Diagnostic("XP106", message, instruction.span, module.source))


@lru_cache(maxsize=_KEPT)
def emitted(text: str, side: Side) -> GeneratedModule:
    """The module for a side. Raises ``XlaToPythonError``."""
    chosen = keywords({name: SETTINGS[name].read(value, Path()) for name, value in json.loads(side.options).items()})
    return emit(loaded(text), side.target, name=NAME, **chosen)


def offered_targets() -> list[dict[str, str]]:
    """The targets by name, the default first, with the name that people know."""
    titles = {name: load_target(name).title for name in target_names()}
    names = sorted(titles, key=lambda name: ((name,) != TARGET.default, titles[name]))
    return [{"name": name, "title": titles[name].removeprefix("the ")} for name in names]


def offered_settings() -> list[dict[str, Any]]:
    """The options that can be chosen here, for a form."""
    settings = [SETTINGS[name] for name in OFFERED]
    return [_described(setting, _choices(setting)) for setting in settings]


def _choices(setting: Setting) -> tuple[str, ...]:
    """The words to choose from; the compiled style needs Numba, which a tab does not have."""
    is_missing = setting.name == "style" and find_spec("numba") is None
    return tuple(word for word in setting.choices if not (is_missing and word == FAST))


def _described(setting: Setting, choices: tuple[str, ...]) -> dict[str, Any]:
    described: dict[str, Any] = {"name": setting.name, "default": setting.default, "help": setting.help}
    if isinstance(setting.default, int) and not isinstance(setting.default, bool):
        described["bounds"] = setting.bounds
    return {**described, "group": setting.group, "choices": choices}
