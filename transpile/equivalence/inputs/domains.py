"""The domains of parameters: the values that make sense for each, from the operations that use it.

A parameter is followed through moves (reshape, tuple, call, loop carry..) to the operations that restrict it: an index
must be in range, a matrix to factor positive definite, the operand of a logarithm positive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from enum import IntEnum

from ...dataclass import dataclass
from ...hlo.ir import Computation, HloModule, Instruction
from ...hlo.shapes import ArrayShape, leaves

Path = tuple[int, ...]


class Form(IntEnum):
    """The form that an array must have; of several forms, the largest is used."""

    ANY = 0
    RANGE = 1  # low <= x <= high
    TRIANGULAR = 2  # its last two dimensions are well-conditioned triangular matrices, with anything in the other half
    POSITIVE_DEFINITE = 3  # its last two dimensions are positive-definite matrices
    BITS = 4  # every bit is random: keys and states of random generators


@dataclass(frozen=True, slots=True)
class Domain:
    """The values that a parameter may have. ``low`` and ``high``, both inclusive, belong to ``Form.RANGE``."""

    form: Form = Form.ANY
    low: float = 0.0
    high: float = 0.0
    is_unique: bool = False
    is_sorted: bool = False

    def __and__(self, other: Domain) -> Domain:
        """Return the domain that satisfies both, or the one of the stronger form."""
        form = max(self.form, other.form)
        wishes = [domain for domain in (self, other) if domain.form is form]
        low = max(domain.low for domain in wishes)
        high = max(low, min(domain.high for domain in wishes))
        return Domain(form, low, high, self.is_unique or other.is_unique, self.is_sorted or other.is_sorted)


POSITIVE = Domain(Form.RANGE, 0.1, 3.0)
NOT_NEAR_ZERO = Domain(Form.RANGE, 0.5, 2.0)
INSIDE_ONE = Domain(Form.RANGE, -0.9, 0.9)
FEW = Domain(Form.RANGE, 0, 5)
BITS = Domain(Form.BITS)

Rule = Callable[[Instruction, int], Domain | None]


def parameter_domains(module: HloModule) -> list[tuple[ArrayShape, Domain]]:
    """Return the shape and domain of every array of the entry's parameters, with tuples flattened in order."""
    flow = _Flow(module)
    return [
        (shape, flow.domain(parameter, path))
        for parameter in module.entry.parameters
        for path, shape in leaves(parameter.shape)
        if isinstance(shape, ArrayShape)
    ]


# -- how values move

_MOVES = {
    *("bitcast", "broadcast", "copy", "opt-barrier", "reshape", "reverse", "slice", "transpose"),
    *("all-gather", "all-to-all", "collective-broadcast", "collective-permute", "concatenate", "select", "domain"),
}
_MOVES_OF_FIRST = {"add-dependency": 1, "dynamic-slice": 1, "dynamic-update-slice": 2, "gather": 1, "pad": 1}
_INDEX_ARITHMETIC = {"add", "clamp", "convert", "maximum", "minimum", "subtract"}  # JAX wraps and clips indices
_CALLS = {"async-start", "call", "fusion"}


