"""The manifest of a project's vendored modules: the tables ``[[tool.xla2py.module]]`` of its pyproject.toml.

Each has ``source`` and ``output``, relative to the file, and optionally ``target``, ``edited`` and any setting of
``[tool.xla2py]``, which it overrides. For modules for any size, ``sizes`` are the words of ``--sizes``, and ``others``
further dumps of the program. Modules of a package have the name of their ``function``, its docstring ``doc``, and
``imports``, the folder that a Python source is imported from, relative to the file. ``gradient`` is the number of an
argument: the function also returns the gradient of the source with respect to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from keyword import iskeyword
from pathlib import Path, PurePosixPath
from typing import Any

import tomlkit
import tomlkit.exceptions
from tomlkit.items import AoT, Table

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError
from ..files import read_bytes, write_atomically
from ..hlo.source import SourceText
from ..options import SETTINGS, Value
from ..settings import Settings, load_settings, pyproject_above, read_toml
from .merge import TextFile

OPTIONS = {name: setting for name, setting in SETTINGS.items() if name != "target"}
LINE_LENGTH = "line-length"  # a setting, and a key of formatters
_FORMATTERS = ("ruff", "black")  # the first that has the key counts
HELPERS = "@helpers"  # the ``source`` of the file that modules import helpers from
PACKAGE = "@package"  # the ``source`` of files that make a package of the modules
_HEADER = "[[tool.xla2py.module]]"
_LISTS = ("others", "sizes")
_WORDS = ("function", "doc", "imports", "gradient")
KEYS = ("source", *_LISTS, "output", "target", "edited", *_WORDS, *OPTIONS)


@dataclass(frozen=True, slots=True)
class VendoredModule:
    """An entry of the manifest. ``source``, ``others`` and ``output`` are POSIX paths relative to its folder."""

    source: str
    output: str
    target: str = "numpy"
    edited: bool = False  # edits are intended
    options: Mapping[str, Value] = field(default_factory=dict)
    others: tuple[str, ...] = ()  # dumps of the same program at other sizes
    sizes: tuple[str, ...] = ()  # such as B=3,5,7
    function: str = ""  # in a package: the name of the module's function
    doc: str = ""
    imports: str = ""
    gradient: str = ""  # the number of an argument: the function is the source's value_and_grad by it

    @property
    def is_of_package(self) -> bool:
        """Whether it is a file that makes a package of the modules."""
        return self.source == PACKAGE

    @property
    def is_helpers(self) -> bool:
        """Whether it is the file of helpers that modules beside it share."""
        return self.source == HELPERS


@dataclass(frozen=True, slots=True)
class Project:
    """A pyproject.toml and the modules that it lists."""

    path: Path
    modules: tuple[VendoredModule, ...]
    settings: Settings
    programs: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)  # cache of programs, by output

    @property
    def folder(self) -> Path:
        return self.path.parent

    def place(self, name: str) -> Path:
        """Return the path of a ``source`` or ``output``."""
        return self.folder / PurePosixPath(name)

    def line_length(self, module: VendoredModule) -> int:
        """Return the line length of a module, or of a file beside modules."""
        value = {**self.settings.values, **module.options}.get(LINE_LENGTH, OPTIONS[LINE_LENGTH].default)
        assert isinstance(value, int)
        return value

    def below(self, paths: list[Path]) -> list[VendoredModule]:
        """Return the modules whose output is one of the paths or below one; all modules if there are no paths.

        Raises ``UsageError`` (XP701) for a path without modules.
        """
        outputs = [self.place(module.output).resolve() for module in self.modules]
        wanted = [path.resolve() for path in paths]
        for path in wanted:
            if not any(output.is_relative_to(path) for output in outputs):
                known = ", ".join(module.output for module in self.modules) or "none"
                hint = f"modules of {self.path}: {known}"
                raise UsageError(Diagnostic("XP701", f"{path} is not a vendored module and holds none", hint=hint))
        return [
            module
            for module, output in zip(self.modules, outputs, strict=True)
            if not wanted or any(output.is_relative_to(path) for path in wanted)
        ]


def find_project(folder: Path) -> Project:
    """Return the project of a folder: the nearest pyproject.toml, in it or above, that lists modules, else the nearest.

    Raises ``UsageError``: XP700 if there is none, XP410 to XP412 for errors in it, with their places.
    """
    projects = (read_project(path) for path in pyproject_above(folder))
    return next((project for project in projects if project.modules), None) or nearest_project(folder)


def nearest_project(folder: Path) -> Project:
    """Return the project that new modules in a folder belong to. Raises the errors of :func:`find_project`."""
    for path in pyproject_above(folder):
        return read_project(path)
    message = f"there is no pyproject.toml in {folder} or above it"
    raise UsageError(Diagnostic("XP700", message, hint="vendored modules are listed there; create one"))


def read_project(path: Path) -> Project:
    """Return the project of a pyproject.toml. Raises ``UsageError``, XP410 to XP412, for errors, with places."""
    source = SourceText(TextFile.decode(read_bytes(path), path).text, str(path))
    settings = load_settings(path.parent)
    values = {**_of_formatters(source), **settings.values}
    return Project(path, _modules(_entries(source), source), replace(settings, values=values))


def _of_formatters(source: SourceText) -> dict[str, Value]:
    """Return the line length of the project's own formatter, limited to what modules can have; {} if there is none."""
    tool = read_toml(source).get("tool")
    tables = [tool.get(name) for name in _FORMATTERS] if isinstance(tool, dict) else []
    found = [table[LINE_LENGTH] for table in tables if isinstance(table, dict) and LINE_LENGTH in table]
    if not found or type(found[0]) is not int:
        return {}
    least, most = OPTIONS[LINE_LENGTH].bounds
    return {LINE_LENGTH: min(max(found[0], least), most)}


