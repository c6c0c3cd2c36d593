"""``xla2py inspect FILE``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from ..array.result_trees import leaves_of
from ..errors import Diagnostic
from ..options import SETTINGS
from ..target import require_targets
from .arrays import leaf_name
from .modules import read_at_one_size
from .options import Command, function_option, one_size_option
from .terminal import write_table

if TYPE_CHECKING:
    from ..hlo.ir import HloModule, Instruction
    from ..hlo.shapes import Shape
    from ..inspection import Inspection
    from ..target import Costs, Target
LARGEST_COUNTED = 2**30  # bytes of peak memory up to which a program is run to count its costs
LINES_LISTED = 10
# Orders of magnitude for a large GPU and its host.
SECONDS_OF_A_CALL = 8e-6
BYTES_OF_A_SECOND = 2e12
OPERATIONS_OF_A_SECOND = 3e13
if TYPE_CHECKING:
    from ..array.node import Node
    from ..compilation import Compilation
    from ..target import Phase, Plan
RESULT = "result"
UNITS = ("", "k", "M", "G", "T", "P", "E")


@click.command(cls=Command)
@click.argument("file")
@function_option
@one_size_option
@click.option("-t", "--target", metavar="NAME", help="Also show how the program runs on this target.")
@click.option("-s", "--style", metavar="NAME", default="", help="With fast: name the loops that stay Python, and why.")
@click.option("--memory", metavar="SIZE", default="", help="The memory that it may use there, such as 2GiB.")
@click.option("--chunks", metavar="SIZE", default="", help="The size of a chunk, as for emit.")
@click.option(
    "--threads", metavar="N", default="", help="The number of threads that memory is planned for, as for emit."
)
def command(
    file: str,
    function: str | None,
    sizes: tuple[str, ...],
    target: str | None,
    style: str,
    memory: str,
    chunks: str,
    threads: str,
) -> None:
    """Show the arguments, results, operations and cost of a program, and what each target does not support.

    A multiply-add counts as two operations, as in XLA. Memory is estimated for running one operation after the other,
    as emitted NumPy code does. For a target that works in chunks, the plan is shown. For a GPU target, the work of each
    style is counted by running the program on the CPU. With --style fast, the loops that are not compiled are named,
    and the operations that prevent it.
    """
    from ..inspection import inspect

    module = read_at_one_size(file, function, sizes)
    facts = inspect(module)
    total = sum(facts.opcodes.values())
    click.echo(f"{module.name}: {total} instructions in {len(module.computations)} computations\n")
    _show_signature(module, facts)
    _show_costs(facts)
    write_table(("operation", "count"), [(opcode, str(count)) for opcode, count in facts.opcodes.items()])
    _show_collectives(module)
    rows = unsupported(module)
    if rows:
        click.echo()
        write_table(("unsupported on", "count", "lines", "because"), rows)
    if target is not None:
        _show_plan(module, facts, target, memory, chunks, threads)
    if style:
        _show_loops(module, target or "numpy", style)


def _show_loops(module: HloModule, name: str, style: str) -> None:
    """Show the loops that a style does not compile, each with the reason."""
    from ..compilation import compile
    from ..compilation.loops import python_loops
    from ..emission import require_style
    from ..options import Options
    from ..target import load_target

    target = load_target(name)
    require_style(style, target)
    compilation = compile(module, target, Options(style=style))
    if compilation.diagnostics:
        return
    rows = []
    for each in python_loops(compilation, style):
        lines = [_line(module, origin) if origin is not None else "" for origin in (each.loop, each.instruction)]
        rows.append((lines[0], each.reason, lines[1]))
    click.echo()
    if rows:
        write_table(("loop in line", "stays Python because of", "line"), rows)
    else:
        click.echo(f"every loop is compiled in the style {style}")


def _show_plan(module: HloModule, facts: Inspection, name: str, memory: str, chunks: str, threads: str) -> None:
    """Show the chunks of the arguments, the phases in order, and their cost; for a GPU, the cost of a call."""
    from ..compilation import compile
    from ..emission import require_threads
    from ..options import READABLE, Options
    from ..target import load_target

    (name,) = require_targets([name])
    require_threads(threads, READABLE, load_target(name))
    compilation = compile(module, load_target(name), Options(memory=memory, chunks=chunks, threads=threads))
    plan = compilation.plan
    if compilation.diagnostics:
        click.echo(f"\n{compilation.target.title} cannot express the program")
        return
    if plan is None:
        click.echo(f"\n{compilation.target.title} runs the program in one piece")
        if compilation.target.twin is not None:
            _show_device_costs(module, facts, compilation.target)
        return
    click.echo()
    show_chunk_plan(compilation, plan, {parameter.name: name for name, parameter in _arguments(module)})


def _show_device_costs(module: HloModule, facts: Inspection, target: Target) -> None:
    """Show the cost of a call of ``main`` on the device, in each style."""
    from ..equivalence.verdicts.costs import device_costs

    if facts.peak_memory > LARGEST_COUNTED:
        click.echo(f"its costs are counted of programs that take up to {size_text(LARGEST_COUNTED)}")
        return
    click.echo()
    headings = ("style", "launches", "bytes moved", "of the least", "calls", "allocations", "products")
    rows = []
    styles = SETTINGS["style"].choices if target.kernels is not None else ("readable",)
    costs_by_style = {style: device_costs(module, target, style) for style in styles}
    for style, costs in costs_by_style.items():
        ratio = f"{costs.bytes_moved / costs.least_bytes:.2f}" if costs.least_bytes else ""
        products = ", ".join(f"{count} {dtype}" for dtype, count in costs.products)
        counts = str(costs.launches), size_text(costs.bytes_moved), ratio, str(costs.host_calls), str(costs.allocations)
        rows.append((style, *counts, products))
    write_table(headings, rows)
    if target.graphs is not None and "fast" in costs_by_style:
        _advise_graph(facts, costs_by_style["fast"])


def _advise_graph(facts: Inspection, costs: Costs) -> None:
    """Advise a graph if the host's calls take far longer than the device's work and copies of arguments and results."""
    from ..hlo.shapes import leaves

    host = costs.host_calls * SECONDS_OF_A_CALL
    device = max(costs.bytes_moved / BYTES_OF_A_SECOND, facts.flops / OPERATIONS_OF_A_SECOND)
    copies = sum(len(list(leaves(shape))) for shape in (*dict(facts.parameters).values(), facts.result))
    if costs.launches > copies and host > 2 * (device + copies * SECONDS_OF_A_CALL):
        click.echo("\nthe host's calls take longer than the device's work: --graph launches all kernels at once")


def _arguments(module: HloModule) -> Iterator[tuple[str, Instruction]]:
    """Return pairs of the emitted ``main``'s argument name and the parameter."""
    from ..emission.naming.arguments import argument_names
    from ..emission.naming.identifiers import Names

    names = Names(set())
    parameters = module.entry.parameters
    return zip(map(names.fresh, argument_names(parameters)), parameters, strict=True)


