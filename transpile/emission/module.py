"""A whole emitted module: header, imports, functions, the prelude they use."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import __version__
from ...targets.base import Target
from ..array.node import ForeignName, Node, PreludeName
from ..array.program import Function, Program, roots
from ..array.traversal import topological
from ..hlo.shapes import ArrayShape, Shape, TupleShape, dimension_texts
from .body import FunctionWriter
from .constants import ModuleConstants
from .expression import WIDTH, Renderer
from .names import Names, identifier, own_name
from .prelude import prelude
from .sources import SourceNames


@dataclass(slots=True)
class Settings:
    """How a module is written."""

    annotate: str = "short"
    checks: bool = True
    constants: str = "auto"
    source_name: str = "<string>"
    source_sha256: str = ""
    options: str = ""  # what the command line to regenerate adds
    parenthesise_all: bool = False


@dataclass(slots=True)
class Written:
    """The text of a module before formatting, and the arrays that go beside it."""

    text: str
    constants: dict[str, np.ndarray] = field(default_factory=dict)


def write_module(program: Program, target: Target, settings: Settings) -> Written:
    """The module of a program."""
    renderer = Renderer(target.folder, target.namespace, target.scalars, parenthesise_all=settings.parenthesise_all)
    inline = settings.constants == "inline"
    constants = ModuleConstants(renderer, inline=inline, largest_folded=target.largest_folded)
    library = prelude()
    reserved = _prelude_names(program) | {"infeed", "outfeed"}
    module_names = Names(reserved)
    renderer.foreign_names.update((name, module_names.kept(name.name)) for name in _foreign_names(program))
    reserved |= set(renderer.foreign_names.values())
    for function in program.functions[:-1]:
        renderer.function_names[function] = module_names.fresh(function_name(function))
    renderer.function_names[program.entry] = "main"
    reserved |= set(renderer.function_names.values())
    source_names = SourceNames(program.module)
    texts = []
    parameters: list[str] = []
    for function in (program.entry, *reversed(program.functions[:-1])):
        names = Names(reserved | constants.names)
        writer = FunctionWriter(function, renderer, names, settings.annotate, constants, source_names)
        named = writer.name_parameters()
        if function is program.entry:
            parameters = named
            if settings.checks and named:
                writer.line(renderer.statement("check_arguments"))
            writer.prepare_arguments()
        writer.write()
        texts.append(_function_text(function, writer, named))
    if settings.checks and program.entry.parameters:
        renderer.used_prelude["check_arguments"] = None
    if constants.sidecar:
        renderer.used_prelude["constants"] = None
    missing = sorted(set(renderer.used_prelude) - set(library.definitions))
    assert not missing, f"the prelude has no {missing}"
    definitions = library.closure(list(renderer.used_prelude))
    needed = library.imports_of(definitions) | set(renderer.foreign_imports())
    imports = _imports(target, needed, texts, constants)
    template = renderer.environment.get_template("module.py.j2")
    text = template.render(
        docstring=_docstring(program, parameters),
        header="\n".join(_header(target, settings)),
        imports=imports,
        module_constants=constants.lines + (_signature_lines(program, parameters) if settings.checks else []),
        functions=texts,
        definitions=[definition.source for definition in definitions],
    )
    return Written(text, constants.sidecar)


def _calls(program: Program) -> Iterator[Node]:
    for function in program.functions:
        yield from (node for node in topological(roots(function)) if node.opcode == "prelude")


def _foreign_names(program: Program) -> list[ForeignName]:
    """The functions of the user's own that a program calls, each once."""
    called = (node.parameters["function"] for node in _calls(program))
    return list(dict.fromkeys(function for function in called if isinstance(function, ForeignName)))


def _prelude_names(program: Program) -> set[str]:
    """What the prelude functions that a program needs bring into its module."""
    library = prelude()
    called = {"check_arguments", "constants"}
    for node in _calls(program):
        called.update(_names_in([node.parameters[part] for part in ("function", "arguments", "keywords")]))
    definitions = library.closure(sorted(called))
    used = {use for definition in definitions for use in definition.uses}
    return {definition.name for definition in definitions} | (used & set(library.imports))


def _names_in(argument: Any) -> Iterator[str]:
    """The prelude names in a call's arguments."""
    if isinstance(argument, str):
        yield argument
    elif isinstance(argument, PreludeName):
        yield argument.name
    elif isinstance(argument, tuple | list):
        for part in argument:
            yield from _names_in(part)
    elif isinstance(argument, dict):
        yield from _names_in(tuple(argument.values()))


def function_name(function: Function) -> str:
    """``region_0.5`` and ``closed_call`` say nothing; jitted functions carry their own name."""
    name = identifier(own_name(function))
    if re.fullmatch(r"region_\d+.*|closed_call(_\d+)?|none(_\d+)?|", name):
        return "step"
    return name.rstrip("_")


