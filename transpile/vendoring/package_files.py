"""The files that make a package of emitted modules: imports, command, arrays in files, tests.

They are written from the manifest and the modules beside it, so an update writes them anew, like modules.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import re
import sys
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
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
from ..emission.texts import quoted_key
from ..emission.trees.argument_trees import tree_of
from ..errors import Diagnostic, UsageError
from ..frontends.witnesses import free_sizes
from ..version import VERSION
from .arguments import argument_leaves, first_program, syntax_of
from .manifest import Project, VendoredModule
from .states import States, states_of

TEMPLATES = Path(__file__).resolve().parents[2] / "templates" / "package"
INIT, MAIN, FILES, TESTS = "__init__.py", "__main__.py", "_files.py", "test_recorded.py"


_OF_GRADIENTS = ("import numpy as np", "from numpy.typing import ArrayLike")  # and, for a gradient of several axes:
_OF_ORDERS = ("from typing import Literal",)


@cache
def environment() -> jinja2.Environment:
    """Return the environment of the templates of packages."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def functions_of(project: Project) -> list[VendoredModule]:
    """Return the modules of a project that are functions of its package."""
    return [module for module in project.modules if module.function]


def package_name(project: Project) -> str:
    """Return the name of the package of a project's modules."""
    return PurePosixPath(functions_of(project)[0].output).parent.name


def package_file(project: Project, file: VendoredModule) -> GeneratedModule:
    """Return what a file of a package should be now.

    Raises ``UsageError``: XP412 for a file that packages do not have, XP401 if a module of the package is missing; and
    the errors of reading the programs.
    """
    name = PurePosixPath(file.output).name
    if name not in _VALUES or not functions_of(project):
        raise UsageError(Diagnostic("XP412", f"module '{file.output}' is not a file of a package"))
    values = {"package": package_name(project), "header": "@HEADER@", **_VALUES[name](project)}
    text = environment().get_template(f"{name}.j2").render(values)
    header = environment().get_template("header.j2").render(version=VERSION, digest=_digest(text)).rstrip()
    text = formatted(text.replace("@HEADER@", header), Layout(project.line_length(file)))
    return GeneratedModule(with_body_hash(text), Path(name).stem, file.target)


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _init_values(project: Project) -> dict[str, Any]:
    functions = [signature(project, module) for module in functions_of(project)]
    title = listed([each.name.replace("_", " ") for each in functions])
    imports = {line for each in functions for line in each.imports}
    return {
        "title": f"{title[0].upper()}{title[1:]}.",
        "functions": functions,
        "imports": _grouped(imports),
        "modules": sorted(each.module for each in functions),
        "names": sorted(name for each in functions for name in _public(each)),
    }


def _grouped(imports: Collection[str]) -> list[str]:
    """Return imports in the order of PEP 8, merged by module, with an empty line after the standard library's."""
    lines = sorted(line for line in imports if line.startswith("import "))
    words: dict[str, list[str]] = {}
    for line in sorted({*imports}.difference(lines)):
        head, _, word = line.partition(" import ")
        words.setdefault(head, []).append(word)
    lines += [f"{head} import {', '.join(own)}" for head, own in words.items()]
    standard = [line for line in lines if line.split()[1].partition(".")[0] in sys.stdlib_module_names]
    others = [line for line in lines if line not in standard]
    return [*standard, *([""] if standard and others else []), *others]


def _public(function: Signature) -> list[str]:
    return [function.name, *([function.state.name] if function.state is not None else [])]


def _files_values(project: Project) -> dict[str, Any]:
    functions = functions_of(project)
    found = {module.function: argument_leaves(project, module) for module in functions}
    narrow = {name: {leaf.name: leaf.type for leaf in own if leaf.is_narrow} for name, own in found.items()}
    return {
        "arguments": _literal({name: tree_of([leaf.entry for leaf in own]) for name, own in found.items()}),
        "narrow": {name: types for name, types in narrow.items() if types},
    }


def _literal(tree: Any) -> str:
    """Return nested dicts as a literal on one line."""
    if not isinstance(tree, dict):
        return quoted_key(tree)
    return f"{{{', '.join(f'{quoted_key(key)}: {_literal(part)}' for key, part in tree.items())}}}"


_VALUES: dict[str, Callable[[Project], dict[str, Any]]] = {
    INIT: _init_values,
    MAIN: lambda project: {"several": len(functions_of(project)) > 1},
    FILES: _files_values,
    TESTS: lambda project: {},
}


@dataclass(frozen=True, slots=True)
class Signature:
    """A function of a package as it is in ``__init__``: texts, and the imports that its types need."""

    name: str
    module: str
    parameters: str
    arguments: str
    result: str
    doc: str
    imports: tuple[str, ...]
    state: StateClass | None
    gradient: Gradient | None


@dataclass(frozen=True, slots=True)
class Gradient:
    """The argument with respect to which a function returns a gradient: its name, type and shape."""

    argument: str
    type: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateClass:
    """A class that keeps the states of a function, as it is in ``__init__``: texts of its parts."""

    name: str
    states: Mapping[str, str]  # name: type
    parameters: str  # of a call
    call: str  # the arguments of a call
    arguments: str  # of the call of the function
    result: str  # the type of its result
    targets: str  # the targets of the function's results
    returned: str


