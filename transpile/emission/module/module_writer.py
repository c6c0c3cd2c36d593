"""A whole emitted module: header, imports, functions, and the prelude that they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import field, replace
from functools import partial

import numpy as np

from ...array.program import Function, Program
from ...array.result_trees import placed
from ...array.warnings import may_warn
from ...compilation import kernels_in
from ...dataclass import dataclass
from ...hlo.carriers import NARROW
from ...hlo.custom_calls import callbacks
from ...hlo.element_types import from_dtype
from ...hlo.ir import ResultTree
from ...hlo.literal_values import array_sha256
from ...kernels.kernel import Kernel
from ...options import Options
from ...passes.calls.inlining import of_any_shape
from ...python.modules import mentioned
from ...target import Target, load_target
from ..arrangement.unpacking import unpack_as_author
from ..expression import Renderer
from ..functions.constants import TENSORS, ModuleConstants
from ..functions.deallocation import release
from ..functions.function_writer import FunctionWriter
from ..functions.sidecars import DIGEST_DIGITS
from ..kernels.declarations import Declarations
from ..layout import Layout
from ..lines import WrittenFunction
from ..name_reuse import reuse_names
from ..naming.hints import EXPLAINED, explained_names
from ..naming.identifiers import Names
from ..naming.source import SourceNames, in_authors_order
from ..parts import Part, Replay
from ..prelude.library import DEVICE, NAME_BY_TEXT, prelude, unsilenced
from ..prelude.specialization import calls_of, cut, cut_calls, with_short_docstrings
from ..replicas.collectives import (
    GROUP,
    HOST_FUNCTIONS,
    callback_names,
    collectives,
    host_functions,
    named_devices,
    replicas_of,
)
from ..replicas.sharded_arrays import SPLIT, TAKE_DEVICE, MpiCommand, ShardedArrays, axis_names, is_command
from ..trees.argument_groups import argument_groups
from ..trees.named_results import class_text, named_results
from ..trees.result_classes import ResultClasses
from ..trees.shared_trees import signature_constants
from ..trees.types import (
    GROUP as GROUP_TYPE,
    TREE,
    has_tree,
    in_blocks,
    kinds_of_types,
    result_type,
    typing_imports,
    typing_names,
    without_lone_types,
)
from .description import arrays_by_type, docstring, signature
from .entry_point import CHECK_ARRAYS, CHECK_TREES, array_checks, entry_point
from .header import NUMPY, Origin, header, imported_names, imports
from .names import DECORATORS, brought_in, foreign_names, function_name, prelude_calls, prelude_names
from .provenance import annotate
from .sections import add_sections
from .shared_helpers import SHARED, divided, import_lines, shares_functions

_AROUND_ROW = len('    "": ("", , ),')  # columns besides the name, hash, type and shape of a stored array
_FREED = range(2**17, 2**25)  # bytes of arrays whose memory the C library returns to the system by default


@dataclass(slots=True)
class Written:
    """The text of a module before formatting, its sidecar arrays, and the values that each line computes.

    ``pieces`` are the program's text, and each definition of the prelude that it uses; ``kernels`` are the declared
    kernels by name, and ``shapes`` the shapes of the parameters of kernels.
    """

    pieces: list[str]
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    functions: list[WrittenFunction] = field(default_factory=list)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    shapes: dict[str, dict[str, Sequence[int]]] = field(default_factory=dict)
    result_tree: ResultTree = None


def write_module(
    program: Program,
    target: Target,
    options: Options,
    origin: Origin | None = None,
    explain: Callable[[str, str], None] | None = None,
) -> Written:
    """Return the module of a program, with the ``origin`` in its header; ``explain`` gets the reasons for its names."""
    return _ModuleWriter(program, target, options, origin or Origin(), explain).written()


class _ModuleWriter:
    """The writer of one module: names first, then the functions, then everything that these need."""

    def __init__(
        self,
        program: Program,
        target: Target,
        options: Options,
        origin: Origin,
        explain: Callable[[str, str], None] | None,
    ) -> None:
        self.program = program
        self.explain = explain
        self.target = target
        self.options = options
        self.origin = origin
        self.is_cut = "cutting" not in options.disable_passes and not shares_functions(options)
        self.library = prelude(target, in_graph=options.graph, kernels=kernels_in(options.style, target))
        self.replicas = replicas_of(program, target.runners)
        self.parts: list[Part] = [Replay()] if options.graph else []
        self.parameters: list[str] = []
        layout, sharded, parameters = program.original.layout, None, program.entry.computation.parameters
        if self.replicas is not None:
            mesh, axes = (None, {}) if layout is None else (layout.mesh, axis_names(layout))
            self.devices = named_devices(list(collectives(program)), mesh, axes)
            self.parts += [self.replicas, self.devices]
        if self.replicas is not None and layout is not None and SPLIT in self.library.definitions:
            sharded = ShardedArrays(layout, self.replicas, self.parameters)
            self.parts.append(sharded)
        if self.replicas is not None and is_command(self.replicas, parameters):
            has_devices = TAKE_DEVICE in self.library.definitions
            self.parts.append(
                MpiCommand(self.replicas, sharded, self.parameters, parameters, target.lacks, has_devices)
            )
        self.entry = entry_point(program, self.replicas, options.nested, options.checks)
        self.classes = ResultClasses(self.entry.result_tree, options.classes, self.library.definitions)
        self.parts.append(self.classes)
        self.result_tree = self.classes.tree
        self.renderer = Renderer(
            target.macros,
            target.namespace,
            target.scalars,
            layout=Layout(options.line_length, sizes_are_free=bool(program.original.free_sizes)),
        )
        self.renderer.elements_are_numbers = target.features.elements_are_numbers
        self.of_blocks = self.renderer  # renders block functions, and the constants that they share with main: NumPy
        if target.arrange is not None:
            numpy = load_target("numpy")
            self.of_blocks = Renderer(numpy.macros, numpy.namespace, beside=self.renderer)
        self.source_names = SourceNames(program.module)
        if target.arrange is None:
            in_authors_order(program, self.source_names)
        if target.arrange is None and target.features.rows_unpack and kernels_in(options.style, target) is None:
            are_numbers = target.features.elements_are_numbers
            unpack_as_author(program, self.source_names, elements_are_numbers=are_numbers)
        self.stored_roots: dict[str, str] = {}  # the names of trees in a file, by their roots
        self.reserved = self._reserved()
        inline = options.constants == "inline"
        stored = {name for name, _ in program.original.stored}
        self.constants = ModuleConstants(
            self.of_blocks,
            inline=inline,
            largest_folded=target.largest_folded,
            as_tensors=options.constants == TENSORS or bool(stored),
            are_shared=options.helpers == SHARED,
            names={digest: name for digest, name in program.original.constant_names.items() if name not in stored},
            tables=self.source_names.tables,
            reserved=self.module_names.taken.union(self.library.definitions),
        )
        self.writers: list[FunctionWriter] = []
        self.chunks = ""
        self.decorators: list[str] = []  # of the entry point

    def written(self) -> Written:
        source_names = self.source_names
        written_kernels = kernels_in(self.options.style, self.target)
        declarations = Declarations if written_kernels is None else written_kernels.declarations
        kernels: Declarations = declarations(
            self.target, self.of_blocks, self.library, self.options.annotate, source_names
        )
        functions = self._functions(kernels, source_names)
        self.module_names.taken |= self.constants.names
        self._silence()
        if self.explain is not None:
            self.explain(EXPLAINED, explained_names(self.writers))
        pieces, declared = self._pieces(kernels), kernels.kernels
        return Written(pieces, self.constants.sidecar, functions, declared, kernels.shapes, self.result_tree)

    # -- names

    def _reserved(self) -> set[str]:
        """Return the names that no value may have; functions, the user's own among them, are named here."""
        program, renderer, calls = self.program, self.renderer, prelude_calls(self.program)
        reserved = prelude_names(program, calls, self.library, [self.entry.check, self.entry.cast])
        reserved |= {*HOST_FUNCTIONS, "chunks", *typing_names(renderer)}
        reserved |= {name.partition(".")[0] for name, _ in imported_names(self.target)}
        reserved |= set(renderer.statement("own_names").split())
        reserved |= {found.name for found in callbacks(program.module)}
        for part in self.parts:
            renderer.used_prelude.update(dict.fromkeys(part.prelude_names))
            reserved |= part.names | brought_in(list(part.prelude_names), self.library)
        if self.replicas is not None:
            renderer.shared_channels.update(self.replicas.channels)
            renderer.resumable.update(self.replicas.resumable)
            renderer.named_devices.update(self.devices.by_name)
        self.module_names = Names(reserved)
        renderer.foreign_names.update((name, self.module_names.kept(name.name)) for name in foreign_names(calls))
        reserved |= set(renderer.foreign_names.values())
        for function in program.functions[:-1]:
            wanted = function_name(function, program, self.source_names.contexts)
            renderer.function_names[function] = self.module_names.fresh(wanted)
        renderer.function_names[program.entry] = self.entry.name
        renderer.of_any_shape |= of_any_shape(program)
        if self.target.arrange is None:
            with_tree = self.entry.result_tree is not None
            roots = dict.fromkeys(name.partition(".")[0] for name, _ in program.original.stored)
            self.stored_roots.update((root, self.module_names.fresh(root)) for root in roots)
            found = named_results(program, renderer, self.module_names, with_tree=with_tree)
            renderer.named_results.update(found)
            makers = {function: renderer.function_names[function] for function in renderer.named_results}
            nested = {
                function: [each for _, each, _ in named.nested] for function, named in renderer.named_results.items()
            }
            order = in_written_order(program)
            groups = argument_groups(program, self.entry.paths, makers, nested, order, self.stored_roots)
            renderer.argument_groups.update(groups)
        classes = {named.class_name for named in renderer.named_results.values()}
        own = set(renderer.function_names.values()) | classes | set(self.stored_roots.values())
        return (reserved | own) - DECORATORS

    # -- functions

    def _functions(self, kernels: Declarations, source_names: SourceNames) -> list[WrittenFunction]:
        """Write all functions, and the kernels that they call."""
        options = self.options
        written: list[WrittenFunction] = []
        for function in in_written_order(self.program):
            is_entry = function is self.program.entry
            writer = FunctionWriter(
                function,
                self.renderer if is_entry else self.of_blocks,
                Names(self.reserved | self.constants.names),
                options.annotate,
                self.constants,
                source_names,
                self.writers,
                with_chains="chains" not in options.disable_passes,
            )
            writer.wanted.is_explained = self.explain is not None
            if is_entry and self.result_tree is not None:
                writer.results = placed(self.result_tree, function.results)
            if function in self.renderer.named_results:
                writer.results = self.renderer.named_results[function].built(function.results)
            named = writer.arguments.name(self.entry.paths, self.stored_roots) if is_entry else writer.arguments.name()
            kernels.name_kernels(writer, self.module_names)
            writer.loop_compiler = kernels.loop_compiler
            if is_entry:
                self._begin_entry(writer, named)
            namespaces, begin = writer.arguments.namespaces(), len(writer.lines)
            writer.write()
            writer.name_namespaces(namespaces, begin)
            reuse_names(writer)
            kernels.add(writer, self.constants)
            self.constants.hidden_by |= writer.names.taken
            self.writers.append(writer)
            written.append(writer.written_function(named))
        if options.annotate == "full":
            annotate(written, self.renderer.layout)
        if options.annotate != "none":
            for each in written:
                add_sections(each.lines, each.function.graph)
        # Large arrays are not released if sizes are free: the text would depend on the sizes.
        is_fixed = not self.program.original.free_sizes
        if "releases" not in options.disable_passes and is_fixed and self.target.arrange is None:
            release(reversed(self.writers))
        return written

    def _begin_entry(self, writer: FunctionWriter, named: list[str]) -> None:
        """Write the beginning of the entry point: checks, leaves of trees, chunks of arguments."""
        self.parameters[:] = named[: self.entry.arguments]
        lines = self._checks(self.parameters)
        for text in lines:
            writer.line(text)
        self.renderer.used_prelude.update((name, None) for name in (self.entry.cast, self.entry.check) if name)
        if self.target.arrange is not None:
            writer.arguments.unpack_trees()
        else:
            writer.arguments.name_often_read()
        self.chunks = writer.arguments.prepare()
        if self.chunks:
            self.renderer.used_prelude["in_chunks"] = None

    def _checks(self, named: list[str]) -> list[str]:
        """Return the lines that cast the arguments to the program's types, and the lines that check them."""
        entry, renderer = self.entry, self.renderer
        alike = arrays_by_type(self.program, named)
        lines: list[str] = []
        if entry.cast == "cast_trees":
            lines.append(renderer.statement("cast_trees", list(signature(self.program, named, entry.argument_paths))))
        elif entry.cast:
            for dtype in dict.fromkeys(dtype for dtype, _ in alike if "float" in dtype):
                names = [name for (own, _), group in alike.items() if own == dtype for name in group]
                lines.append(renderer.statement("cast_floats", names, dtype))
        if entry.check == CHECK_ARRAYS:
            lines += (line for each, names in alike.items() for line in array_checks(renderer, names, *each))
        elif entry.check:
            lines.append(renderer.statement("check_signature", entry.check))
        return lines

    def _silence(self) -> None:
        """Silence NumPy's warnings in the functions that are called from outside, if any are possible.

        That is the entry point for everything that it calls, or block functions, which run in other threads.
        """
        statement = self.renderer.statement("quiet")
        are_free = bool(self.program.original.free_sizes)
        writers = self.writers if statement else ()
        loud = [writer for writer in writers if may_warn(writer.plan.nodes, sizes_are_free=are_free)]
        if self.target.arrange is None:
            self.decorators = [statement] if loud else []
        for writer in loud if self.target.arrange is not None else ():
            if writer.renderer is not self.renderer:
                writer.put_inside(statement)

    # -- the whole text

    def _pieces(self, kernels: Declarations) -> list[str]:
        """Return the top of the page, kernels, functions, and definitions of the prelude and of the parts."""
        renderer, program, entry = self.renderer, self.program, self.entry
        last = self._names_of_tasks()
        for unused in self.classes.keep(line for writer in self.writers for line in writer.lines):
            del renderer.used_prelude[unused]
        stored = self._stored_trees()
        missing = sorted(set(renderer.used_prelude) - set(self.library.definitions))
        assert not missing, f"the prelude has no {missing}"
        self._cut_prelude([*kernels.texts, *self.constants.lines])
        definitions, helpers = divided(
            self.library.closure(list(renderer.used_prelude)), renderer.used_prelude, self.options
        )
        if self.decorators:
            definitions = [replace(each, source=unsilenced(each.source)) for each in definitions]
        shared = [definition.source for definition in definitions if definition.module == DEVICE]
        classes = [class_text(*item, renderer) for item in renderer.named_results.items()]
        functions = [*classes, *(self._function_text(writer) for writer in self.writers)]
        functions += (text for part in self.parts for text in part.functions(renderer))
        written = [*kernels.texts, *functions]
        types, written = without_lone_types(self._types(kernels.kinds), written)
        declared, functions = written[: len(kernels.texts)], written[len(kernels.texts) :]
        others = "\n".join([*types, *self.constants.lines, *stored])
        names = set[str]().union(*map(mentioned, [others, *written]))
        told = self._narrow_dtypes(names)
        behind = [text for part in self.parts for text in part.behind(renderer)]
        names |= mentioned("\n".join([*told, *behind])).keys()
        typing = typing_imports(renderer, names)
        used = {*renderer.used_prelude, *(use for definition in definitions for use in definition.uses)}
        from_file = import_lines(self.target, (each for each in helpers if each.name in used))
        needed = {*self.library.imports_of(definitions), *renderer.foreign_imports(), *kernels.imports(), *typing}
        named = [line for part in self.parts for line in part.constants(renderer)]
        imported = imports(self.target, needed, names, from_file)
        needs_numpy = NUMPY in imported and (NUMPY in self.target.imports or NUMPY in needed)
        public = [name for part in self.parts for name in part.public]
        top = renderer.environment.get_template("module.py.j2").render(
            docstring=docstring(
                program,
                self.parameters,
                entry.argument_paths,
                self.replicas,
                self.result_tree,
                self.classes.notes,
                renderer.layout,
                is_checked=bool(entry.check),
            ),
            header="\n".join(
                header(
                    self.target,
                    [line for line in imported if needs_numpy or line != NUMPY],
                    self.origin,
                    self.options,
                    program.edges,
                )
            ),
            imports=imported,
            needs_numpy=needs_numpy,
            types=types,
            public=[entry.name, *public] if public else [],  # no ``__all__`` if main is the only public name
            groups=filter(
                None,
                [
                    self._keep_memory(),
                    self.constants.lines,
                    told,
                    named,
                    *([line] for line in (self._signature() if entry.has_signature else ())),
                    [self.chunks] if self.chunks else [],
                ],
            ),
        )
        copied = [definition.source for definition in definitions if definition.module != DEVICE]
        if self.is_cut:
            copied = list(map(with_short_docstrings, copied))
        return [top, *shared, *kernels.shared(), *declared, *functions, *copied, *behind, *stored, *last]

    def _signature(self) -> list[str]:
        """Return the constants that the check of arguments reads: the signature, after its repeated parts."""
        paths, statement = self.entry.argument_paths, self.renderer.statement
        tree = signature(self.program, self.parameters, paths)
        leaf = partial(statement, "type_as_pair" if self.entry.check == CHECK_TREES else "type_as_text")
        lines = signature_constants(tree, self.module_names.fresh, leaf, are_shared=not self.renderer.sizes_are_free)
        return [statement("signature", *line) for line in lines]

    def _stored_trees(self) -> list[str]:
        """Return the statement of the trees in a file, with the hashes of their arrays that are read and stored."""
        statement, fits = self.renderer.statement, self.renderer.layout.fits
        nodes = self.program.entry.parameters[self.entry.arguments :]
        pairs = zip(nodes, self.program.original.stored, strict=True)
        arrays = {name: array for node, (name, array) in pairs if self.writers[0].plan.uses.get(node)}
        if not arrays:
            return []
        self.constants.sidecar |= arrays
        self.renderer.used_prelude["StoredTree"] = None
        types = {name: self.renderer.dtype(from_dtype(array.dtype)) for name, array in arrays.items()}
        rows = [
            (name, array_sha256(array)[:DIGEST_DIGITS], types[name], str(array.shape)) for name, array in arrays.items()
        ]
        roots = {name.partition(".")[0] for name in arrays}
        trees = [(name, root) for root, name in self.stored_roots.items() if root in roots]
        are_long = not all(fits("".join(row), _AROUND_ROW) for row in rows)
        return [statement("stored_trees", self.module_names.fresh("WEIGHTS"), rows, trees, are_long)]

    def _keep_memory(self) -> list[str]:
        """Return the statement that lets the memory of large arrays be reused, in a style for speed."""
        nodes = (node for writer in self.writers for node in writer.plan.nodes if node.opcode != "parameter")
        is_fast = kernels_in(self.options.style, self.target) is not None and not self.renderer.sizes_are_free
        if not is_fast or not any(node.nbytes in _FREED for node in nodes):
            return []
        statement = self.renderer.statement("keep_memory").strip()
        return [statement] if statement else []

    def _narrow_dtypes(self, names: Set[str]) -> list[str]:
        """Return the statement that makes dtypes of at most a byte, if used, known to the library."""
        dtypes = sorted(names & {self.renderer.dtype(each) for each in NARROW})
        statement = self.renderer.statement("narrow_dtypes", dtypes).strip() if dtypes else ""
        return [statement] if statement else []

    def _names_of_tasks(self) -> list[str]:
        """Return the statement that makes function names unique, for a library that identifies functions by name."""
        is_needed = self.chunks or any(writer.renderer is not self.renderer for writer in self.writers)
        statement = self.renderer.statement(NAME_BY_TEXT).strip() if is_needed else ""
        if statement:
            self.renderer.used_prelude[NAME_BY_TEXT] = None
        return [statement] if statement else []

    def _cut_prelude(self, others: list[str]) -> None:
        """Specialize the prelude to the module's calls; not for blocks, which may be smaller than their nodes."""
        if not self.is_cut or self.target.arrange is not None:
            return
        lines = [line for writer in self.writers for line in writer.lines]
        others = others + [text for part in self.parts for text in part.functions(self.renderer)]
        known = self.program.original.fixed_sizes if self.renderer.sizes_are_free else range(2**63)
        are_bounds = self.entry.check == "check_bounded_arguments"
        calls = calls_of(self.renderer.prelude_calls, lines, others, () if are_bounds else known)
        result = cut(self.library.definitions, list(self.renderer.used_prelude), calls, self.target.namespace)
        lost = {name: result.lost[name] for name in calls if name in result.lost}
        for line in lines if lost else ():
            cut_calls(line, lost)
        self.library = self.library.with_definitions(result.definitions)

    def _function_text(self, writer: FunctionWriter) -> str:
        """Return the definition of a written function: decorators, signature and lines."""
        renderer, function, typed = writer.renderer, writer.function, writer.arguments.heads
        is_entry = function is self.program.entry
        result = renderer.named_results.get(function) or result_type(writer.results)
        if renderer is not self.renderer:  # its arrays are blocks
            typed, result = [(name, in_blocks(kind)) for name, kind in typed], in_blocks(result)
        group = [(GROUP, GROUP_TYPE)] if self.replicas is not None and is_entry else []
        define = renderer.statement(
            "define",
            renderer.function_names[function],
            [*group, *typed],
            host_functions(writer.plan.nodes),
            callback_names(writer.plan.nodes),
            result,
            function.chunks,
        )
        template = renderer.environment.get_template("function.py.j2")
        decorators = self.decorators if is_entry else ()
        return template.render(note=function.note, decorators=decorators, signature=define, lines=writer.lines).rstrip()

    def _types(self, of_kernels: Set[str]) -> list[str]:
        """Return the type definitions that signatures use, including those of kernels."""
        kinds = sorted({*kinds_of_types(self.program, self.of_blocks is not self.renderer), *of_kernels})
        groups = (group for own in self.renderer.argument_groups.values() for group in own)
        has_trees = self.entry.takes_trees or any(group.maker is None for group in groups)
        has_trees |= any(has_tree(result_type(writer.results)) for writer in self.writers)
        return [self.renderer.statement(f"{kind}_type") for kind in (*kinds, *([TREE] if has_trees else []))]


def in_written_order(program: Program) -> list[Function]:
    """Return the functions, callers first; block functions, which call no others, in the order of use in ``main``."""
    others = program.functions[:-1]
    blocks = [function for function in others if function.block_of]
    return [program.entry, *blocks, *(function for function in reversed(others) if not function.block_of)]
