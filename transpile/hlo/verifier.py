"""The verifier of HLO modules: structure, attributes, and every declared shape against its rule.

All problems of a module are reported in one ``HloVerificationError``, each at its instruction. Layouts and which sizes
are dynamic are not compared, as in XLA's verifier before layout assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from .header import EntryComputationLayout
from .ir import Computation, HloModule, Instruction
from .layouts import check_layout
from .opcodes import COMMON_ATTRIBUTES, OPCODES
from .replica_groups import MAX_DEVICES
from .shape_inference import SHAPE_RULES, require_declared, require_operand_count
from .shape_rules.common import Operation, array_parts, refuse, shape_text
from .shapes import TOKEN, UNBOUNDED, TupleShape, compatible
from .source import Diagnostic, HloVerificationError, SourceText, Span, UnsupportedError

Form = tuple[str | int, ...]  # opcode, attributes, and shapes of the result and the operands, by id
_ASYNC = ("async-start", "async-update")
FIRST_HALVES: dict[str, tuple[str, ...]] = {
    "async-update": _ASYNC,
    "async-done": _ASYNC,
    "all-reduce-done": ("all-reduce-start",),
    "all-gather-done": ("all-gather-start",),
    "collective-permute-done": ("collective-permute-start",),
    "copy-done": ("copy-start",),
    "send-done": ("send",),
    "recv-done": ("recv",),
}
_CARRIED = frozenset({"async-update", "async-done", "send-done", "recv-done"})  # a loop may carry their first half
_TRANSFERS = frozenset({"send", "recv"})
# Opcodes that may forward a transfer's state to its -done.
_HANDS_ON = frozenset({"tuple", "while", "opt-barrier"})
Loops = Mapping[int, Instruction]  # the while of each parameter of a body or condition, by id


def verify(module: HloModule, source: SourceText | None = None) -> None:
    """Check a whole module.

    Raises one ``HloVerificationError`` with a diagnostic (XP2xx) for every invalid instruction, computation or header
    entry; their spans are in the text ``source``. Source: XLA's ``hlo_verifier.cc``.
    """
    complaints: list[Diagnostic] = []
    for span, check in _checks(module):
        try:
            check()
        except HloVerificationError as error:
            complaints += (replace(d, span=d.span or span, source=d.source or source) for d in error.diagnostics)
    if complaints:
        raise HloVerificationError(*complaints)


def _checks(module: HloModule) -> Iterator[tuple[Span | None, Callable[[], None]]]:
    """Yield every check with its span, in the order of the text."""
    known, loops = {id(computation) for computation in module.computations}, loops_of(module)
    sound: set[Form] = set()  # forms already checked: many instructions have the same one
    for computation in module.computations:
        yield computation.span, partial(_check_parameter_numbers, computation)
        defined: set[int] = set()
        for instruction in computation.instructions:
            yield instruction.span, partial(_check_structure, instruction, defined, known)
            yield instruction.span, partial(_check_instruction, instruction, module, loops, sound)
            defined.add(id(instruction))
        yield computation.span, partial(_check_root, computation, defined)
    yield module.entry.span, partial(_check_entry, module, known)
    yield None, partial(_check_devices, module)


def _check_parameter_numbers(computation: Computation) -> None:
    numbers = sorted(
        i.attributes["parameter_number"]
        for i in computation.instructions
        if i.opcode == "parameter" and "parameter_number" in i.attributes
    )
    for expected, number in enumerate(numbers):
        if number != expected:
            problem = f"has parameter {number} twice" if number < expected else f"has no parameter {expected}"
            refuse("XP205", f"computation {computation.name} {problem}", "parameters are numbered 0, 1, 2, ..")


def _check_root(computation: Computation, defined: set[int]) -> None:
    if id(computation.root) not in defined:
        refuse("XP207", f"the root {computation.root.name} is not an instruction of computation {computation.name}")


def _check_structure(instruction: Instruction, defined: set[int], known: set[int]) -> None:
    for operand in instruction.operands:
        if id(operand) not in defined:
            refuse("XP207", f"{instruction.name}: its operand {operand.name} is not defined before it")
    for computation in instruction.called:
        if id(computation) not in known:
            refuse("XP207", f"{instruction.name}: the computation {computation.name} is not part of the module")


def _check_instruction(instruction: Instruction, module: HloModule, loops: Loops, sound: set[Form]) -> None:
    """Check an instruction by itself: operands, attributes and shapes only once per form."""
    opcode, form = instruction.opcode, _form(instruction)
    is_sound = form in sound
    if not is_sound:
        if opcode not in OPCODES:
            refuse("XP200", f"there is no opcode {opcode!r}")
        require_operand_count(opcode, len(instruction.operands))
        _check_attributes(instruction)
        _check_shape(instruction)
    check_second_half(instruction, loops)
    check_use(instruction, loops)
    if is_sound:
        return
    operation = Operation(
        opcode,
        tuple(operand.shape for operand in instruction.operands),
        instruction.attributes,
        instruction.shape,
        module.replica_count,
        module.num_partitions,
    )
    expected = SHAPE_RULES[opcode](operation)
    if expected is not None:
        require_declared(opcode, expected, instruction.shape)
    sound.add(form)


def _form(instruction: Instruction) -> Form:
    """Return everything that the checks of one instruction read. Equal texts are one object of the module, so ids
    suffice.
    """
    attributes = [part for key, value in instruction.attributes.items() for part in (key, id(value))]
    shapes = [id(operand.shape) for operand in instruction.operands]
    return instruction.opcode, *attributes, id(instruction.shape), *shapes


def _check_attributes(instruction: Instruction) -> None:
    """Check that required attributes are present, that no attribute is unknown, and that words are valid choices."""
    opcode, specs = instruction.opcode, OPCODES[instruction.opcode].attributes
    for name, spec in specs.items():
        if spec.is_required and instruction.attributes.get(name) is None and not _may_be_none(instruction, name):
            refuse("XP202", f"{opcode} needs the attribute {name}")
    for name, value in instruction.attributes.items():
        known = specs.get(name) or COMMON_ATTRIBUTES.get(name)
        if known is None:
            refuse("XP202", f"{opcode} has no attribute {name}", f"it has: {', '.join(specs) or 'none of its own'}")
        if known.choices and value is not None and value not in known.choices:
            refuse("XP203", f"{opcode}: {name} is one of {', '.join(known.choices)}, not {value}")


def _may_be_none(instruction: Instruction, name: str) -> bool:
    """Return whether an attribute is the literal of a token constant, which is ``None``."""
    return name == "literal" and name in instruction.attributes


def _check_shape(instruction: Instruction) -> None:
    """Check the declared shape by itself: bounded sizes, layouts that fit."""
    for shape in array_parts(instruction.shape):
        if UNBOUNDED in shape.dimensions:
            refuse("XP208", f"{instruction.name}: {shape_text(shape)} has an unbounded size", "give a bound: <=N")
        if shape.layout is not None:
            try:
                check_layout(shape)
            except UnsupportedError:
                continue  # a layout without linear indices is still valid


def _check_devices(module: HloModule) -> None:
    """Check that the number of devices is within the limits of device lists."""
    for name, count in (("replica_count", module.replica_count), ("num_partitions", module.num_partitions)):
        if count < 1:
            refuse("XP218", f"{name}={count}: a module is for at least one device")
    if module.replica_count * module.num_partitions > MAX_DEVICES:
        counts = f"replica_count={module.replica_count}, num_partitions={module.num_partitions}"
        refuse("XP218", f"{counts}: a module is for at most {MAX_DEVICES} devices")


def _check_entry(module: HloModule, known: set[int]) -> None:
    """Check that the entry is in the module and has the signature in the header."""
    entry, layout = module.entry, module.header.get("entry_computation_layout")
    if id(entry) not in known:
        refuse("XP207", f"the entry computation {entry.name} is not part of the module")
    if not isinstance(layout, EntryComputationLayout):
        return
    parameters = [i for i in entry.instructions if i.opcode == "parameter"]
    parameters.sort(key=lambda i: int(i.attributes.get("parameter_number") or 0))
    if len(parameters) != len(layout.parameters):
        refuse(
            "XP206",
            f"entry_computation_layout has {len(layout.parameters)} parameters, but {entry.name} has {len(parameters)}",
        )
    for instruction, shape in zip((*parameters, entry.root), (*layout.parameters, layout.result), strict=True):
        if not compatible(instruction.shape, shape):
            refuse(
                "XP206",
                f"entry_computation_layout says {shape_text(shape)}, "
                f"but {instruction.name} is {shape_text(instruction.shape)}",
            )


# -- start and done of asynchronous operations


def loops_of(module: HloModule) -> Loops:
    """Return the ``while`` of each parameter of a body or condition, by the parameter's id."""
    return {
        id(parameter): instruction
        for instruction in module.instructions()
        if instruction.opcode == "while"
        for called in instruction.called
        for parameter in called.instructions
        if parameter.opcode == "parameter"
    }


