"""The files that make a package of emitted modules: what is imported, the command, arrays in files, the tests.

They are written from the manifest and the modules beside it, so that an update writes them anew, as it does modules.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from inspect import cleandoc
from pathlib import Path, PurePosixPath
from textwrap import indent
from typing import Any

import jinja2

from ..dataclass import dataclass
from ..emission import GeneratedModule
from ..emission.formatting import formatted
from ..emission.layout import Layout
from ..emission.module.header import with_body_hash
from ..emission.places import main_of
from ..emission.trees.argument_trees import leaf_paths, tree_of
from ..errors import Diagnostic, UsageError
from ..files import read_bytes
from ..frontends.witnesses import Witnesses
from ..hlo.ir import HloModule
from ..hlo.shapes import ArrayShape, leaves
from ..version import VERSION
from .manifest import Project, VendoredModule
from .programs import program_of
from .text_files import TextFile

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "package"
INIT, MAIN, FILES, TESTS = "__init__.py", "__main__.py", "_files.py", "test_recorded.py"


@cache
def environment() -> jinja2.Environment:
    """Return what renders the templates of packages."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def functions_of(project: Project) -> list[VendoredModule]:
    """The modules of a project that are functions of its package."""
    return [module for module in project.modules if module.function]


def package_name(project: Project) -> str:
    """The name of the package that the modules of a project are in."""
    return PurePosixPath(functions_of(project)[0].output).parent.name


def package_file(project: Project, file: VendoredModule) -> GeneratedModule:
    """Return what a file of a package is now. Raises ``UsageError``: XP412 for a file that no package has, XP401 where
    a module of the package is missing; and what reading the programs raises.
    """
    name = PurePosixPath(file.output).name
    if name not in _VALUES or not functions_of(project):
        raise UsageError(Diagnostic("XP412", f"module '{file.output}' is not a file of a package"))
    values = {"package": package_name(project), "header": "@HEADER@", **_VALUES[name](project)}
    text = environment().get_template(f"{name}.j2").render(values)
    header = environment().get_template("header.j2").render(version=VERSION, digest=_digest(text)).rstrip()
    return GeneratedModule(
        with_body_hash(_formatted(text.replace("@HEADER@", header), project, file)), Path(name).stem, file.target
    )


def _formatted(text: str, project: Project, file: VendoredModule) -> str:
    return formatted(text, Layout(project.line_length(file)))


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _init_values(project: Project) -> dict[str, Any]:
    functions = [_signature(project, module) for module in functions_of(project)]
    title = listed([each.name.replace("_", " ") for each in functions])
    imports = sorted({line for each in functions for line in each.imports})
    return {
        "title": f"{title[0].upper()}{title[1:]}.",
        "functions": functions,
        "imports": imports,
        "modules": sorted(each.module for each in functions),
        "names": sorted(each.name for each in functions),
    }


def _files_values(project: Project) -> dict[str, Any]:
    functions = functions_of(project)
    found = {module.function: argument_leaves(project, module) for module in functions}
    narrow = {name: {leaf.name: leaf.type for leaf in own if leaf.is_narrow} for name, own in found.items()}
    return {
        "arguments": {name: tree_of([leaf.entry for leaf in own]) for name, own in found.items()},
        "narrow": {name: types for name, types in narrow.items() if types},
    }


_VALUES: dict[str, Callable[[Project], dict[str, Any]]] = {
    INIT: _init_values,
    MAIN: lambda project: {"several": len(functions_of(project)) > 1},
    FILES: _files_values,
    TESTS: lambda project: {},
}


@dataclass(frozen=True, slots=True)
class Signature:
    """A function of a package, as ``__init__`` has it: texts, and the imports that the types in them need."""

    name: str
    module: str
    parameters: str
    arguments: str
    result: str
    doc: str
    imports: tuple[str, ...]


def _signature(project: Project, module: VendoredModule) -> Signature:
    tree = ast.parse(source_of(project, module))
    main = main_of(tree)
    name = PurePosixPath(module.output).stem
    types = _Qualified(name, tree)
    arguments = types.visit(main.args)
    result = types.visit(main.returns) if main.returns is not None else ast.Constant(None)
    doc = module.doc or ast.get_docstring(tree) or module.function
    return Signature(
        module.function,
        name,
        ast.unparse(arguments),
        ", ".join(_passed(main.args)),
        ast.unparse(result),
        docstring_text(doc),
        tuple(types.imports),
    )


