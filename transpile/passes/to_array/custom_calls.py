"""custom-call: the targets that real programs contain, and a hook for any other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ...array.node import ForeignName, Slot
from ...array.value import Value
from ...hlo.carriers import NARROWING, WIDENING
from ...hlo.ir import Instruction
from ...hlo.shapes import ArrayShape, Shape, TupleShape
from ...hlo.source import Diagnostic, UnsupportedError
from .contraction import dot_of
from .control import flattened, unflattened
from .convolution import convolution
from .elementwise import apply
from .linear_algebra import solve
from .lowering import FunctionLowering, Lowered, Rule, lowers
from .sorting import top_k

# Placement and sharding hints: on one device the operand itself.
_IDENTITIES = frozenset(
    "Sharding SPMDFullToShardShape SPMDShardToFullShape annotate_device_placement MoveToHost MoveToDevice Pin Unpin "
    "LayoutConstraint ShardBarrierFrom ShardBarrierTo SetBound xla.sdy.FuncResultSharding "
    "xla.sdy.GlobalToLocalShape xla.sdy.LocalToGlobalShape".split()
)
_LAPACK = re.compile(
    r"lapack_[sdcz](trsm|potrf|getrf|geqrf|geqp3|orgqr|ungqr|ormqr|unmqr|syevd|heevd|gesdd|gesvd|geev|gees|sytrd|hetrd|gehrd|gtsv)_ffi"
)
_REAL_NAMES = {"ungqr": "orgqr", "unmqr": "ormqr", "heevd": "syevd", "hetrd": "sytrd", "gesvd": "gesdd"}
# Composites of the mhlo and chlo dialects that are one HLO operation.
_OPERATIONS = {
    f"{dialect}.{name}": opcode
    for dialect in ("mhlo", "chlo")
    for name, opcode in {
        "acos": "acos",
        "acosh": "acosh",
        "asin": "asin",
        "asinh": "asinh",
        "atanh": "atanh",
        "cosh": "cosh",
        "erf": "erf",
        "sinh": "sinh",
        "tan": "tan",
    }.items()
}
# What the rewrite that carries narrow element types in bytes puts in; no text that is read may name it.
_CARRIERS = {f"xla2py.{function}": function for function in NARROWING | WIDENING}
_PYTHON_CALLBACK = re.compile(r"xla_(ffi_)?(partitioned_)?python_(cpu|gpu)_callback")


def refusal(instruction: Instruction, hooks: Mapping[str, str]) -> str | None:
    """Why a custom call cannot be expressed, or None."""
    target = instruction["custom_call_target"]
    if target in hooks or _rule(target) is not None:
        return None
    if _PYTHON_CALLBACK.fullmatch(target):
        return f"the custom call {target!r} runs Python of the process that traced it"
    return f"the custom call {target!r} is not known"


@lowers("custom-call")
def custom_call(lowering: FunctionLowering, instruction: Instruction, *operands: Lowered) -> Lowered:
    target = instruction["custom_call_target"]
    hook = lowering.module.options.custom_calls.get(target)
    if hook is not None:
        return _hooked(lowering, instruction, hook, operands)
    carrier = _CARRIERS.get(target)
    rule = _rule(target) if carrier is None else partial(_carrier, carrier)
    assert rule is not None, f"unchecked custom call {target!r}"
    return rule(lowering, instruction, *operands)


def is_placement(target: str) -> bool:
    """Whether a custom call only says where its operands should be."""
    return target in _IDENTITIES


def _carrier(function: str, lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Value:
    shape = instruction.array_shape
    made = lowering.elementwise("prelude", shape.element_type, operand, shape=shape.dimensions, function=function)
    return replace(made, sizes=operand.sizes)


def _rule(target: str) -> Rule | None:
    if target in _IDENTITIES:
        return _identity
    if _LAPACK.fullmatch(target):
        return _lapack
    if target in _OPERATIONS:
        return _operation
    return _RULES.get(target)


def _hooked(lowering: FunctionLowering, instruction: Instruction, hook: str, operands: tuple[Lowered, ...]) -> Lowered:
    """A function of the user's: pure, called once, with the operands and by keyword the shape and the config."""
    module, function = hook.split(":")
    nodes = tuple(lowering.plain(value) for value in flattened(operands))
    config = instruction.attributes.get("backend_config")
    keywords = {
        "shape": _shape_argument(instruction.shape),
        "backend_config": config.text if config is not None else "",
    }
    parameters: dict[str, Any] = {
        "function": ForeignName(module, function),
        "arguments": tuple(Slot(k) for k in range(len(nodes))),
        "keywords": keywords,
    }
    if isinstance(instruction.shape, TupleShape):
        leaves = list(flattened(_arrays(instruction.shape)))
        types = tuple((shape.dimensions, shape.element_type) for shape in leaves)  # type: ignore[attr-defined]
        node = lowering.graph.add("prelude", nodes, results=types, pinned=True, **parameters)
        return unflattened(instruction.shape, iter(lowering.items(node)))
    shape = instruction.array_shape
    return Value.of(
        lowering.graph.add(
            "prelude", nodes, shape=shape.dimensions, element_type=shape.element_type, pinned=True, **parameters
        )
    )