def check_second_half(instruction: Instruction, loops: Loops) -> None:
    """Raise HloVerificationError (XP222) for a -done (or -update) that does not follow its -start, or has another
    channel or computation.
    """
    wanted = FIRST_HALVES.get(instruction.opcode)
    if wanted is None:
        return
    first = instruction.operands[0]
    if first.opcode == "get-tuple-element" and instruction.opcode in _CARRIED:
        carried = _origin(first, loops)
        if carried is None:
            return
        first = carried
    if first.opcode not in wanted:
        refuse("XP222", f"{instruction.opcode} has to follow {' or '.join(wanted)}, not {first.opcode}")
    if first.opcode in _TRANSFERS:
        for attribute in ("channel_id", "is_host_transfer"):
            before, after = first[attribute], instruction[attribute]
            if before != after and after is not None:
                refuse("XP222", f"{instruction.opcode} has {attribute}={after}, but {first.name} has {before}")
    elif first.opcode in _ASYNC:
        wrapped, here = first["calls"], instruction["calls"]
        if here is not None and wrapped is not None and here is not wrapped and here.name != wrapped.name:
            refuse("XP222", f"{instruction.opcode} wraps {here.name}, but {first.name} wraps {wrapped.name}")


def check_use(instruction: Instruction, loops: Loops) -> None:
    """Raise HloVerificationError (XP222) for an instruction that reads the state of a transfer before its -done, also
    from a tuple.
    """
    if instruction.opcode in _HANDS_ON or instruction.opcode in FIRST_HALVES:
        return
    for operand in filter(_may_be_state, instruction.operands):
        started = _origin(operand, loops)
        if started is not None and started.opcode in _TRANSFERS:
            message = f"{instruction.name} reads {started.name}, whose {started.opcode}-done has the result"
            refuse("XP222", message, f"only {started.opcode}-done takes what {started.opcode} gives")


def _may_be_state(instruction: Instruction) -> bool:
    """Return whether the shape is that of a transfer's state: (data, context, token)."""
    shape = instruction.shape
    return isinstance(shape, TupleShape) and len(shape.elements) == 3 and shape.elements[2] == TOKEN


def _origin(element: Instruction, loops: Loops) -> Instruction | None:
    """Return the instruction that made an element of a tuple, also through loops that carry it; None if unknown."""
    path: list[int] = []
    found: Instruction | None = element
    while found is not None:
        if found.opcode == "get-tuple-element":
            path.append(found["index"])
            found = _operand(found, 0)
        elif found.opcode == "tuple" and path:
            found = _operand(found, path.pop())
        elif found.opcode in ("while", "opt-barrier"):
            found = _operand(found, 0)
        elif found.opcode == "parameter":
            found = loops.get(id(found))
        else:
            return None if path else found
    return None


def _operand(instruction: Instruction, index: int) -> Instruction | None:
    """Return an operand of an instruction that may be invalid; None if there is none."""
    return instruction.operands[index] if 0 <= index < len(instruction.operands) else None
