"""A project that pip can install, from one or several functions: modules, command, recorded results of XLA, README."""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import getdoc
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..emission.functions.constants import TENSORS
from ..emission.functions.sidecars import SharedTensors
from ..emission.module.description import type_text
from ..emission.module.shared_helpers import SHARED
from ..emission.naming.identifiers import identifier
from ..errors import Diagnostic, UsageError, XlaToPythonWarning
from ..files import file_error, write_atomically
from ..frontends import from_jax, load, safetensors
from ..frontends.functions import is_reference, load_function, reference_parts, referenced, with_gradient
from ..frontends.jax import source_folder
from ..frontends.tree_files import SUFFIX, trees_as_json
from ..frontends.witnesses import Assignment, Witnesses, free_sizes, function_at_sizes
from ..hlo.ir import HloModule
from ..hlo.printer import print_without_constants
from ..hlo.shapes import ArrayShape, Shape, leaves
from ..options import Value
from ..version import VERSION
from .arguments import argument_leaves, syntax_of
from .freshness import Freshness, State, inspect_module
from .manifest import PACKAGE, Project, VendoredModule, is_name, read_project, with_docs, with_module
from .package_files import FILES, INIT, MAIN, TESTS, environment, functions_of, listed, package_name, signature
from .programs import PROGRAMS, is_large, program_of
from .recordings import Agreement, forget, is_recorded, record
from .update import Outcome, add_module, prepare_update, update_module, write_update

_RETURNS = re.compile(r"(?:; |^)returns:? (.+?)\.?(?:\n(?! )|\Z)", re.DOTALL | re.MULTILINE)  # in a module's docstring
_PRODUCTS = ("dot", "vdot", "linalg")
_FILES = (f"src/{{name}}/{INIT}", f"src/{{name}}/{MAIN}", f"src/{{name}}/{FILES}", f"tests/{TESTS}")
_NEEDS = {
    "ml_dtypes": ("ml_dtypes>=0.5", "ml_dtypes"),
    "numba": ("numba>=0.62", "Numba"),
    "numpy": ("numpy>=2.0", "NumPy"),
    "scipy": ("scipy>=1.13", "SciPy"),
}  # import: the requirement, and the usual name
_UNTYPED = frozenset(("scipy",))  # packages without types


@dataclass(frozen=True, slots=True)
class Part:
    """A function of a package before it is written.

    ``source`` is a file or a function reference as on the command line; it is empty if there is a ``program``.
    """

    name: str
    source: str
    program: HloModule | None
    doc: str
    sources: Path | None  # the folder of the author's Python
    gradient: str = ""  # for value and gradient: the number of the argument


def package(
    source: Any,
    *arguments: Any,
    to: str | os.PathLike[str],
    name: str = "",
    target: str = "numpy",
    options: Mapping[str, Value] | None = None,
    value_and_grad: int | None = None,
) -> Path:
    """Write a project that pip can install, with a function for each program, into the folder ``to``.

    ``source`` is what :func:`xla2py.emit` takes: a path, ``module:function(f32[8])``, a JAX function with example
    ``arguments``, or a JAX object. For several programs, it is a mapping from function names to these, where a tuple
    holds a function and its arguments: ``{"encode": (encode, params, x)}``. The package has the modules, ``python -m
    NAME``, tests against the results that XLA gives now, a README, and the manifest that :func:`update_package` reads.
    ``name`` is the name of the package, by default that of the folder; ``options`` are settings of emission by name,
    such as ``{"style": "fast"}``. ``value_and_grad`` is the number of an array among the arguments: the package then
    has ``value_and_grad``, too, for ``scipy.optimize.minimize(.., jac=True)``; of several functions one for each.

    Raises ``UsageError``: XP707 if the folder is not empty, XP708 for a name that cannot be imported, XP709 if a module
    computes other values than XLA; and whatever reading and emitting the programs raises. Nothing is written then.
    """
    pairs = list(source.items()) if isinstance(source, Mapping) else [("", source)]
    return package_all(pairs, arguments, Path(to), name, target, options or {}, value_and_grad)


