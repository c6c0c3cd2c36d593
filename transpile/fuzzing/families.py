"""Random HLO programs by seed: families of programs, and programs with given operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from random import Random

import numpy as np

from ..equivalence.inputs.domains import Form, parameter_domains
from ..equivalence.inputs.generate import make_inputs
from ..errors import Diagnostic, UsageError
from ..hlo.ir import Computation, HloModule, Instruction
from ..hlo.opcodes import OPCODES
from ..hlo.printer import print_module
from ..hlo.shape_inference import infer_shape
from ..hlo.shapes import ArrayShape, Shape, TupleShape
from .drawing import Recipe
from .lines import lines
from .loops import loop
from .parts import parts
from .program import Body, RandomProgram, Value
from .recipes import RECIPES
from .scalars import scalars
from .shape_chains import STEPS, add_call, shape_chain
from .triangles import triangles
from .unusual import UNUSUAL

ON_XLA = tuple(opcode for opcode in RECIPES if opcode not in UNUSUAL)


def structured(name: str, random: Random, opcodes: Sequence[str] = ON_XLA) -> RandomProgram:
    """Return a program of one to four independent instructions of given opcodes, each with its own parameters."""
    drawn = random.choices(opcodes, [RECIPES[opcode][1] for opcode in opcodes], k=random.randint(1, 4))
    recipes = [RECIPES[opcode][0](random, f"{name}_{number}") for number, opcode in enumerate(drawn)]
    instructions: list[Instruction] = []
    results: list[Instruction] = []
    rounded: list[int] = []
    distinct: list[int] = []  # numbers of parameters
    for recipe in recipes:
        check_against_table(recipe)
        if recipe.needs_distinct:
            distinct.append(_parameter_count(instructions))
        parts = _add(instructions, recipe)
        if recipe.is_rounded:
            rounded += range(len(results), len(results) + len(parts))
        results += parts
    root = Instruction("root", "tuple", TupleShape(tuple(part.shape for part in results)), tuple(results))
    entry = Computation(f"{name}_entry", (*instructions, root), root)
    helpers = {called.name: called for instruction in instructions for called in instruction.called}
    module = HloModule(name, (*helpers.values(), entry), entry)
    inputs = _inputs(module, random.getrandbits(32), distinct)
    text = print_module(module)
    helper_text, entry_text = text.split("\n", 1)[1].split("ENTRY ")
    shapes = tuple(str(parameter.shape) for parameter in entry.parameters)
    return RandomProgram(
        name,
        helper_text.lstrip(),
        entry_text,
        shapes,
        str(root.shape),
        inputs,
        frozenset(rounded),
        frozenset(distinct),
        all(recipe.runs_on_xla for recipe in recipes),
    )


def unusual(name: str, random: Random) -> RandomProgram:
    """Return a program of operations that XLA on the CPU lacks."""
    return structured(name, random, tuple(UNUSUAL))


def check_against_table(recipe: Recipe) -> None:
    """Assert that the opcode's row in the table has the recipe's attributes and allows its number of operands."""
    spec = OPCODES[recipe.opcode]
    fewest, most = spec.arity
    assert fewest <= len(recipe.operands) <= (most or len(recipe.operands))
    assert set(recipe.attributes) <= set(spec.attributes)
    assert {key for key, attribute in spec.attributes.items() if attribute.is_required} <= set(recipe.attributes)


def _add(instructions: list[Instruction], recipe: Recipe) -> list[Instruction]:
    """Append a recipe's instruction with its parameters; return its result, or each element of a tuple."""
    shape = infer_shape(recipe.opcode, recipe.operands, recipe.attributes, declared=recipe.declared)
    assert shape is not None
    operands = [_parameter(instructions, operand) for operand in recipe.operands]
    name = f"v{len(instructions)}"
    result = Instruction(name, recipe.opcode, shape, tuple(operands), recipe.attributes)
    instructions.append(result)
    if not isinstance(shape, TupleShape):
        return [result]
    for index, element in enumerate(shape.elements):
        part = Instruction(f"{name}.{index}", "get-tuple-element", element, (result,), {"index": index})
        instructions.append(part)
    return instructions[-len(shape.elements) :]


def _parameter(instructions: list[Instruction], shape: Shape) -> Instruction:
    number = _parameter_count(instructions)
    instructions.append(Instruction(f"p{number}", "parameter", shape, attributes={"parameter_number": number}))
    return instructions[-1]


def _parameter_count(instructions: list[Instruction]) -> int:
    return sum(instruction.opcode == "parameter" for instruction in instructions)


def _inputs(module: HloModule, seed: int, distinct: list[int]) -> list[np.ndarray]:
    """Return inputs of small integers, so that sums are exact and indices may be out of range. Floats with a domain
    follow it.
    """
    inputs = make_inputs(module, seed)
    generator = np.random.default_rng(seed)
    for number, (shape, domain) in enumerate(parameter_domains(module)):
        if number in distinct:
            inputs[number] = (
                generator.permutation(shape.size).reshape(shape.dimensions).astype(shape.element_type.dtype)
            )
        elif domain.form is Form.ANY or shape.element_type.is_integral:
            inputs[number] = _small_numbers(shape, generator)
    return inputs