def _show_signature(module: HloModule, facts: Inspection) -> None:
    rows = [row for name, each in _arguments(module) for row in _leaf_rows(name, each.shape)]
    write_table(("value", "shape", "size"), [*rows, *_leaf_rows("result", facts.result)])


def _leaf_rows(name: str, shape: Shape) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each array or token of a value; layouts are shown only if they are not the default."""
    from ..hlo.shapes import ArrayShape, leaves
    from ..inspection import byte_size
    from .arrays import leaf_name

    for path, leaf in leaves(shape):
        plain = leaf.without_layout() if isinstance(leaf, ArrayShape) and leaf.layout_or_default.is_default else leaf
        yield leaf_name(name, path), str(plain), size_text(byte_size(leaf))


def _show_costs(facts: Inspection) -> None:
    loops = f", with {facts.uncounted_loops} loops of unknown length counted once" if facts.uncounted_loops else ""
    click.echo(f"\narithmetic   {count_text(facts.flops)} operations{loops}")
    click.echo(f"data moved   {size_text(facts.bytes_moved)}")
    click.echo(f"constants    {size_text(facts.constant_bytes)}")
    click.echo(f"peak memory  about {size_text(facts.peak_memory)}\n")


def _show_collectives(module: HloModule) -> None:
    from ..inspection import collectives

    rows = []
    for each in collectives(module):
        counts = str(each.devices), size_text(each.sent), str(each.rounds)
        rows.append((each.instruction.opcode, *counts, _line(module, each.instruction)))
    if rows:
        click.echo()
        write_table(("collective", "devices", "each sends", "rounds", "line"), rows)


def _line(module: HloModule, instruction: Instruction) -> str:
    """Return the number of an instruction's line in the module's text, or an empty string."""
    if module.source is None or not module.source.is_text or instruction.span is None:
        return ""
    source, span = module.source.place(instruction.span)
    return str(source.position(span.start).line)


def unsupported(module: HloModule) -> list[tuple[str, str, str, str]]:
    """Return what targets do not support in the module: target, number of instructions, their lines, the message."""
    from ..compilation import compile
    from ..target import load_target, target_names

    rows = []
    for target in target_names():
        groups: dict[str, list[Diagnostic]] = {}
        for diagnostic in compile(module, load_target(target)).diagnostics:
            groups.setdefault(diagnostic.message, []).append(diagnostic)
        rows += [(target, str(len(found)), _lines(module, found), message) for message, found in groups.items()]
    return rows


def _lines(module: HloModule, diagnostics: list[Diagnostic]) -> str:
    """Return the numbers of the lines that diagnostics are about: ``4, 9, ..``."""
    source = module.source
    if source is None or not source.is_text:
        return ""
    places = (source.place(diagnostic.span) for diagnostic in diagnostics if diagnostic.span)
    lines = sorted({text.position(span.start).line for text, span in places})
    return ", ".join(map(str, lines[:LINES_LISTED])) + (", .." if len(lines) > LINES_LISTED else "")


# -- how a program runs in chunks


def show_chunk_plan(compilation: Compilation, plan: Plan, arguments: Mapping[str, str]) -> None:
    """Show the chunks of the arguments, the phases in order, and the number of passes and peak memory.

    ``arguments`` has the emitted ``main``'s names of the program's parameters.
    """

    def told(name: str) -> str:
        """Return the emitted main's name of an argument, or of an array of a tuple: ``state.0``."""
        found = (arguments[each] + name.removeprefix(each) for each in _beginnings(name) if each in arguments)
        return next(found, name)

    names = _names(compilation)
    cut = [(told(argument), str(sizes).replace("-1", "all")) for argument, sizes in plan.chunks]
    write_table(("argument", "chunks"), cut or [("all", "in one piece")])
    click.echo()
    rows = [
        (
            str(phase.level),
            ", ".join(_unique(names.get(node, phase.name) for node in phase.arrays)),
            str(phase.tasks),
            size_text(phase.task_bytes),
            size_text(phase.file_task_bytes),
            ", ".join(_unique(told(text) if x is None else names.get(x, text) for x, text in _sources(phase))),
            phase.note,
        )
        for phase in plan.phases
    ]
    write_table(("phase", "computes", "tasks", "one holds", "of files", "from", ""), rows)
    click.echo(f"\npasses over the arguments  {plan.passes}")
    loaded, mapped = size_text(plan.peak_bytes), size_text(plan.file_peak_bytes)
    click.echo(f"peak memory in chunks      files: about {mapped}, arrays that must be loaded: about {loaded};")
    click.echo(f"                           in {plan.threads} threads, the result not counted")