def package_all(
    sources: Sequence[tuple[str, Any]],
    arguments: Sequence[Any],
    folder: Path,
    name: str,
    target: str,
    options: Mapping[str, Value],
    value_and_grad: int | None = None,
) -> Path:
    """Write a package as :func:`package` does, from pairs of a name (empty for the source's own name) and a source."""
    name = name or identifier(folder.resolve().name)
    require_name(name, "package")
    if target != "numpy":
        hint = "xla2py vendor add keeps modules for other targets in a project"
        raise UsageError(Diagnostic("XP402", f"a package is for numpy, not {target}", hint=hint))
    require_empty(folder)
    parts = [_part(word, each, arguments) for word, each in sources]
    if value_and_grad is not None:
        weights = str(options.get("weights", ""))
        parts += _parts_with_gradient(parts, [each for _, each in sources], arguments, str(value_and_grad), weights)
    require_distinct(parts)
    with _appearing(folder.resolve()) as project:
        write_package(project, parts, name, target, options)
    return folder


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces ``folder`` if the body succeeds, and is removed otherwise."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            yield made
            if folder.exists():
                folder.rmdir()
            made.chmod(0o755)
            os.replace(made, folder)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise file_error("write", folder, error) from error


def update_package(folder: Path, *, discard_edits: bool = False) -> dict[str, Outcome]:
    """Write the modules and files of a package anew if something changed; return the outcome of each, by output.

    Edits are merged. The results of XLA are recorded again for modules whose text changed. If edits conflict, the files
    that are written from the modules are left, and the results are recorded by the update after the conflicts are
    resolved. Raises the errors of :func:`.update.update_module`, and XP709.
    """
    project = package_in(folder)
    docs = _changed_docs(project)
    project = with_docs(project, docs) if docs else project
    outcomes: dict[str, Outcome] = {}
    for module in project.modules:
        if not (module.is_of_package and Outcome.CONFLICT in outcomes.values()):
            outcomes[module.output] = update_module(project, module, discard_edits=discard_edits)
    can_run = Outcome.CONFLICT not in outcomes.values()
    for module in project.modules:
        is_changed = outcomes.get(module.output) is not Outcome.UNCHANGED
        if module.function and not can_run and is_changed:
            forget(project, module)
        elif module.function and can_run and (is_changed or not is_recorded(project, module)):
            record(project, module, package_name(project))
        elif module.is_helpers:
            SharedTensors(project.place(module.output).with_suffix(safetensors.SUFFIX)).tidy()
    return outcomes


def inspect_package(folder: Path) -> list[Freshness]:
    """Return the freshness of the files of a package, except those that are written from a module with conflicts."""
    project = package_in(folder)
    docs = _changed_docs(project)
    modules = [replace(each, doc=docs.get(each.output, each.doc)) for each in project.modules]
    project = replace(project, modules=tuple(modules))
    found: list[Freshness] = []
    for module in project.modules:
        if not (module.is_of_package and any(each.state is State.CONFLICT for each in found)):
            found.append(inspect_module(project, module))
    return found


def _changed_docs(project: Project) -> dict[str, str]:
    """Return the docstrings of functions that differ from the recorded ones, by the outputs of their modules."""
    changed: dict[str, str] = {}
    for module in functions_of(project):
        doc = _doc(referenced(module.source, project.folder / module.imports)) if is_reference(module.source) else ""
        if is_reference(module.source) and doc != module.doc:
            changed[module.output] = doc
    return changed


def package_in(folder: Path) -> Project:
    """Return the project of a package. Raises ``UsageError`` (XP707) if the folder has none."""
    path = folder / "pyproject.toml"
    project = read_project(path) if path.is_file() else None
    if project is None or not functions_of(project):
        hint = "xla2py package SOURCE -o DIR writes one"
        raise UsageError(Diagnostic("XP707", f"{folder} holds no package of xla2py", hint=hint))
    return project


def require_name(name: str, what: str) -> None:
    """Raise ``UsageError`` (XP708) for a name that is not a public identifier, or that hides another package."""
    if not is_name(name):
        message = f"'{name}' cannot be the name of a {what}"
        hint = "give another with --name" if what == "package" else "give another: NAME=SOURCE"
        raise UsageError(Diagnostic("XP708", message, hint=hint))
    if what == "package" and name in {*sys.stdlib_module_names, *_NEEDS}:
        message = f"there is a package '{name}' already, which would hide this one or be hidden"
        raise UsageError(Diagnostic("XP708", message, hint="give another with --name"))