def signature(project: Project, module: VendoredModule) -> Signature:
    """Return a function of a package as it is in ``__init__``."""
    tree = syntax_of(project, module)
    main = main_of(tree)
    name = PurePosixPath(module.output).stem
    types = _Qualified(name, tree)
    arguments = types.visit(main.args)
    result = types.visit(main.returns) if main.returns is not None else ast.Constant(None)
    states = states_of(first_program(project, module), argument_leaves(project, module))
    taken = [each.function for each in functions_of(project)]
    has_class = class_name(module.function) not in taken
    gradient = _gradient(project, module) if module.gradient else None
    if gradient is not None:
        types.imports |= dict.fromkeys(_OF_GRADIENTS + _OF_ORDERS * (len(gradient.shape) > 1))
        _all(arguments)[int(module.gradient)].annotation = ast.Name("ArrayLike", ast.Load())
        result = ast.parse(f"tuple[float, {name}.Array]", mode="eval").body
    doc = module.doc or ast.get_docstring(tree) or module.function
    return Signature(
        module.function,
        name,
        ast.unparse(arguments),
        ", ".join(_passed(main.args)),
        ast.unparse(result),
        docstring_text(module.doc if gradient is not None else doc),
        tuple(types.imports),
        _state_class(module.function, states, arguments, result) if states and has_class and not gradient else None,
        gradient,
    )


def _gradient(project: Project, module: VendoredModule) -> Gradient:
    """Return the argument with respect to which a function returns a gradient.

    Raises ``UsageError`` (XP710) unless it is a flat array that SciPy can pass.
    """
    found = argument_leaves(project, module)
    name = list(dict.fromkeys(leaf.argument for leaf in found))[int(module.gradient)]
    first, *others = [leaf for leaf in found if leaf.argument == name]
    problem = ""
    if others or first.keys:
        problem = "is a tree"
    elif free_sizes(module.source) and len(first.shape) > 1:
        problem = "has free sizes and several axes"
    elif first.is_narrow:
        problem = f"is {first.type}"
    if problem:
        hint = "have the function take a flat array; jax.flatten_util.ravel_pytree gives one, and the way back"
        raise UsageError(
            Diagnostic(
                "XP710", f"{module.function}: SciPy gives a flat array of floats, and {name} {problem}", hint=hint
            )
        )
    return Gradient(name, first.type, first.shape)


def _state_class(function: str, states: States, arguments: ast.arguments, result: ast.expr) -> StateClass:
    """Return the class for a function with states; ``arguments`` and ``result`` have the types of ``__init__``."""
    kept = {
        each.arg: ast.unparse(each.annotation or ast.Constant(None))
        for each in _all(arguments)
        if each.arg in states.places
    }
    call = copy.deepcopy(arguments)
    for own in (call.posonlyargs, call.args, call.kwonlyargs):
        own[:] = [each for each in own if each.arg not in kept]
    names = {place: f"self.{name}" for name, place in states.places.items()}
    others = [place for place in range(states.results or 0) if place not in names]
    names |= {place: "result" if len(others) == 1 else f"result_{k}" for k, place in enumerate(others)}
    return StateClass(
        class_name(function),
        kept,
        ast.unparse(call),
        ", ".join(_passed(call)),
        ", ".join(_passed(arguments, kept)),
        _type_of(result, others, states.results),
        ", ".join(names[place] for place in sorted(names)),
        ", ".join(names[place] for place in others or ([0] if states.results is None else [])) or "None",
    )


def class_name(function: str) -> str:
    """Return ``DecodeStep`` for ``decode_step``."""
    return "".join(word.capitalize() for word in function.split("_"))


def _type_of(result: ast.expr, places: list[int], count: int | None) -> str:
    """Return the type of the results at ``places`` in a tuple of ``count``, or of the whole result."""
    types = result.slice.elts if isinstance(result, ast.Subscript) and isinstance(result.slice, ast.Tuple) else []
    if count is None or len(types) != count:
        return ast.unparse(result)
    chosen = [ast.unparse(types[place]) for place in places]
    return chosen[0] if len(chosen) == 1 else f"tuple[{', '.join(chosen)}]" if chosen else "None"


def docstring_text(text: str) -> str:
    """Return a text escaped and indented for a function's docstring."""
    escaped = re.sub(r'"(?=""|$|"$)', r'\\"', cleandoc(text).replace("\\", "\\\\"))
    lines = indent(escaped, "    ").lstrip()
    return f"{lines}\n    " if "\n" in lines else lines


def _all(arguments: ast.arguments) -> list[ast.arg]:
    """Return the named parameters, without ``*args`` and ``**kwargs``."""
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _passed(arguments: ast.arguments, kept: Container[str] = ()) -> Iterator[str]:
    """Yield the arguments with which a function passes its parameters on; those ``kept`` are attributes of ``self``."""
    own = {each.arg: f"self.{each.arg}" if each.arg in kept else each.arg for each in _all(arguments)}
    yield from (own[each.arg] for each in (*arguments.posonlyargs, *arguments.args))
    if arguments.vararg is not None:
        yield f"*{arguments.vararg.arg}"
    yield from (f"{each.arg}={own[each.arg]}" for each in arguments.kwonlyargs)
    if arguments.kwarg is not None:
        yield f"**{arguments.kwarg.arg}"


class _Qualified(ast.NodeTransformer):
    """A transformer that qualifies a module's own names with the module; ``imports`` are further needed imports."""

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