def _sources(phase: Phase) -> Iterator[tuple[Node | None, str]]:
    return zip(phase.sources, phase.reads, strict=True)


def _unique(names: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _names(compilation: Compilation) -> dict[Node, str]:
    """Return the emitted ``main``'s names of its values, and the paths of its results.

    A value that is unpacked has the names of its parts.
    """
    from ..emission.module.module_writer import write_module
    from ..options import Options

    program = compilation.program
    functions = write_module(program, compilation.target, Options()).functions
    (main,) = [written for written in functions if written.function is program.entry]
    names = {node: name for line in main.lines for node, name in line.after.items()}
    for path, node in leaves_of(program.entry.results):
        names.setdefault(node, leaf_name(RESULT, path))
    parts: dict[Node, list[str]] = {}
    for node, name in names.items():
        if node.opcode == "item" and node.operands[0] not in names:
            parts.setdefault(node.operands[0], []).append(name)
    return names | {node: ", ".join(own) for node, own in parts.items()}


def _beginnings(name: str) -> list[str]:
    """Return a name, followed by the name without one, two, .. of the numbers at its end."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


# -- human-readable counts and sizes


def count_text(count: int) -> str:
    """Return a count with three digits and a prefix: ``1.23 G``."""
    return _scaled(count, 1000, "")


def size_text(size: int) -> str:
    """Return a size in bytes with three digits and a binary prefix: ``1.50 KiB``."""
    return _scaled(size, 1024, "iB") if size >= 1024 else f"{size} B"


def _scaled(number: int, base: int, unit: str) -> str:
    scaled, steps = float(number), 0
    while scaled >= base and steps < len(UNITS) - 1:
        scaled, steps = scaled / base, steps + 1
    if not steps:
        return str(number)
    prefix = UNITS[steps].upper() if unit else UNITS[steps]
    return f"{scaled:.3g} {prefix}{unit}"