def require_empty(folder: Path) -> None:
    """Raise ``UsageError`` (XP707) unless the folder is missing or empty."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        hint = "name a new folder with -o"
        if (folder / "pyproject.toml").is_file():
            hint += f"; a package is written again by xla2py package --update {folder}"
        raise UsageError(Diagnostic("XP707", f"{folder} is there already", hint=hint))


def require_distinct(parts: Sequence[Part]) -> None:
    """Raise ``UsageError`` (XP708) if two functions have the same name."""
    names = [part.name for part in parts]
    for name in names:
        if names.count(name) > 1:
            hint = "name them: NAME=SOURCE for each"
            raise UsageError(Diagnostic("XP708", f"several functions are called '{name}'", hint=hint))


def _part(name: str, source: Any, arguments: Sequence[Any]) -> Part:
    """Return a function of the package, with its own name unless another is given."""
    if isinstance(source, tuple):
        source, *arguments = source
    text = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
    if text and is_reference(text):
        found = referenced(text, Path())
        part = Part(name or reference_parts(text)[1].rpartition(".")[2], text, None, _doc(found), source_folder(found))
    elif text and "\n" not in text and Path(text).is_file():
        part = Part(name or identifier(Path(text).name.partition(".")[0]), text, None, "", None)
    else:
        program = _program(source, arguments)
        own = getattr(source, "__name__", "") or program.name.removeprefix("jit_")
        sources = source_folder(source) or _folder_of(program)
        part = Part(name or identifier(own), "", program, _doc(source), sources)
    require_name(part.name, "function")
    return part


def _parts_with_gradient(
    parts: Sequence[Part], sources: Sequence[Any], arguments: Sequence[Any], number: str, weights: str
) -> list[Part]:
    """Return a function of value and gradient for each part that is a function of JAX and returns a number; warn of the
    others. Raises ``UsageError`` (XP710) if there is none.
    """
    problems = [_problem_of_gradient(part, source, weights) for part, source in zip(parts, sources, strict=True)]
    told = [f"{part.name} has no gradient: {why}" for part, why in zip(parts, problems, strict=True) if why]
    if all(problems):
        raise UsageError(*(Diagnostic("XP710", message) for message in told))
    for message in told:
        warnings.warn(message, XlaToPythonWarning, stacklevel=4)
    found = []
    for part, source, why in zip(parts, sources, problems, strict=True):
        function, *own = source if isinstance(source, tuple) else (source, *arguments)
        program = _program(with_gradient(function, number), own) if callable(function) and not why else None
        name = "value_and_grad" if len(parts) == 1 else f"{part.name}_value_and_grad"
        found += [] if why else [replace(part, name=name, program=program, gradient=number)]
    return found


def _problem_of_gradient(part: Part, source: Any, weights: str) -> str:
    """Return why a function has no gradient, or an empty string."""
    function = source[0] if isinstance(source, tuple) else source
    program = part.program
    if is_reference(part.source):
        is_free = free_sizes(part.source)
        program = (
            function_at_sizes(part.source, Path(), weights=weights).modules[0]
            if is_free
            else load_function(part.source, Path(), weights=weights)
        )
    elif not callable(function):
        return "it is no function of JAX"
    assert program is not None
    result = program.entry.root.shape
    is_number = isinstance(result, ArrayShape) and not result.dimensions and result.element_type.is_floating
    return "" if is_number else f"it returns {type_text(result)}, not a number"


def _program(source: Any, arguments: Sequence[Any]) -> HloModule:
    program = from_jax(source, *arguments) if callable(source) else load(source, examples=arguments)
    if isinstance(program, Witnesses):
        hint = "package it from a file: 'module:function(f32[B,4])'"
        raise UsageError(Diagnostic("XP426", "a live function whose sizes are free cannot be packaged", hint=hint))
    return program


def _folder_of(program: HloModule) -> Path | None:
    """Return the folder of the file that has the traced function, or None."""
    name = program.name.removeprefix("jit_")
    files = (frame.file_name for frame in program.stack_frames if frame.function_name == name)
    return next((Path(file).parent for file in files if file in program.sources), None)


def _doc(found: Any) -> str:
    """Return the author's docstring of a JAX function, or an empty string."""
    return (getdoc(found) or "") if hasattr(found, "__wrapped__") or hasattr(found, "__code__") else ""


