"""The options of emission: one record for ``emit``, the command line, pyproject.toml, headers and all stages.

A field of :class:`Options` defines an option: its name, type and default, its choices and its help. ``SETTINGS`` has
the same options under their names after ``--`` and in ``[tool.xla2py]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from pathlib import Path
from typing import Any

from .dataclass import dataclass
from .errors import Diagnostic, UsageError

Value = bool | int | str | tuple[str, ...]
READABLE, FAST, FUSED = STYLES = ("readable", "fast", "fused")  # fused: fuses even if it does not pay, for tests
OWN = "own"  # results that the caller owns; helpers inside the module
AUTO = "auto"  # of helpers and constants: what suits the program
SIZES = "sizes"  # the checks of modules for any size; not a choice for users
LINE_LENGTH = 88  # black's default; templates and the prelude are written in it


@dataclass(frozen=True, slots=True)
class Setting:
    """One option, under its name in pyproject.toml and, after ``--``, on the command line.

    The type of ``default`` is the type of the setting: a flag, a number, a word, or several words. ``flags`` are the
    words for true and false, and for the option and ``--no-`` on the command line.
    """

    name: str
    default: Value
    help: str
    group: str  # the heading of its option in --help
    choices: tuple[str, ...] = ()
    flags: tuple[str, str] | None = None
    is_folder: bool = False
    bounds: tuple[int, int] = (0, 0)  # of a number, inclusive
    is_file: bool = False  # in pyproject.toml relative to that file, like folders
    old_name: str = ""  # still accepted, with a note

    @property
    def is_path(self) -> bool:
        return self.is_folder or self.is_file

    def problem(self, value: object) -> str | None:
        """Return the message for an invalid value from pyproject.toml or a caller; None for a valid one."""
        if isinstance(self.default, bool):
            return None if isinstance(value, bool) else "expected true or false"
        if isinstance(self.default, int):
            least, most = self.bounds
            is_number = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
            return None if is_number else f"expected a number from {least} to {most}"
        if self.flags and isinstance(value, bool):
            return None
        words = [value] if isinstance(value, str) else value
        if isinstance(self.default, str) and not isinstance(value, str):
            return "expected a string"
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            return "expected a list of strings"
        unknown = [word for word in words if self.choices and word not in self.choices]
        return f"'{unknown[0]}' is not one of {', '.join(self.choices)}" if unknown else None

    def read(self, value: Any, folder: Path) -> Value:
        """Return a valid value as the type of the default; paths are relative to ``folder``."""
        if self.flags and isinstance(value, bool):
            return self.flags[not value]
        if isinstance(self.default, tuple):
            return (value,) if isinstance(value, str) else tuple(value)
        return str(folder / value) if self.is_path and value else value

    def words(self, value: Any) -> list[str]:
        """Return the command-line words for a value."""
        if isinstance(value, bool):
            return [f"--{self.name}" if value else f"--no-{self.name}"]
        if self.flags and value == self.flags[1]:
            return [f"--no-{self.name}"]
        if isinstance(value, Mapping):
            value = [f"{target}={function}" for target, function in value.items()]
        return [f"--{self.name}", ",".join(value) if isinstance(value, list | tuple) else str(value)]


OUTPUT, STYLE, COMMENTS = "Output", "Style", "Names and comments"
ARGUMENTS, CHUNKS, GPU = "Arguments and results", "Arrays larger than memory", "GPUs"


def _option(default: Any, group: str, help: str, choices: tuple[str, ...] = (), **more: Any) -> Any:
    """Return a dataclass field that is also a setting; ``more`` are further fields of the setting."""
    setting = {"default": default, "group": group, "help": help, "choices": choices, **more}
    return field(default=default, metadata=setting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The choices of a user for one emission, beside the program and the target.

    ``debug`` is not a setting: it verifies the program after every stage.
    """

    style: str = _option(
        READABLE,
        STYLE,
        "Write one operation per line, or fuse operations into compiled kernels where it pays.",
        (READABLE, FAST),
    )
    threads: str = _option(
        "",
        STYLE,
        "NumPy: the number of threads for compiled kernels; 1, or auto for all cores. Dask: the number of threads that "
        "memory is planned for; 8.",
    )
    allow: tuple[str, ...] = _option((), STYLE, "Packages that modules may import for speed: scipy, cudnn.")
    graph: bool = _option(False, GPU, "Add a function replay, which runs main as one CUDA graph.")
    precision: str = _option(
        "float32",
        GPU,
        "Multiply float32 in full precision, or in TF32 unless the program asks for more.",
        ("float32", "tf32"),
    )
    annotate: str = _option(
        "short",
        COMMENTS,
        "Comments that point to the source: none, its line numbers (short), or also the HLO of each statement (full).",
        ("none", "short", "full"),
    )
    checks: str = _option(
        "exact",
        ARGUMENTS,
        "If an argument has the wrong shape or dtype: raise an error, cast floats, or accept it unchecked.",
        ("exact", "cast", "none"),
        flags=("exact", "none"),
    )
    edge_cases: str = _option(
        "xla",
        STYLE,
        "On NaN, out-of-range or singular input, behave as XLA does (extra guards) or as the array library does "
        "(shorter code).",
        ("xla", "library"),
        old_name="edges",
    )
    results: str = _option(
        OWN,
        ARGUMENTS,
        "Return arrays that the caller owns, or allow views of arguments and read-only arrays.",
        (OWN, "may-alias"),
    )
    helpers: str = _option(
        AUTO,
        OUTPUT,
        "Copy helper functions into each module (own), or into one file per folder (shared), "
        "which has one .safetensors file beside it. With auto, only a module for several replicas gets such a file.",
        (AUTO, OWN, "shared"),
    )
    classes: str = _option(
        OWN,
        ARGUMENTS,
        "Return objects as small classes defined in the module, or import the classes of the traced program.",
        (OWN, "import"),
    )
    format: bool = _option(True, OUTPUT, "Format the result with black.")
    constants: str = _option(
        AUTO,
        OUTPUT,
        "Save large constants beside the module as .npz or .safetensors, or write them into its text (inline). "
        "With auto, the weights of a model are .safetensors, other constants .npz.",
        (AUTO, "npz", "safetensors", "inline"),
    )
    nested: bool = _option(False, ARGUMENTS, "Let main take and return trees of arrays, as the traced function does.")
    weights: str = _option(
        "",
        ARGUMENTS,
        "A checkpoint (.npz, .safetensors, orbax): its arrays take the place of the arguments that have their names.",
        is_file=True,
    )
    line_length: int = _option(LINE_LENGTH, OUTPUT, "The maximum line length, from 72 to 320.", bounds=(72, 320))
    memory: str = _option("", CHUNKS, "The memory that the program may use, such as 2GiB.")
    chunks: str = _option(
        "", CHUNKS, "The size of a chunk: bytes (32MiB), or elements along each axis that can be cut (4096)."
    )
    disable_passes: tuple[str, ...] = _option(
        (), STYLE, "Rewrites to turn off, separated by commas.", name="disable-pass"
    )
    custom_calls: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            "name": "custom-call",
            "default": (),
            "group": STYLE,
            "help": "Your functions for custom calls: TARGET=MODULE:FUNCTION, separated by commas.",
        },
    )
    sources: str = _option(
        "", COMMENTS, "The folder of your Python files; values get the names of their variables.", is_folder=True
    )
    debug: bool = False

    def words(self) -> tuple[str, ...]:
        """Return the command-line words for all options that are not defaults."""
        return option_words({key: getattr(self, key) for key in _OPTIONS})


