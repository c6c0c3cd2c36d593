"""How many operands, results and regions each operation has; what has others is refused before anything reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..dataclass import dataclass
from ..hlo.lexer import quote
from ..hlo.opcodes import OPCODES
from ..hlo.parser_state import did_you_mean
from ..hlo.source import Diagnostic, HloSyntaxError, SourceText
from .broadcasts import BROADCASTS
from .expansions import NAMES
from .program import Operation, Program, Region
from .rows import ROWS

MANY = None
NOT_READ = frozenset(  # operations of programs that are not finished, or that talk to a host
    "chlo._asin_acos_kernel stablehlo.async_done stablehlo.async_start stablehlo.recv stablehlo.send".split()
)
NOT_IN_HLO = frozenset(("stablehlo.uniform_dequantize", "stablehlo.uniform_quantize", "stablehlo.unary_einsum"))


@dataclass(frozen=True, slots=True)
class Form:
    """The fewest and the most operands, results and regions; None for no bound."""

    operands: tuple[int, int | None]
    results: tuple[int, int | None] = (1, 1)
    regions: tuple[int, int | None] = (0, 0)


_ANY = (0, MANY)
_SOME = (1, MANY)
_RESULTS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(
        ("reduce", "reduce_window", "sort", "scan", "scatter", "all_reduce", "all_gather", "collective_reduce"), _SOME
    ),
    "optimization_barrier": _ANY,
    "rng_bit_generator": (2, 2),
    "batch_norm_training": (3, 3),
    "batch_norm_grad": (3, 3),
}
_REGIONS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(
        ("reduce_window", "sort", "scan", "scatter", "map", "all_reduce", "collective_reduce", "reduce_scatter"), (1, 1)
    ),
    "reduce": (0, 1),
    "select_and_scatter": (2, 2),
}
_OPERANDS: dict[str, tuple[int, int | None]] = {"optimization_barrier": _ANY, "create_token": (0, 0), "rng": (3, 3)}
_OF_TWO = frozenset(("next_after", "polygamma", "zeta"))


def _row(name: str, opcode: str) -> Form:
    own = name.partition(".")[2]
    operands = _OPERANDS.get(own, OPCODES[opcode].arity)
    return Form(operands, _RESULTS.get(own, (1, 1)), _REGIONS.get(own, (0, 0)))


FORMS: dict[str, Form] = {
    **{name: _row(name, row.opcode) for name, row in ROWS.items()},
    **{f"chlo.{name}": Form((2, 2) if name in _OF_TWO else (1, 1)) for name in NAMES},
    **{name: Form((3, 3) if name.endswith("select") else (2, 2)) for name in BROADCASTS},
    "chlo.constant_like": Form((1, 1)),
    "stablehlo.all_to_all": Form(_SOME, _SOME),
    "stablehlo.broadcast": Form((1, 1)),
    "stablehlo.dot": Form((2, 2)),
    "stablehlo.dynamic_broadcast_in_dim": Form((2, 2)),
    "stablehlo.dynamic_conv": Form((3, 3)),
    "stablehlo.dynamic_gather": Form((3, 3)),
    "stablehlo.dynamic_iota": Form((1, 1)),
    "stablehlo.dynamic_pad": Form((5, 5)),
    "stablehlo.dynamic_reshape": Form((2, 2)),
    "stablehlo.real_dynamic_slice": Form((4, 4)),
    "stablehlo.einsum": Form((2, 2)),
    "stablehlo.torch_index_select": Form((2, 2)),
    "stablehlo.cross-replica-sum": Form((1, 1)),
    "stablehlo.infeed": Form((1, 1), _SOME),
    "stablehlo.outfeed": Form(_SOME),
    "chlo.top_k": Form((1, 1), (2, 2)),
    "chlo.square": Form((1, 1)),
    "chlo.constant": Form((0, 0)),
    "stablehlo.constant": Form((0, 0)),
    "stablehlo.iota": Form((0, 0)),
    "stablehlo.broadcast_in_dim": Form((1, 1)),
    "stablehlo.while": Form(_ANY, _ANY, (2, 2)),
    "stablehlo.if": Form((1, 1), _ANY, (2, 2)),
    "stablehlo.case": Form((1, 1), _ANY, _SOME),
    "stablehlo.convolution": Form((2, 2)),
    "stablehlo.custom_call": Form(_ANY, _ANY),
    "stablehlo.composite": Form(_ANY, _ANY, _ANY),
    "stablehlo.get_tuple_element": Form((1, 1)),
    "stablehlo.tuple": Form(_ANY),
    "stablehlo.return": Form(_ANY, (0, 0)),
    "func.call": Form(_ANY, _ANY),
    "func.return": Form(_ANY, (0, 0)),
    "sdy.manual_computation": Form(_ANY, _ANY, (1, 1)),
    "sdy.sharding_constraint": Form((1, 1)),
    "sdy.return": Form(_ANY, (0, 0)),
    "builtin.unrealized_conversion_cast": Form((1, 1)),
}


def takes(name: str, operands: int, results: int, regions: int = 0) -> bool:
    """Tell whether an operation of this name may have so many operands, results and regions."""
    form = FORMS[name]
    bounds = (form.operands, operands), (form.results, results), (form.regions, regions)
    return all(fewest <= count and (most is None or count <= most) for (fewest, most), count in bounds)


def check_forms(
    program: Program, operations: Sequence[Operation], alike: Iterable[Operation], source: SourceText
) -> None:
    """Check the operations in functions; ``alike`` has one of each form. Raises ``HloSyntaxError``: XP110 for one that
    nobody knows, XP111 for one of another form.
    """
    for function in program.functions:
        if "sym_name" not in function.attributes:
            raise HloSyntaxError(Diagnostic("XP111", "a function has no name", function.span, source))
        for region in function.regions:
            _check_returns(region, source)
    if not all(map(_fits, alike)):
        for operation in operations:
            _check(operation, source)
    for operation in operations:
        if operation.regions:
            if operation.name == "stablehlo.while":
                _check_loop(operation, source)
            for region in operation.regions:
                _check_returns(region, source)


def _fits(operation: Operation) -> bool:
    counts = len(operation.operands), len(operation.results), len(operation.regions)
    return operation.name in FORMS and takes(operation.name, *counts)


def _check(operation: Operation, source: SourceText) -> None:
    form = FORMS.get(operation.name)
    if form is None:
        raise _unknown(operation, source)
    for what, bounds, parts in (
        ("operand", form.operands, operation.operands),
        ("result", form.results, operation.results),
        ("region", form.regions, operation.regions),
    ):
        fewest, most = bounds
        if len(parts) < fewest or (most is not None and len(parts) > most):
            expected = (
                f"{fewest}" if most == fewest else f"at least {fewest}" if most is None else f"{fewest} to {most}"
            )
            message = f"{operation.name} has {expected} {what}{'s' if expected != '1' else ''}, not {len(parts)}"
            raise HloSyntaxError(Diagnostic("XP111", message, operation.span, source))


def _unknown(operation: Operation, source: SourceText) -> HloSyntaxError:
    """What is raised for an operation without a form."""
    name, place = operation.name, (operation.span, source)
    if name in NOT_READ:
        return HloSyntaxError(Diagnostic("XP110", f"{quote(name)} is not read", *place))
    if name in NOT_IN_HLO or name.startswith("shape."):
        return HloSyntaxError(Diagnostic("XP110", f"HLO has no operation for {quote(name)}", *place))
    return HloSyntaxError(
        Diagnostic("XP110", f"there is no operation {quote(name)} here", *place, did_you_mean(name, FORMS))
    )


def _check_returns(region: Region, source: SourceText) -> None:
    """Nothing comes after a return."""
    if _RETURNS.isdisjoint([operation.name for operation in region.operations[:-1]]):
        return
    first = next(each for each in region.operations if each.name in _RETURNS)
    raise HloSyntaxError(Diagnostic("XP102", "there are operations behind this return", first.span, source))


_RETURNS = frozenset(name for name in FORMS if name.endswith(".return"))


def _check_loop(operation: Operation, source: SourceText) -> None:
    """The regions take what the loop carries, and the body hands as much back."""
    condition, body = operation.regions
    count = len(operation.operands)
    counts = (len(condition.arguments), len(body.arguments), len(body.returned))
    if any(each != count for each in counts) or len(operation.results) not in (0, count):
        message = (
            f"a loop of {count} values has regions that take and return as many, not {', '.join(map(str, counts))}"
        )
        raise HloSyntaxError(Diagnostic("XP111", message, operation.span, source))