def write_package(folder: Path, parts: Sequence[Part], name: str, target: str, options: Mapping[str, Value]) -> Project:
    """Write all files of a package into an empty folder; return the project."""
    path = folder / "pyproject.toml"
    write_atomically(path, b"")
    project = read_project(path)
    project = _with_files(project, parts, name, target, options)
    needs = _needs(project)
    compiles = any(word == "Numba" for _, word in needs)
    values = {"package": name, "description": _description(parts, compiles=compiles), "version": VERSION}
    manifest = path.read_text(encoding="utf-8")
    head = (
        environment()
        .get_template("pyproject.toml.j2")
        .render(**values, dependencies=[each[0] for each in needs], untyped=sorted(_UNTYPED & _imported(project)))
    )
    write_atomically(path, f"{head}\n{manifest}".encode())
    write_atomically(folder / "src" / name / "py.typed", b"")
    project = read_project(path)
    agreements = {module.function: record(project, module, name) for module in functions_of(project)}
    rows = [_row(project, module, agreements[module.function]) for module in functions_of(project)]
    text = (
        environment()
        .get_template("README.md.j2")
        .render(**values, functions=rows, needs=listed([each[1] for each in needs]), compiles=compiles)
    )
    write_atomically(folder / "README.md", text.encode())
    return project


def _with_files(
    project: Project, parts: Sequence[Part], name: str, target: str, options: Mapping[str, Value]
) -> Project:
    """Write the modules and the files that make a package of them, and list each in the manifest."""
    for part in parts:
        source, own = part.source, dict(options)
        if part.program is not None:
            source = str(_written_program(project.folder / PROGRAMS / f"{part.name}.hlo", part))
        if part.sources is not None:
            own.setdefault("sources", str(part.sources))
        facts = {"function": part.name, "doc": part.doc, "gradient": part.gradient}
        project, _ = add_module(
            project,
            source,
            project.folder / "src" / name / f"_{part.name}.py",
            target,
            {"nested": True, "constants": TENSORS, **({"helpers": SHARED} if len(parts) > 1 else {}), **own},
            facts={**facts, "imports": _imports(project, source)},
        )
    for each in _FILES:
        file = VendoredModule(PACKAGE, each.format(name=name), target)
        write_update(project, file, prepare_update(project, file))
        project = with_module(project, file)
    return project


def _written_program(path: Path, part: Part) -> Path:
    """Write a program that did not come from a file, with its large constants and its trees beside it; return the path.

    Paths in it are relative to the author's folder, or, for libraries, to the folders of ``sys.path``.
    """
    assert part.program is not None
    text, arrays = print_without_constants(part.program, is_large)
    for place in sorted({str(part.sources or Path().resolve()), *filter(None, sys.path)}, key=len, reverse=True):
        text = text.replace(f'"{place}{os.sep}', '"')
    write_atomically(path, text.encode())
    if arrays:
        with path.with_suffix(safetensors.SUFFIX).open("wb") as file:
            safetensors.write(file, arrays)
    if part.program.trees is not None or part.program.constant_names:
        write_atomically(path.with_suffix(SUFFIX), trees_as_json(part.program).encode())
    return path


def _imports(project: Project, source: str) -> str:
    """Return the folder that a Python source is imported from, the present one, relative to the project."""
    return Path(os.path.relpath(Path(), project.folder.resolve())).as_posix() if is_reference(source) else ""


def _description(parts: Sequence[Part], *, compiles: bool) -> str:
    """Return a description of the package on a line that needs no escaping in TOML and Markdown."""
    return (_sentence(parts[0].doc) if len(parts) == 1 else "") or (
        f"{listed([part.name for part in parts])} on NumPy{' and Numba' if compiles else ', without a compiler'}."
    )


