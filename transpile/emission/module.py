"""A whole emitted module: header, imports, functions, the prelude they use."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...targets.base import Target, load_target
from ..array.node import Node
from ..array.program import Function, Program, roots
from ..array.traversal import topological
from ..hlo.shapes import ArrayShape, leaves
from ..kernels.kernel import Kernel
from .annotations import annotate
from .argument_trees import leaf_paths
from .body import FunctionWriter
from .constants import ModuleConstants
from .description import docstring, signature_lines
from .expression import Renderer
from .header import header
from .imports import imports
from .kernels import Declarations
from .lines import WrittenFunction
from .module_names import brought_in, foreign_names, function_name, prelude_names
from .names import Names
from .prelude import DEVICE, prelude
from .releases import release
from .replicas import ENTRY, GROUP, HOST_FUNCTIONS, replicas_of
from .result_trees import fitting, placed
from .sections import add_sections
from .signature import GROUP as GROUP_TYPE
from .signature import TREE, has_tree, in_blocks, kinds_of_types, result_type
from .sources import SourceNames

GRAPH, REPLAY = "Replay", "replay"  # the prelude's class, and what a module calls main as a graph


@dataclass(slots=True)
class Settings:
    """How a module is written."""

    annotate: str = "short"
    checks: bool = True
    constants: str = "auto"
    nested: bool = False
    chains: bool = True  # of calls as loops
    releases: bool = True  # of large arrays, by ``del``
    graph: bool = False  # ``replay`` beside ``main``
    source_name: str = "<string>"
    source_sha256: str = ""
    options: str = ""  # what the command line to regenerate adds
    parenthesise_all: bool = False


@dataclass(slots=True)
class Written:
    """The text of a module before formatting, the arrays that go beside it, and what each line computes.

    ``pieces`` are what the program became, and each definition of the prelude that it uses; ``kernels`` those that it
    declares, by name.
    """

    pieces: list[str]
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    functions: list[WrittenFunction] = field(default_factory=list)
    kernels: dict[str, Kernel] = field(default_factory=dict)


def write_module(program: Program, target: Target, settings: Settings) -> Written:
    """The module of a program."""
    renderer = Renderer(target.folder, target.namespace, target.scalars, parenthesise_all=settings.parenthesise_all)
    of_blocks = renderer  # block functions, and the constants that they share with main, are NumPy's
    if target.arrange is not None:
        numpy = load_target("numpy")
        of_blocks = Renderer(numpy.folder, numpy.namespace, parenthesise_all=settings.parenthesise_all, beside=renderer)
    inline = settings.constants == "inline"
    constants = ModuleConstants(of_blocks, inline=inline, largest_folded=target.largest_folded)
    library = prelude(target)
    replicas = replicas_of(program, target.runners)
    entry = ENTRY if replicas is not None else "main"
    instructions = program.entry.computation.parameters
    has_trees = settings.nested and replicas is None
    paths = leaf_paths(instructions) if has_trees else [None] * len(instructions)
    tree = fitting(program.original.result_tree, program.entry.results) if has_trees else None
    has_trees = any(path is not None for path in paths)
    check = _check(program, has_trees)
    reserved = prelude_names(program, target, check) | set(HOST_FUNCTIONS) | {"chunks"}
    if settings.graph:
        renderer.used_prelude[GRAPH] = None
        reserved |= {REPLAY} | brought_in([GRAPH], target)
    if replicas is not None:
        renderer.used_prelude.update(dict.fromkeys(replicas.prelude_names))
        renderer.shared_channels.update(replicas.channels)
        renderer.resumable.update(replicas.resumable)
        reserved |= replicas.names | brought_in(replicas.prelude_names, target)
    module_names = Names(reserved)
    renderer.foreign_names.update((name, module_names.kept(name.name)) for name in foreign_names(program))
    reserved |= set(renderer.foreign_names.values())
    for function in program.functions[:-1]:
        renderer.function_names[function] = module_names.fresh(function_name(function, program))
    renderer.function_names[program.entry] = entry
    reserved |= set(renderer.function_names.values())
    source_names = SourceNames(program.module)
    written: list[WrittenFunction] = []
    writers: list[FunctionWriter] = []
    parameters: list[str] = []
    chunks = ""
    declarations = Declarations if target.kernels is None else target.kernels.declarations
    kernels: Declarations = declarations(target, renderer, library, settings.annotate, source_names)
    for function in _in_written_order(program):
        names = Names(reserved | constants.names)
        writer = FunctionWriter(
            function,
            of_blocks if function is not program.entry else renderer,
            names,
            settings.annotate,
            constants,
            source_names,
            writers,
            with_chains=settings.chains,
        )
        is_entry = function is program.entry
        if is_entry and tree is not None:
            writer.results = placed(tree, function.results)
        named = writer.arguments.name(paths if is_entry else ())
        kernels.name_kernels(writer, module_names)
        if is_entry:
            parameters = named
            if settings.checks and named and check:
                writer.line(renderer.statement("check_arguments", check))
            if target.arrange is not None:
                writer.arguments.unpack_trees()
            chunks = writer.arguments.prepare()
        writer.write()
        kernels.add(writer, constants)
        writers.append(writer)
        written.append(writer.written_function(named))
    if settings.annotate == "full":
        annotate(written)
    if settings.annotate != "none":
        for each in written:
            add_sections(each.lines, each.function.graph)
    if settings.releases and target.arrange is None:
        release(reversed(writers))
    texts = [
        _function_text(
            writer,
            has_group=replicas is not None and writer.function is program.entry,
            is_of_blocks=writer.renderer is not renderer,
        )
        for writer in writers
    ]
    if settings.checks and program.entry.parameters and check:
        renderer.used_prelude[check] = None
    if chunks:
        renderer.used_prelude["in_chunks"] = None
    missing = sorted(set(renderer.used_prelude) - set(library.definitions))
    assert not missing, f"the prelude has no {missing}"
    definitions = library.closure(list(renderer.used_prelude))
    shared = [definition.source for definition in definitions if definition.module == DEVICE]
    behind = [definition.source for definition in definitions if definition.module != DEVICE]
    if replicas is not None:
        texts += replicas.runner_texts(renderer, _host_functions(program.entry))
        behind.append(replicas.group(renderer))
    if settings.graph:
        behind.append(renderer.statement(REPLAY, entry))
    kinds = [
        *kinds_of_types(program, of_blocks is not renderer),
        *([TREE] if has_trees or has_tree(result_type(writers[0].results)) else []),
    ]
    types = [renderer.statement(f"{kind}_type") for kind in kinds]
    typing = renderer.statement("typing_imports", any("Callable[" in text for text in texts)).splitlines()
    needed = {*library.imports_of(definitions), *renderer.foreign_imports(), *typing}
    import_lines = imports(target, needed, [*types, *texts, *kernels.texts], constants)
    template = renderer.environment.get_template("module.py.j2")
    own_text = template.render(
        docstring=docstring(program, parameters, replicas, tree),
        header="\n".join(header(target, settings.source_name, settings.source_sha256, settings.options)),
        imports=import_lines,
        public=[entry, *(replicas.runners if replicas is not None else ()), *([REPLAY] if settings.graph else ())],
        module_constants=[
            "",
            *types,
            *([""] if types and constants.lines else []),
            *constants.lines,
            *(signature_lines(program, parameters, paths) if settings.checks else []),
            *(["", chunks] if chunks else []),
        ],
        kernels=[*shared, *kernels.shared(), *kernels.texts],
        functions=texts,
    )
    return Written([own_text, *behind], constants.sidecar, written, kernels.kernels)


def _check(program: Program, has_trees: bool) -> str:
    """The function that checks the arguments; none where trees hold arrays of which only the bounds are known."""
    shapes = (part for parameter in program.entry.computation.parameters for _, part in leaves(parameter.shape))
    if any(isinstance(shape, ArrayShape) and shape.is_dynamic for shape in shapes):
        return "" if has_trees else "check_bounded_arguments"
    return "check_trees" if has_trees else "check_arguments"


def joined(pieces: Sequence[str]) -> str:
    """The text of a module from its pieces: functions and classes stand two empty lines apart, constants one."""
    text = pieces[0]
    for before, piece in pairwise(pieces):
        text += "\n\n\n" if _is_block(before) or _is_block(piece) else "\n\n"
        text += piece
    return text + "\n"


def _is_block(piece: str) -> bool:
    return re.search(r"^(def|class|@)", piece, re.MULTILINE) is not None


def _in_written_order(program: Program) -> list[Function]:
    """Callers first; block functions, which do not call each other, in the order in which ``main`` uses them."""
    others = program.functions[:-1]
    blocks = [function for function in others if function.block_of]
    return [program.entry, *blocks, *(function for function in reversed(others) if not function.block_of)]


def _function_text(writer: FunctionWriter, has_group: bool, is_of_blocks: bool) -> str:
    renderer, function, typed = writer.renderer, writer.function, writer.arguments.heads
    result = result_type(writer.results)
    if is_of_blocks:
        typed, result = [(name, in_blocks(kind)) for name, kind in typed], in_blocks(result)
    group = [(GROUP, GROUP_TYPE)] if has_group else []
    define = renderer.statement(
        "define",
        renderer.function_names[function],
        [*group, *typed],
        _host_functions(function),
        result,
        function.chunks,
    )
    template = renderer.environment.get_template("function.py.j2")
    decorators = _decorators(writer)
    return template.render(note=function.note, decorators=decorators, signature=define, lines=writer.lines).rstrip()


def _host_functions(function: Function) -> list[str]:
    """The functions of the host that a function calls."""
    opcodes = {node.opcode for node in topological(roots(function))}
    return [name for name in HOST_FUNCTIONS if name in opcodes]


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