def _arrays(shape: Shape) -> Any:
    if isinstance(shape, TupleShape):
        return tuple(_arrays(element) for element in shape.elements)
    return shape if isinstance(shape, ArrayShape) else None


def _shape_argument(shape: Shape) -> Any:
    if isinstance(shape, TupleShape):
        return tuple(_shape_argument(element) for element in shape.elements)
    return shape.dimensions if isinstance(shape, ArrayShape) else None


def _identity(lowering: FunctionLowering, instruction: Instruction, *operands: Lowered) -> Lowered:
    """The operands themselves, where no device has only a part of them."""
    wanted = [shape.dimensions for shape in instruction.element_shapes if isinstance(shape, ArrayShape)]
    given = [value.shape for value in flattened(operands)]
    if wanted[: len(given)] != given[: len(wanted)]:
        message = f"{instruction.name} divides arrays among devices: the program is still to be partitioned"
        hint = "dump it after XLA's partitioner: --xla_dump_hlo_pass_re=spmd-partitioning"
        raise UnsupportedError(Diagnostic("XP362", message, instruction.span, hint=hint))
    return operands[0] if isinstance(instruction.shape, ArrayShape) or len(operands) == 1 else operands


def _operation(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    shape = instruction.array_shape
    opcode = _OPERATIONS[instruction["custom_call_target"]]
    return apply(lowering, opcode, shape.element_type, operands, shape.dimensions, {})


# -- LAPACK, as JAX calls it


def ffi_attributes(instruction: Instruction) -> dict[str, Any]:
    """``{uplo = 76 : ui8, k = 3 : i32, left = true}``: bytes are letters."""
    raw = instruction.attributes.get("backend_config")
    found: dict[str, Any] = {}
    for name, value, width in re.findall(r"(\w+)\s*=\s*(-?\w+)(?:\s*:\s*(\w+))?", raw.text if raw is not None else ""):
        if value in ("true", "false"):
            found[name] = value == "true"
        elif value.lstrip("-").isdigit():
            found[name] = chr(int(value)) if width in ("ui8", "i8") else int(value)
    return found


def _lapack(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
    match = _LAPACK.fullmatch(instruction["custom_call_target"])
    assert match is not None
    routine = _REAL_NAMES.get(match[1], match[1])
    attributes = ffi_attributes(instruction)
    if routine == "trsm":
        return solve(
            lowering,
            instruction,
            operands[0],
            operands[1],
            lower=attributes["uplo"] == "L",
            unit_diagonal=attributes["diag"] == "U",
            transpose=attributes["trans_x"],
            left_side=attributes["side"] == "L",
        )
    nodes = tuple(lowering.plain(value) for value in operands)
    if isinstance(instruction.shape, TupleShape):
        return lowering.call_many(routine, nodes, instruction.element_shapes, **attributes)
    shape = instruction.array_shape
    return lowering.call(routine, nodes, shape.dimensions, shape.element_type, **attributes)


def _prelude(function: str) -> Rule:
    """A target that one prelude function computes."""

    def rule(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Lowered:
        nodes = tuple(lowering.plain(value) for value in operands)
        if isinstance(instruction.shape, TupleShape):
            return lowering.call_many(function, nodes, instruction.element_shapes)
        shape = instruction.array_shape
        return lowering.call(function, nodes, shape.dimensions, shape.element_type)

    return rule


def _pivots_to_permutation(lowering: FunctionLowering, instruction: Instruction, pivots: Value) -> Value:
    shape = instruction.array_shape
    arguments = (Slot(0), shape.dimensions[-1])
    return lowering.call(
        "pivots_to_permutation", (lowering.plain(pivots),), shape.dimensions, shape.element_type, arguments=arguments
    )


def _top_k(lowering: FunctionLowering, instruction: Instruction, operand: Value) -> Lowered:
    values = instruction.element_shapes[0]
    assert isinstance(values, ArrayShape)
    return top_k(lowering, instruction, operand, values.dimensions[-1], largest=True)


def _allocate(lowering: FunctionLowering, instruction: Instruction, *operands: Value) -> Value:
    shape = instruction.array_shape
    return Value.repeated(lowering.graph.literal(0, shape.element_type), shape.dimensions)


# -- libraries of NVIDIA


def _gemm(lowering: FunctionLowering, instruction: Instruction, lhs: Value, rhs: Value, *more: Value) -> Lowered:
    """``alpha * (lhs . rhs) + beta * bias``; a second result is scratch memory."""
    raw = instruction.attributes.get("backend_config")
    config = json.loads(raw.text) if raw is not None else {}
    config = config.get("gemm_backend_config", config)
    numbers = config.get("dot_dimension_numbers", {})
    dimensions = {
        f"{side}_{kind}_dims": tuple(int(d) for d in numbers.get(f"{side}_{name}_dimensions", ()))
        for side in ("lhs", "rhs")
        for kind, name in (("batch", "batch"), ("contracting", "contracting"))
    }
    shape = instruction.element_shapes[0]
    assert isinstance(shape, ArrayShape)
    result = dot_of(lowering, shape, lhs, rhs, dimensions)
    alpha, beta = float(config.get("alpha_real", 1)), float(config.get("beta", 0))
    result = _scaled(lowering, result, alpha, shape)
    if more and beta:
        bias = _scaled(lowering, more[0], beta, shape)
        result = lowering.elementwise("add", shape.element_type, result, bias, shape=shape.dimensions)
    return _with_scratch(lowering, instruction, result)


def _scaled(lowering: FunctionLowering, value: Value, factor: float, shape: ArrayShape) -> Value:
    if factor == 1:
        return value
    literal = Value.repeated(lowering.graph.literal(factor, shape.element_type), shape.dimensions)
    return lowering.elementwise("multiply", shape.element_type, value, literal, shape=shape.dimensions)


def _with_scratch(lowering: FunctionLowering, instruction: Instruction, result: Value) -> Lowered:
    if not isinstance(instruction.shape, TupleShape):
        return result
    scratch = [
        Value.repeated(lowering.graph.literal(0, shape.element_type), shape.dimensions)
        for shape in instruction.element_shapes[1:]
        if isinstance(shape, ArrayShape)
    ]
    return (result, *scratch)


def _conv_forward(lowering: FunctionLowering, instruction: Instruction, x: Value, kernel: Value) -> Lowered:
    shape = instruction.element_shapes[0]
    plain = convolution(lowering, instruction.replace(opcode="convolution", shape=shape), x, kernel)
    return _with_scratch(lowering, instruction, plain)


_RULES: dict[str, Callable[..., Lowered]] = {
    "TopK": _top_k,
    "mhlo.topk": _top_k,
    "AllocateBuffer": _allocate,
    "Qr": _prelude("geqrf"),
    "ProductOfElementaryHouseholderReflectors": _prelude("orgqr"),
    "cu_lu_pivots_to_permutation": _pivots_to_permutation,
    "hip_lu_pivots_to_permutation": _pivots_to_permutation,
    "__cublas$gemm": _gemm,
    "__cudnn$convForward": _conv_forward,
}