TARGET = Setting("target", ("numpy",), "The array libraries to write for, separated by commas.", OUTPUT)
# By keyword in Python.
_OPTIONS = {
    each.name: Setting(**{"name": each.name.replace("_", "-"), **each.metadata})
    for each in fields(Options)
    if each.metadata
}
SETTINGS: dict[str, Setting] = {setting.name: setting for setting in (TARGET, *_OPTIONS.values())}


def keywords(values: Mapping[str, Value]) -> dict[str, Any]:
    """Return the keyword arguments of :func:`xla2py.emit` for settings; missing names get defaults.

    Raises :class:`UsageError` (``XP413``) for a custom call that is not ``TARGET=MODULE:FUNCTION``.
    """
    chosen: dict[str, Any] = {key: values.get(setting.name, setting.default) for key, setting in _OPTIONS.items()}
    return {**chosen, "custom_calls": _hooks(chosen["custom_calls"]), "sources": chosen["sources"] or None}


def option_words(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the command-line words for those keyword arguments of :func:`xla2py.emit` that are not defaults."""
    words: list[str] = []
    for key, setting in _OPTIONS.items():
        value = options.get(key)
        if value not in (setting.default, SIZES) and (value or value is False):
            words += setting.words(value)
    return tuple(words)


def _hooks(words: Sequence[str]) -> dict[str, str]:
    """Return the functions by custom-call target from words of the form ``TARGET=MODULE:FUNCTION``."""
    hooks = {}
    for word in words:
        target, is_pair, function = word.rpartition("=")
        if not is_pair:
            raise UsageError(Diagnostic("XP413", f"'{word}' is not of the form TARGET=MODULE:FUNCTION"))
        hooks[target] = function
    return hooks


def chosen_word(keyword: str, value: bool | str) -> str:
    """Return the word for a value of an option with choices. Raises UsageError (XP416) for any other value."""
    setting = _OPTIONS[keyword]
    problem = setting.problem(value)
    if problem is not None:
        hint = f"one of: {', '.join(setting.choices)}"
        raise UsageError(Diagnostic("XP416", f"{keyword}: {problem}", hint=hint))
    return str(setting.read(value, Path()))


def checked_words(keyword: str, value: object) -> tuple[str, ...]:
    """Return the words of an option that takes several. Raises UsageError (XP416) if the value is not a sequence of
    words.
    """
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(word, str) for word in value):
        hint = f"{keyword}=({value!r},)" if isinstance(value, str) else f'{keyword}=("..",)'
        raise UsageError(Diagnostic("XP416", f"{keyword}: expected several words, not {value!r}", hint=hint))
    return tuple(value)