def _small_numbers(shape: ArrayShape, generator: np.random.Generator) -> np.ndarray:
    element_type = shape.element_type
    low = 0 if element_type.is_unsigned or element_type.name == "pred" else -3
    high = 1 if element_type.name == "pred" else 6
    numbers = generator.integers(low, high, shape.dimensions, endpoint=True)
    if element_type.is_complex:
        return (numbers + 1j * generator.integers(low, high, shape.dimensions)).astype(element_type.dtype)
    return numbers.astype(element_type.dtype)


_DOMAIN = 'domain={kind="sharding", entry={replicated}, exit={maximal device=0}}'


def wrapped(name: str, random: Random) -> RandomProgram:
    """Return a chain of shape operations with wrappers such as fusions and barriers between them."""
    return shape_chain(name, random, STEPS | WRAPPERS)


def barrier(body: Body) -> None:
    """Add two values behind one barrier."""
    values = [body.any_value(), body.any_value()]
    shape = f"({', '.join(value.shape for value in values)})"
    held = body.instruction(shape, "opt-barrier", [body.instruction(shape, "tuple", values)])
    for index, value in enumerate(values):
        body.add("get-tuple-element", [held], value.type, value.dimensions, value.bound, f"index={index}")


def fusion(body: Body) -> None:
    kind = body.random.choice(["kLoop", "kInput", "kOutput"])

    def write(arguments: list[Value], result: Value, name: str) -> None:
        _passed(body, result, "fusion", arguments, f"kind={kind}, calls={name}")

    add_call(body, write)


def asynchronous(body: Body) -> None:
    """Add an asynchronous call: its start, perhaps an update, and its end."""

    def write(arguments: list[Value], result: Value, name: str) -> None:
        shape = f"(({', '.join(value.shape for value in arguments)}), {result.shape}, u32[])"
        state = body.instruction(shape, "async-start", arguments, f"calls={name}")
        if body.random.random() < 0.5:
            state = body.instruction(shape, "async-update", [state])
        _passed(body, result, "async-done", [state])

    add_call(body, write)


def asynchronous_copy(body: Body) -> None:
    value = body.any_value()
    state = body.instruction(f"({value.shape}, {value.shape}, u32[])", "copy-start", [value])
    _passed(body, value, "copy-done", [state])


def dependency(body: Body) -> None:
    value = body.any_value()
    token = body.instruction("token[]", "after-all", [])
    if body.random.random() < 0.5:
        token = body.instruction("token[]", "after-all", [token, token])
    _passed(body, value, "add-dependency", [value, token])


def domain(body: Body) -> None:
    value = body.any_value()
    _passed(body, value, "domain", [value], _DOMAIN)


def _passed(body: Body, like: Value, opcode: str, operands: Sequence[Value | str], attributes: str = "") -> None:
    body.add(opcode, operands, like.type, like.dimensions, like.bound, attributes)


WRAPPERS: dict[str, tuple[Callable[[Body], None], int]] = {
    "barrier": (barrier, 2),
    "fusion": (fusion, 3),
    "asynchronous": (asynchronous, 3),
    "asynchronous_copy": (asynchronous_copy, 2),
    "dependency": (dependency, 2),
    "domain": (domain, 2),
}

FAMILIES: dict[str, Callable[[str, Random], RandomProgram]] = {
    "shape_chains": shape_chain,
    "loops": loop,
    "scalars": scalars,
    "structured": structured,
    "wrapped": wrapped,
    "unusual": unusual,
    "lines": lines,
    "parts": parts,
    "triangles": triangles,
}

MOST_TRIES = 300  # programs drawn before it is assumed that no family has the operations

_OPCODE = re.compile(r" = \S.*? ([a-z][a-z0-9-]*)\(")


def random_program(family: str, seed: int) -> RandomProgram:
    """Return the program of a family for a seed; its name consists of both."""
    return FAMILIES[family](f"{family}_{seed}", Random(seed))


def program_with(operations: Collection[str], seed: int) -> RandomProgram:
    """Return a program of any family with at least one of the operations (any program if there are no operations), by
    seed.

    Raises ``UsageError`` (XP606) if no family draws one.
    """
    random = Random(seed)
    if operations and set(operations) <= set(RECIPES):
        return structured(f"fuzz_{seed}", random, sorted(operations))
    for _ in range(MOST_TRIES):
        program = FAMILIES[random.choice(list(FAMILIES))](f"fuzz_{seed}", random)
        if not operations or opcodes(program) & set(operations):
            return program
    raise UsageError(Diagnostic("XP606", f"random programs do not have {', '.join(sorted(operations))}"))


def opcodes(program: RandomProgram) -> set[str]:
    """Return the opcodes in a program's text."""
    found = {match[1] for match in _OPCODE.finditer(program.helpers + program.entry)}
    return found & set(OPCODES)