def _function_text(function: Function, writer: FunctionWriter, parameters: list[str]) -> str:
    renderer = writer.renderer
    host = [name for name in ("infeed", "outfeed") if any(node.opcode == name for node in writer.plan.nodes)]
    parameters = [*parameters, *(["*", *host] if host else [])]
    define = renderer.statement("define", renderer.function_names[function], parameters)
    template = renderer.environment.get_template("function.py.j2")
    return template.render(decorators=_decorators(writer), signature=define, lines=writer.lines).rstrip()


def _decorators(writer: FunctionWriter) -> list[str]:
    """Wrap-around arithmetic on NumPy integer scalars is meant, and not worth a warning."""
    quiet = writer.renderer.statement("quiet")
    return [quiet] if quiet and any(_may_wrap(node) for node in writer.plan.nodes) else []


def _may_wrap(node: Node) -> bool:
    return (
        node.opcode in ("add", "subtract", "multiply", "negate")
        and node.ndim == 0
        and not node.is_python_int
        and node.element_type is not None
        and node.element_type.is_integral
        and node.interval is None
        and node.element_type.is_unsigned
    )


def _imports(target: Target, needed: set[str], texts: list[str], constants: ModuleConstants) -> list[str]:
    """Standard library, then third party, as ruff sorts them."""
    everything = "\n".join([*texts, *constants.lines])
    bound = {line.split()[-1]: line for line in target.imports}
    lines = set(needed) | {line for name, line in bound.items() if re.search(rf"\b{name}\.", everything)}
    if "ml_dtypes." in everything:
        lines.add("import ml_dtypes")
    if "np." in everything:
        lines.add("import numpy as np")
    merged = _merged(lines)
    third = [
        line for line in merged if line.split()[1].split(".")[0] in ("numpy", "cupy", "cupyx", "dask", "ml_dtypes")
    ]
    standard = [line for line in merged if line not in third]
    return [*standard, *([""] if standard and third else []), *third]


def _merged(lines: set[str]) -> list[str]:
    """``from a import b`` and ``from a import c`` in one line; plain imports first."""
    plain = sorted(line for line in lines if line.startswith("import "))
    grouped: dict[str, set[str]] = {}
    for line in lines:
        if line.startswith("from "):
            module, names = line.removeprefix("from ").split(" import ")
            grouped.setdefault(module, set()).add(names)
    return plain + [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(grouped.items())]


def type_text(shape: Shape) -> str:
    """``float32[4, 8]``; a tuple in parentheses; ``None`` for a token."""
    if isinstance(shape, TupleShape):
        return f"({', '.join(type_text(element) for element in shape.elements)})"
    if isinstance(shape, ArrayShape):
        return f"{shape.element_type.dtype}[{', '.join(dimension_texts(shape))}]"
    return "None"


def _signature_lines(program: Program, names: list[str]) -> list[str]:
    if not names:
        return []
    rows = [
        f'"{name}": "{type_text(p.shape)}"' for name, p in zip(names, program.entry.computation.parameters, strict=True)
    ]
    return ["", f"SIGNATURE = {{{', '.join(rows)}}}"]


def _docstring(program: Program, names: list[str]) -> str:
    """What the module is, what goes in, what comes out."""
    title = identifier(program.module.name.removeprefix("jit_")).replace("_", " ").strip() or "module"
    lines = [f"{title[0].upper()}{title[1:]}.", ""]
    shapes = [type_text(parameter.shape) for parameter in program.entry.computation.parameters]
    groups: list[tuple[list[str], str]] = []
    for name, shape in zip(names, shapes, strict=True):
        if groups and groups[-1][1] == shape:
            groups[-1][0].append(name)
        else:
            groups.append(([name], shape))
    for group, shape in groups:
        lines += _wrapped(f"{', '.join(group)}: {shape}")
    root = program.entry.computation.root.shape
    results = [type_text(shape) for shape in root.elements] if isinstance(root, TupleShape) else [type_text(root)]
    lines += _wrapped(f"returns: {', '.join(results)}")
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="    ", break_long_words=False) or [text]


def _header(target: Target, settings: Settings) -> list[str]:
    source = settings.source_name
    command = f"xla2py emit {source} -t {target.name}{settings.options}"
    return [
        f"# Code generated by xla2py {__version__} from {source} for {target.title}.",
        f"# source sha256: {settings.source_sha256}",
        "# body sha256: @BODY@",
        f"# regenerate: {command}",
    ]


def with_body_hash(text: str) -> str:
    """Fill in the hash of everything but the header's own lines."""
    return text.replace("@BODY@", body_sha256(text), 1)


def body_sha256(text: str) -> str:
    """The hash that tells whether a person edited a module: of its text without the generated header lines."""
    body = re.sub(r"^# (Code generated by|source sha256:|body sha256:|regenerate:).*\n", "", text, flags=re.MULTILINE)
    return hashlib.sha256(body.encode()).hexdigest()