def _entries(source: SourceText) -> list[Any]:
    tool = read_toml(source).get("tool")
    table = tool.get("xla2py") if isinstance(tool, dict) else None
    entries = table.get("module", []) if isinstance(table, dict) else []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        message = "tool.xla2py.module is not an array of tables"
        raise UsageError(Diagnostic("XP412", message, None, source, "write [[tool.xla2py.module]]"))
    return entries


def _modules(entries: list[dict[str, Any]], source: SourceText) -> tuple[VendoredModule, ...]:
    problems = [Diagnostic(code, text, None, source) for entry in entries for code, text in _problems(entry)]
    outputs = [entry.get("output") for entry in entries]
    repeated = sorted({str(output) for output in outputs if outputs.count(output) > 1})
    problems += [
        Diagnostic("XP702", f"several modules have the output '{output}'", None, source) for output in repeated
    ]
    if problems:
        raise UsageError(*problems)
    folder = Path(source.name).parent
    return tuple(
        VendoredModule(
            entry["source"],
            entry["output"],
            entry.get("target", "numpy"),
            entry.get("edited", False),
            {name: OPTIONS[name].read(value, folder) for name, value in entry.items() if name in OPTIONS},
            tuple(entry.get("others", ())),
            tuple(entry.get("sizes", ())),
            *(str(entry.get(name, "")) for name in _WORDS),
        )
        for entry in entries
    )