def source_of(project: Project, module: VendoredModule) -> str:
    """The text of a module as it lies there. Raises ``UsageError``: XP401 where it is missing."""
    path = project.place(module.output)
    return TextFile.decode(read_bytes(path), path).text


def docstring_text(text: str) -> str:
    """A text as it stands between the quotes of a function's docstring."""
    escaped = re.sub(r'"(?=""|$|"$)', r'\\"', cleandoc(text).replace("\\", "\\\\"))
    lines = indent(escaped, "    ").lstrip()
    return f"{lines}\n    " if "\n" in lines else lines


def _passed(arguments: ast.arguments) -> Iterator[str]:
    """Yield how a function hands its arguments on."""
    yield from (each.arg for each in (*arguments.posonlyargs, *arguments.args))
    if arguments.vararg is not None:
        yield f"*{arguments.vararg.arg}"
    yield from (f"{each.arg}={each.arg}" for each in arguments.kwonlyargs)
    if arguments.kwarg is not None:
        yield f"**{arguments.kwarg.arg}"


class _Qualified(ast.NodeTransformer):
    """Names of a module as another module that has imported it writes them; ``imports`` are those that it needs too."""

    def __init__(self, module: str, tree: ast.Module) -> None:
        self.module = module
        self.imports: dict[str, None] = {}
        self._own = {name for node in tree.body for name in _defined(node)}
        self._imported = {
            alias.asname or alias.name: ast.unparse(ast.ImportFrom(node.module, [alias], 0))
            for node in tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        self._imported |= {
            alias.asname or alias.name: ast.unparse(ast.Import([alias]))
            for node in tree.body
            if isinstance(node, ast.Import)
            for alias in node.names
        }

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._own:
            return ast.Attribute(ast.Name(self.module, ast.Load()), node.id, ast.Load())
        if node.id in self._imported:
            self.imports[self._imported[node.id]] = None
        return node


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@dataclass(frozen=True, slots=True)
class ArgumentLeaf:
    """An array among the arguments of a function: the argument, the keys that lead to it, its name and its type."""

    argument: str
    keys: tuple[Any, ...]
    name: str
    type: str
    is_narrow: bool  # files have no name for the type

    @property
    def entry(self) -> tuple[str, tuple[Any, ...], str]:
        return self.argument, self.keys, self.name


def argument_leaves(project: Project, module: VendoredModule) -> list[ArgumentLeaf]:
    """The arrays that ``main`` of a module takes, in the order of the program's parameters, tuples flattened."""
    program = program_of(project, module)
    first = program.modules[0] if isinstance(program, Witnesses) else program
    return list(_leaves(first, main_of(ast.parse(source_of(project, module))).args))


def _leaves(program: HloModule, arguments: ast.arguments) -> Iterator[ArgumentLeaf]:
    paths = leaf_paths(program)
    roots = dict.fromkeys(path.root if path is not None else number for number, path in enumerate(paths))
    names = dict(zip(roots, _names(arguments), strict=True))
    for number, (path, parameter) in enumerate(zip(paths, program.entry.parameters, strict=True)):
        argument = names[path.root if path is not None else number]
        for place, shape in leaves(parameter.shape):
            if isinstance(shape, ArrayShape):
                keys = (*(path.keys if path is not None else ()), *place)
                words = (argument.lstrip("*"), *map(_word, keys))
                element_type = shape.element_type
                yield ArgumentLeaf(argument, keys, ".".join(words), str(element_type.dtype), element_type.is_extension)


def _names(arguments: ast.arguments) -> list[str]:
    """The names of arguments, with the stars of those that collect others."""
    found = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    found += [f"*{arguments.vararg.arg}"] if arguments.vararg is not None else []
    found += [each.arg for each in arguments.kwonlyargs]
    return found + ([f"**{arguments.kwarg.arg}"] if arguments.kwarg is not None else [])


def _word(key: Any) -> str:
    return "_".join(key) if isinstance(key, tuple) else str(key).removeprefix(".")
