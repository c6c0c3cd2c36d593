"""The table of HLO opcodes: arity, attributes, topic. One row per opcode; all dispatch uses these names.

The rows are XLA's ``hlo_opcode.h``; the attribute names and kinds are those of HLO text. Shape rules are in
:mod:`.shape_inference`, under the same opcode names.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from ..dataclass import dataclass
from .attributes import AttributeKind as K
from .attributes import AttributeSpec

MANY = None  # no upper bound on the number of operands


@dataclass(frozen=True, slots=True)
class OpSpec:
    """The form of a valid instruction of one opcode.

    ``arity`` is (fewest, most) operands; ``takes`` is a word for the element types of operands if the result has their
    shape and type; ``topic`` groups opcodes in the documentation; ``replica_only`` marks opcodes without a meaning on
    one replica; ``has_side_effect`` keeps an unused instruction alive.
    """

    opcode: str
    topic: str
    arity: tuple[int, int | None]
    attributes: dict[str, AttributeSpec] = field(default_factory=dict)
    takes: str = ""
    has_side_effect: bool = False
    replica_only: bool = False

    @property
    def is_elementwise(self) -> bool:
        return self.topic == "elementwise"

    @property
    def has_parameters(self) -> bool:
        """Whether an attribute other than called computations affects the result, so that an unknown one might, too."""
        return any(not spec.is_note and spec.kind not in _CALLED for spec in self.attributes.values())

    @property
    def calls(self) -> bool:
        """Whether an attribute names computations."""
        return any(spec.kind in _CALLED for spec in self.attributes.values())


_CALLED = (K.COMPUTATION, K.COMPUTATIONS)


def _required(kind: K, *choices: str) -> AttributeSpec:
    return AttributeSpec(kind, choices=choices)


def _optional(kind: K, default: object = None, *choices: str) -> AttributeSpec:
    return AttributeSpec(kind, default, choices)


def _note(kind: K, default: object = None, *choices: str) -> AttributeSpec:
    return AttributeSpec(kind, default, choices, is_note=True)


# Any instruction may carry these.
COMMON_ATTRIBUTES: dict[str, AttributeSpec] = {
    "sharding": _optional(K.RAW),
    "frontend_attributes": _optional(K.RAW),
    "backend_config": _optional(K.RAW),
    "control-predecessors": _optional(K.INSTRUCTIONS, ()),
    "origin": _optional(K.RAW),
    "original_value": _optional(K.RAW),
    "statistics": _optional(K.RAW),
    "parameter_replication": _optional(K.BOOLS),
    "result_accuracy": _optional(K.RAW),
    "metadata": _optional(K.RAW),
}

_ints = _optional(K.INTEGERS, ())
_dimensions = {"dimensions": _required(K.INTEGERS)}
_reducer = {"to_apply": _required(K.COMPUTATION)}
_window = {"window": _optional(K.WINDOW, ())}
_precision = {"operand_precision": _optional(K.PRECISIONS, ())}
_channel = {"channel_id": _optional(K.INTEGER)}
_groups = {
    **_channel,
    "replica_groups": _optional(K.REPLICA_GROUPS),
    "constrain_layout": _optional(K.BOOL, False),
    "use_global_device_ids": _optional(K.BOOL, False),
    "mode": _optional(K.WORD),
}
_contraction = {
    "lhs_batch_dims": _ints,
    "rhs_batch_dims": _ints,
    "lhs_contracting_dims": _ints,
    "rhs_contracting_dims": _ints,
    **_precision,
    "algorithm": _optional(K.WORD),
}
_async = {
    "calls": _optional(K.COMPUTATION),
    "async_execution_thread": _note(K.STRING, "main"),
    "async_group_id": _note(K.INTEGER),
}
_transfer = {**_channel, "is_host_transfer": _optional(K.BOOL, False)}
_aliasing = {"output_to_operand_aliasing": _note(K.RAW)}


def _rows() -> list[OpSpec]:
    rows: list[OpSpec] = []

    def add(
        topic: str,
        names: str,
        arity: int | tuple[int, int | None],
        *attributes: dict[str, AttributeSpec],
        **columns: Any,
    ) -> None:
        bounds = (arity, arity) if isinstance(arity, int) else arity
        merged = {key: spec for table in attributes for key, spec in table.items()}
        rows.extend(OpSpec(name, topic, bounds, merged, **columns) for name in names.split())

    # -- element-wise
    add("elementwise", "ceil floor round-nearest-afz round-nearest-even cbrt erf exp2 log2", 1, takes="floating")
    add(
        "elementwise",
        "acos acosh asin asinh atanh cosine cosh exponential exponential-minus-one log log-plus-one logistic rsqrt "
        "sine sinh sqrt tan tanh",
        1,
        takes="inexact",
    )
    add("elementwise", "count-leading-zeros popcnt", 1, takes="integer")
    add("elementwise", "not", 1, takes="bits")
    add("elementwise", "negate", 1, takes="number")
    add("elementwise", "sign", 1, takes="signed")
    add("elementwise", "abs bitcast-convert convert imag is-finite real", 1)
    add("elementwise", "add maximum minimum multiply", 2, takes="any")
    add("elementwise", "divide power remainder subtract", 2, takes="number")
    add("elementwise", "atan2", 2, takes="inexact")
    add("elementwise", "and or xor", 2, takes="bits")
    add("elementwise", "mulhi shift-left shift-right-arithmetic shift-right-logical", 2, takes="integer")
    add("elementwise", "complex stochastic-convert", 2)
    rows.sort(key=lambda row: (row.arity, row.opcode))
    add("elementwise", "clamp select", 3)
    add(
        "elementwise",
        "compare",
        2,
        {
            "direction": _required(K.WORD, "EQ", "NE", "GE", "GT", "LE", "LT"),
            "type": _optional(K.WORD, None, "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
            "order": _optional(K.WORD, None, "PARTIAL", "TOTAL"),  # read as `type`
        },
    )
    add(
        "elementwise",
        "reduce-precision",
        1,
        {"exponent_bits": _required(K.INTEGER), "mantissa_bits": _required(K.INTEGER)},
    )
    # -- leaves
    add("leaf", "parameter", 0, {"parameter_number": _required(K.INTEGER)})
    add("leaf", "constant", 0, {"literal": _required(K.LITERAL)})
    add("leaf", "iota", 0, {"iota_dimension": _optional(K.INTEGER, 0)})
    # -- shape
    add("shape", "bitcast copy", 1)
    add("shape", "reshape", 1, {"inferred_dimension": _note(K.INTEGER)})
    add("shape", "broadcast", 1, {"dimensions": _ints})
    add("shape", "transpose reverse", 1, _dimensions)
    add("shape", "shuffle", 1, _dimensions, {"mode": _required(K.WORD, "rotate"), "shifts": _required(K.INTEGERS)})
    add("shape", "concatenate", (1, MANY), _dimensions)
    add("shape", "slice", 1, {"slice": _required(K.SLICE)})
    add("shape", "pad", 2, {"padding": _required(K.PADDING)})
    add("shape", "dynamic-slice", (1, MANY), {"dynamic_slice_sizes": _required(K.INTEGERS)})
    add("shape", "dynamic-update-slice", (2, MANY))
    add("shape", "get-dimension-size", 1, _dimensions)
    add("shape", "set-dimension-size", 2, _dimensions)
    add("shape", "dynamic-reshape", (1, MANY))
    # -- gather and scatter
    _index_numbers = {
        "index_vector_dim": _required(K.INTEGER),
        "indices_are_sorted": _optional(K.BOOL, False),
    }
    add(
        "gather and scatter",
        "gather",
        2,
        {
            "offset_dims": _ints,
            "collapsed_slice_dims": _ints,
            "start_index_map": _ints,
            "operand_batching_dims": _ints,
            "start_indices_batching_dims": _ints,
            "slice_sizes": _required(K.INTEGERS),
        },
        _index_numbers,
    )
    add(
        "gather and scatter",
        "scatter",
        (3, MANY),
        {
            "update_window_dims": _ints,
            "inserted_window_dims": _ints,
            "scatter_dims_to_operand_dims": _ints,
            "input_batching_dims": _ints,
            "scatter_indices_batching_dims": _ints,
            "unique_indices": _optional(K.BOOL, False),
        },
        _index_numbers,
        _reducer,
    )
    # -- reductions and windows
    add("reduction", "reduce", (2, MANY), _dimensions, _reducer)
    add("reduction", "reduce-window", (2, MANY), _window, _reducer)
    add(
        "reduction",
        "select-and-scatter",
        3,
        _window,
        {"select": _required(K.COMPUTATION), "scatter": _required(K.COMPUTATION)},
    )
    add("reduction", "sort", (1, MANY), {"dimensions": _ints, "is_stable": _optional(K.BOOL, False)}, _reducer)
    add(
        "reduction",
        "topk",
        1,
        {
            "k": _required(K.INTEGER),
            "largest": _optional(K.BOOL, True),
            "is_stable": _optional(K.BOOL, False),
            "to_apply": _optional(K.COMPUTATION),
        },
    )
    add("reduction", "map", (0, MANY), {"dimensions": _ints}, _reducer)
    add(
        "reduction",
        "scan",
        (1, MANY),
        _reducer,
        {
            "dimensions": _ints,
            "is_reverse": _optional(K.BOOL, False),
            "num_carries": _optional(K.INTEGER),
            "is_associative": _optional(K.WORD),
        },
    )
    _norm = {"epsilon": _required(K.FLOAT), "feature_index": _required(K.INTEGER)}
    add("normalisation", "batch-norm-training", 3, _norm)
    add("normalisation", "batch-norm-inference batch-norm-grad", 5, _norm)
    # -- contraction, linear algebra, transforms
    _sparse = {"sparsity": _optional(K.RAW), "sparsity_config": _optional(K.RAW)}
    add("contraction", "dot", (2, MANY), _contraction, _sparse)
    add("contraction", "ragged-dot", 3, _contraction, {"lhs_ragged_dims": _ints, "rhs_group_dims": _ints})
    add("contraction", "scaled-dot", (3, 4), _contraction)
    add(
        "contraction",
        "convolution",
        2,
        {
            "window": _optional(K.WINDOW, ()),
            "dim_labels": _required(K.DIM_LABELS),
            "feature_group_count": _optional(K.INTEGER, 1),
            "batch_group_count": _optional(K.INTEGER, 1),
            "sparsity_config": _optional(K.RAW),
            "convolution_kind": _note(K.WORD, None, "fprop", "dgrad", "wgrad"),
        },
        _precision,
    )
    add(
        "linear algebra",
        "fft",
        1,
        {"fft_type": _required(K.WORD, "FFT", "IFFT", "RFFT", "IRFFT"), "fft_length": _required(K.INTEGERS)},
    )
    add("linear algebra", "cholesky", 1, {"lower": _optional(K.BOOL, False)})
    add(
        "linear algebra",
        "triangular-solve",
        2,
        {
            "left_side": _optional(K.BOOL, False),
            "lower": _optional(K.BOOL, False),
            "unit_diagonal": _optional(K.BOOL, False),
            "transpose_a": _optional(K.WORD, "NO_TRANSPOSE", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
        },
    )
    # -- random numbers
    add("random", "rng", (2, 3), {"distribution": _required(K.WORD, "rng_uniform", "rng_normal")}, has_side_effect=True)
    add(
        "random",
        "rng-bit-generator",
        1,
        {"algorithm": _required(K.WORD, "rng_default", "rng_three_fry", "rng_philox")},
    )
    add("random", "rng-get-and-update-state", 0, {"delta": _required(K.INTEGER)}, has_side_effect=True)
    # -- control
    add("control", "tuple", (0, MANY))
    add("control", "get-tuple-element", 1, {"index": _required(K.INTEGER)})
    add("control", "while", 1, {"condition": _required(K.COMPUTATION), "body": _required(K.COMPUTATION)})
    add(
        "control",
        "conditional",
        (1, MANY),
        {
            "true_computation": _optional(K.COMPUTATION),
            "false_computation": _optional(K.COMPUTATION),
            "branch_computations": _optional(K.COMPUTATIONS),
        },
    )
    add("control", "call", (0, MANY), _reducer, _aliasing, {"is_composite": _note(K.BOOL, False)})
    add(
        "control",
        "fusion",
        (0, MANY),
        {
            "kind": replace(_required(K.WORD, "kLoop", "kInput", "kOutput", "kCustom"), is_note=True),
            "calls": _required(K.COMPUTATION),
        },
        _aliasing,
    )
    add("control", "async-start", (0, MANY), _async, _aliasing)
    add("control", "async-update async-done", 1, _async)
    add("control", "opt-barrier", 1)
    add("control", "add-dependency", 2)
    add("control", "after-all", (0, MANY))
    add("control", "domain", 1, {"domain": _required(K.RAW)})
    add("control", "copy-start", 1, {"cross_program_prefetch_index": _note(K.INTEGER)})
    add("control", "copy-done", 1)
    add(
        "control",
        "custom-call",
        (0, MANY),
        {
            "custom_call_target": _required(K.STRING),
            "window": _optional(K.WINDOW),
            "dim_labels": _optional(K.DIM_LABELS),
            "feature_group_count": _optional(K.INTEGER, 1),
            "batch_group_count": _optional(K.INTEGER, 1),
            "called_computations": _optional(K.COMPUTATIONS, ()),
            "to_apply": _optional(K.COMPUTATION),
            "operand_layout_constraints": _optional(K.SHAPES),
            "custom_call_has_side_effect": _optional(K.BOOL, False),
            "schedule": _optional(K.WORD),
            "api_version": _optional(K.WORD),
            "literal": _optional(K.LITERAL),
            "padding_type": _optional(K.WORD),
        },
        _precision,
        _aliasing,
    )
    # -- communication
    collective = {"replica_only": True}
    add("communication", "all-reduce all-reduce-start", (1, MANY), _groups, _reducer, **collective)
    add("communication", "reduce-scatter", (1, MANY), _groups, _reducer, _dimensions, **collective)
    add("communication", "all-gather all-gather-start", (1, MANY), _groups, _dimensions, **collective)
    add("communication", "all-to-all", (1, MANY), _groups, {"dimensions": _optional(K.INTEGERS)}, **collective)
    add("communication", "ragged-all-to-all", 6, _groups, **collective)
    _root = {"has_dynamic_root": _optional(K.BOOL, False)}
    add("communication", "collective-broadcast", (1, MANY), _groups, _root, **collective)
    add("communication", "collective-reduce", (1, MANY), _groups, _reducer, _root, **collective)
    _permute = {**_channel, "source_target_pairs": _required(K.PAIRS), "slice_sizes": _optional(K.RAW)}
    add("communication", "collective-permute collective-permute-start", (1, MANY), _permute, _aliasing, **collective)
    add("communication", "all-reduce-done all-gather-done collective-permute-done", 1, _channel, **collective)
    add("communication", "replica-id partition-id", 0)
    effect = {"has_side_effect": True}
    add("communication", "send", 2, _transfer, has_side_effect=True, replica_only=True)
    add("communication", "recv", 1, _transfer, has_side_effect=True, replica_only=True)
    add("communication", "send-done recv-done", 1, _transfer, has_side_effect=True, replica_only=True)
    add("communication", "infeed", 1, {"infeed_config": _optional(K.STRING, "")}, **effect)
    add(
        "communication",
        "outfeed",
        2,
        {"outfeed_config": _optional(K.STRING, ""), "outfeed_shape": _optional(K.SHAPE)},
        **effect,
    )
    return rows


OPCODES: dict[str, OpSpec] = {spec.opcode: spec for spec in _rows()}

ATTRIBUTES = frozenset(COMMON_ATTRIBUTES).union(*(spec.attributes for spec in OPCODES.values()))

ELEMENTWISE = frozenset(opcode for opcode, spec in OPCODES.items() if spec.is_elementwise)