class _Flow:
    def __init__(self, module: HloModule) -> None:
        self._users: dict[int, list[tuple[Instruction, int]]] = defaultdict(list)
        self._callers: dict[int, list[Instruction]] = defaultdict(list)
        self._roots: dict[int, Computation] = {}
        self._conditions: set[int] = set()  # ids of instructions in loop conditions
        for computation in module.computations:
            self._roots[id(computation.root)] = computation
            for instruction in computation.instructions:
                for number, operand in enumerate(instruction.operands):
                    self._users[id(operand)].append((instruction, number))
                for called in instruction.called:
                    self._callers[id(called)].append(instruction)
                if instruction.opcode == "while":
                    self._conditions.update(map(id, instruction["condition"].instructions))

    def domain(self, parameter: Instruction, path: Path) -> Domain:
        found = Domain()
        seen = {(id(parameter), path)}
        work = [(parameter, path)]
        while work:
            value, path = work.pop()
            for user, number in self._users[id(value)]:
                found &= self._wish(user, number)
            for next_value, next_path in self._next(value, path):
                if (id(next_value), next_path) not in seen:
                    seen.add((id(next_value), next_path))
                    work.append((next_value, next_path))
        return found

    def _wish(self, user: Instruction, number: int) -> Domain:
        if id(user) in self._conditions and user.opcode == "compare" and _is_integral(user.operands[number]):
            return FEW  # a loop bound
        rule = RULES.get(user.opcode)
        return (rule(user, number) if rule else None) or Domain()

    def _next(self, value: Instruction, path: Path) -> Iterator[tuple[Instruction, Path]]:
        """Yield the (instruction, path) pairs that the part ``path`` of a value moves to."""
        for user, number in self._users[id(value)]:
            yield from _through(user, number, value, path)
        computation = self._roots.get(id(value))
        for caller in self._callers[id(computation)] if computation else ():
            if caller.opcode in _CALLS or caller.opcode in ("conditional", "while"):
                yield caller, path


def _through(user: Instruction, number: int, value: Instruction, path: Path) -> Iterator[tuple[Instruction, Path]]:
    opcode = user.opcode
    is_index = opcode in _INDEX_ARITHMETIC and _is_integral(value) and _is_integral(user)
    if is_index or opcode in _MOVES or number < _MOVES_OF_FIRST.get(opcode, 0):
        yield user, path
    elif opcode == "tuple":
        yield user, (number, *path)
    elif opcode == "get-tuple-element":
        if path[:1] == (user["index"],):
            yield user, path[1:]
    elif opcode in _CALLS:
        yield user.called[0].parameters[number], path
    elif opcode == "conditional" and number:
        yield _branches(user)[number - 1].parameters[0], path
    elif opcode == "while":
        yield user["condition"].parameters[0], path
        yield user["body"].parameters[0], path
        yield user, path


def _branches(conditional: Instruction) -> tuple[Computation, ...]:
    branches: tuple[Computation, ...] | None = conditional["branch_computations"]
    return branches or (conditional["true_computation"], conditional["false_computation"])


def _is_integral(value: Instruction) -> bool:
    return isinstance(value.shape, ArrayShape) and value.shape.element_type.is_integral


# -- restrictions of operations


def _range(*limits: int) -> Domain:
    """Return the domain of indices from 0 to the smallest of the limits."""
    return Domain(Form.RANGE, 0, max(0, min(limits, default=0)))


def _gather(user: Instruction, number: int) -> Domain | None:
    if number != 1:
        return None
    sizes, windows = user.operands[0].array_shape.dimensions, user["slice_sizes"]
    return _range(*(sizes[dim] - windows[dim] for dim in user["start_index_map"]))


def _scatter(user: Instruction, number: int) -> Domain | None:
    operand_count = len(user.operands) // 2
    if number != operand_count:
        return None
    sizes = user.operands[0].array_shape.dimensions
    updates = user.operands[operand_count + 1].array_shape.dimensions
    without_window = {*user["inserted_window_dims"], *user["input_batching_dims"]}
    window_dims = [dim for dim in range(len(sizes)) if dim not in without_window]
    windows = dict(zip(window_dims, (updates[dim] for dim in user["update_window_dims"]), strict=True))
    targets = user["scatter_dims_to_operand_dims"]
    limits = _range(*(sizes[dim] - windows.get(dim, 1) for dim in targets))
    is_single = len(targets) == 1
    return Domain(
        Form.RANGE,
        limits.low,
        limits.high,
        is_unique=is_single and user["unique_indices"],
        is_sorted=is_single and user["indices_are_sorted"],
    )