def _problems(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the errors in an entry, as codes and messages."""
    title = f"module '{entry.get('output', '?')}'"
    kinds = {"source": str, "output": str, "target": str, "edited": bool, **dict.fromkeys(_WORDS, str)}
    problems = [("XP411", f"{title} has the unknown key '{name}'") for name in entry if name not in KEYS]
    problems += [("XP412", f"{title} has no {name}") for name in ("source", "output") if name not in entry]
    problems += [
        ("XP412", f"{title}: {name} is not a {'string' if kind is str else 'flag'}")
        for name, kind in kinds.items()
        if name in entry and not isinstance(entry[name], kind)
    ]
    problems += [("XP412", f"{title}: {name} is not a list of strings") for name in _LISTS if not _is_list(entry, name)]
    for name, setting in OPTIONS.items():
        if name in entry and (problem := setting.problem(entry[name])):
            problems.append(("XP412", f"{title}, setting '{name}': {problem}"))
    output = entry.get("output")
    if isinstance(output, str) and not is_inside(output):
        problems.append(("XP702", f"{title} does not lie below the folder of pyproject.toml as a .py file"))
    function = entry.get("function")
    if isinstance(function, str) and not is_name(function):
        problems.append(("XP412", f"{title}: '{function}' cannot be the name of a function"))
    return problems


def is_name(word: str) -> bool:
    """Return whether a word can be the public name of a function or a package."""
    return word.isidentifier() and word.isascii() and not iskeyword(word) and not word.startswith("_")


def _is_list(entry: dict[str, Any], name: str) -> bool:
    listed = entry.get(name, [])
    return isinstance(listed, list) and all(isinstance(word, str) for word in listed)


def is_inside(output: str) -> bool:
    """Return whether an output is a relative POSIX path of a Python file that stays below its folder."""
    path = PurePosixPath(output)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in output and path.suffix == ".py"


def relative_name(project: Project, path: Path) -> str:
    """Return a path relative to the project, as in the manifest. Raises ``ValueError`` if it is on another drive."""
    return PurePosixPath(Path(os.path.relpath(path.resolve(), project.folder.resolve())).as_posix()).as_posix()


def _written(project: Project, name: str, value: Value) -> Any:
    """Return the manifest's form of a setting: paths are relative to the project's folder."""
    if OPTIONS[name].is_path and value:
        return relative_name(project, Path(str(value)))
    return list(value) if isinstance(value, tuple) else value


def with_module(project: Project, module: VendoredModule) -> Project:
    """Append an entry to the manifest and return the project; comments, order and line ends of the file are kept."""
    entry = tomlkit.table()
    entry["source"] = module.source
    entry.update({name: list(words) for name in _LISTS if (words := getattr(module, name))})
    entry["output"] = module.output
    if module.target != "numpy":
        entry["target"] = module.target
    if module.edited:
        entry["edited"] = True
    entry.update(
        {name: tomlkit.string(word, multiline="\n" in word) for name in _WORDS if (word := getattr(module, name))}
    )
    entry.update({name: _written(project, name, value) for name, value in module.options.items()})

    return _rewritten(project, lambda entries: entries.append(entry))


def with_docs(project: Project, docs: Mapping[str, str]) -> Project:
    """Write the docstrings of functions, by the outputs of their modules, into the manifest; return the project."""

    def write(entries: AoT) -> None:
        for entry in entries:
            doc = docs.get(str(entry.get("output")))
            if doc is not None:
                entry["doc"] = tomlkit.string(doc, multiline="\n" in doc)

    return _rewritten(project, write)


def without_module(project: Project, module: VendoredModule) -> Project:
    """Remove an entry from the manifest and return the project."""

    def remove(entries: AoT) -> None:
        for i, entry in enumerate(entries):
            if entry.get("output") == module.output:
                del entries[i]
                return

    return _rewritten(project, remove)


def _rewritten(project: Project, change: Callable[[AoT], object]) -> Project:
    file = TextFile.decode(read_bytes(project.path), project.path)
    document = tomlkit.parse(file.text)
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    table = tool.setdefault("xla2py", tomlkit.table(is_super_table=True))
    assert isinstance(table, Table)
    if "module" not in table:
        table.append("module", tomlkit.aot())
    entries = table["module"]
    assert isinstance(entries, AoT)
    change(entries)
    if not entries:
        del table["module"]
    before, header, last = tomlkit.dumps(document).rpartition(_HEADER)
    text = f"{before.rstrip()}\n\n{header}{last}" if before.strip() and header else before + header + last
    write_atomically(project.path, file.encode(f"{text.rstrip()}\n"))
    return replace(read_project(project.path), programs=project.programs)