def _sentence(doc: str) -> str:
    """Return the first line of a docstring, in plain characters."""
    line = next(iter(doc.splitlines()), "")
    return "".join(c for c in line if c.isprintable() and c not in '"\\<>|`[]').strip()


def _needs(project: Project) -> list[tuple[str, str]]:
    """Return the packages that the modules need, as requirements and by their usual names."""
    names = _imported(project) | ({"scipy"} if any(map(_is_compiled_product, _nodes(project))) else set())
    return [_NEEDS[name] for name in sorted(names & _NEEDS.keys())]


def _imported(project: Project) -> set[str]:
    """Return the packages that the modules import."""
    nodes = list(_nodes(project))
    names = {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {
        (node.module or "").split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and not node.level
    }


def _nodes(project: Project) -> Iterator[ast.AST]:
    for module in project.modules:
        if module.output.startswith("src/"):
            yield from ast.walk(syntax_of(project, module))


def _is_compiled_product(node: ast.AST) -> bool:
    """Return whether Numba compiles a function with matrix products, which call SciPy's BLAS."""
    if not (isinstance(node, ast.FunctionDef) and any("njit" in ast.unparse(each) for each in node.decorator_list)):
        return False
    return any(
        isinstance(part, ast.MatMult) or (isinstance(part, ast.Attribute) and part.attr in _PRODUCTS)
        for part in ast.walk(node)
    )


def _row(project: Project, module: VendoredModule, agreement: Agreement) -> dict[str, Any]:
    """Return the README's entry for a function."""
    found = argument_leaves(project, module)
    by_argument: dict[str, list[str]] = {}
    for leaf, text in zip(found, _types(program_of(project, module)), strict=False):
        by_argument.setdefault(leaf.argument, []).append(text)
    takes = [
        f"`{name}`: {types[0]}" if len(types) == 1 else f"`{name}`: {len(types)} arrays"
        for name, types in by_argument.items()
    ]
    told = _RETURNS.search(ast.get_docstring(syntax_of(project, module)) or "")
    gives = " ".join(told[1].split()) if told is not None else "nothing"
    if module.gradient:  # __init__ returns both in float64
        gives = re.sub(r"float\d+", "float64", gives)
    return {
        "name": module.function,
        "computes": _sentence(module.doc) if len(functions_of(project)) > 1 else "",
        "state": signature(project, module).state,
        "arguments": ", ".join(by_argument),
        "takes": ", ".join(takes) or "nothing",
        "gives": gives,
        "arrays": [leaf.name for leaf in found],
        "source": f"`{Path(module.source).name if not is_reference(module.source) else module.source}`",
        "compared": agreement.runs,
        "difference": agreement.text,
    }


def _types(program: HloModule | Witnesses) -> list[str]:
    """Return the types of the arrays that a program takes, with the names of free sizes."""
    if isinstance(program, HloModule):
        return list(map(type_text, _taken(program)))
    sizes = [program.assignment(k) for k in range(len(program.modules))]
    return [_type_at_any_size(shapes, sizes) for shapes in zip(*map(_taken, program.modules), strict=True)]


def _taken(program: HloModule) -> list[Shape]:
    return [part for parameter in program.entry.parameters for _, part in leaves(parameter.shape)]


def _type_at_any_size(shapes: Sequence[Shape], sizes: Sequence[Assignment]) -> str:
    """Return ``float32[B, 4]``: an axis that differs between programs is a multiple of a free size, or unknown."""
    arrays = [shape for shape in shapes if isinstance(shape, ArrayShape)]
    if not arrays:  # tokens
        return type_text(shapes[0])
    axes = []
    for numbers in zip(*(array.dimensions for array in arrays), strict=True):
        names = [name for name, size in sizes[0].items() if size]
        ratios = {name: {number / own[name] for number, own in zip(numbers, sizes, strict=True)} for name in names}
        found = [f"{ratio:g} {name}".removeprefix("1 ") for name, (ratio, *more) in ratios.items() if not more]
        axes.append(str(numbers[0]) if len(set(numbers)) == 1 else next(iter(found), "?"))
    return f"{arrays[0].element_type.dtype}[{', '.join(axes)}]"