def _start(user: Instruction, dimension: int, windows: tuple[int, ...]) -> Domain | None:
    if dimension < 0:
        return None
    limits = [size - window for size, window in zip(user.operands[0].array_shape.dimensions, windows, strict=True)]
    is_legacy = user.operands[-1].array_shape.rank == 1  # one vector with all start indices
    return _range(*limits) if is_legacy else _range(limits[dimension])


def _compare(user: Instruction, number: int) -> Domain | None:
    """Return the range of labels: integers that are compared with an iota, as ``one_hot`` does."""
    other = user.operands[1 - number]
    while other.opcode in ("broadcast", "convert", "reshape", "copy"):
        other = other.operands[0]
    if other.opcode != "iota" or not _is_integral(user.operands[number]):
        return None
    return _range(other.array_shape.dimensions[other["iota_dimension"]] - 1)


def _custom_call(user: Instruction, number: int) -> Domain | None:
    target = user["custom_call_target"]
    if number == 0 and "potrf" in target:
        return Domain(Form.POSITIVE_DEFINITE)
    return Domain(Form.TRIANGULAR) if number == 0 and "trsm" in target else None


def _set_dimension_size(user: Instruction, number: int) -> Domain | None:
    size = user.operands[0].array_shape.dimensions[user["dimensions"][0]]
    return Domain(Form.RANGE, min(1, size), size) if number == 1 else None


def _for_operand(wanted: int, domain: Domain) -> Rule:
    return lambda _, number: domain if number == wanted else None


def _divisor(user: Instruction, number: int) -> Domain | None:
    if number == 0:
        return None
    return Domain(Form.RANGE, 1, 9) if _is_integral(user.operands[1]) else NOT_NEAR_ZERO


def _power(user: Instruction, number: int) -> Domain | None:
    if _is_integral(user.operands[0]):
        return FEW if number == 1 else None
    return POSITIVE if number == 0 else None


def _shift(user: Instruction, number: int) -> Domain | None:
    element_type = user.array_shape.element_type
    if number == 1:
        return _range(element_type.bits - 1)
    return BITS if element_type.is_unsigned else None


RULES: dict[str, Rule] = {
    "acos": _for_operand(0, INSIDE_ONE),
    "acosh": _for_operand(0, Domain(Form.RANGE, 1.1, 3.0)),
    "asin": _for_operand(0, INSIDE_ONE),
    "atanh": _for_operand(0, INSIDE_ONE),
    "batch-norm-grad": _for_operand(3, POSITIVE),
    "batch-norm-inference": _for_operand(4, POSITIVE),
    "cholesky": _for_operand(0, Domain(Form.POSITIVE_DEFINITE)),
    "compare": _compare,
    "conditional": lambda user, number: _range(len(_branches(user)) - 1) if number == 0 else None,
    "custom-call": _custom_call,
    "divide": _divisor,
    "dynamic-slice": lambda user, number: _start(user, number - 1, user["dynamic_slice_sizes"]),
    "dynamic-update-slice": lambda user, number: _start(user, number - 2, user.operands[1].array_shape.dimensions),
    "gather": _gather,
    "log": _for_operand(0, POSITIVE),
    "log2": _for_operand(0, POSITIVE),
    "log-plus-one": _for_operand(0, POSITIVE),
    "power": _power,
    "remainder": _divisor,
    "rng": lambda user, number: Domain(Form.RANGE, 1, 2) if number == 1 else Domain(Form.RANGE, -1, 0),
    "rng-bit-generator": _for_operand(0, BITS),
    "rsqrt": _for_operand(0, POSITIVE),
    "scatter": _scatter,
    "set-dimension-size": _set_dimension_size,
    "shift-left": _shift,
    "shift-right-arithmetic": _shift,
    "shift-right-logical": _shift,
    "sqrt": _for_operand(0, POSITIVE),
    "triangular-solve": _for_operand(0, Domain(Form.TRIANGULAR)),
    "xor": lambda user, number: BITS if user.array_shape.element_type.is_unsigned else None,
}
