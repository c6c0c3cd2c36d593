"""Which operation of HLO an operation of StableHLO is, and what its attributes are called there.

A row names the opcode and, for each attribute of HLO, the reader of it: a function of the attributes, which the text
and the bytecode spell differently. Operations of another build than one instruction have a rule in :mod:`.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np

from ..dataclass import dataclass
from ..hlo.attribute_parsers import parse_dim_labels
from ..hlo.attributes import PaddingDimension, Raw, ReplicaGroups, SliceDimension, Window, WindowDimension
from ..hlo.shapes import ArrayShape
from .attributes import integers
from .properties import ACCURATE

Attributes = Mapping[str, Any]
Reader = Callable[[Attributes], Any]  # None for an attribute that is left out


class AttributeValueError(ValueError):
    """An attribute is not what the operation takes; the text says which."""


@dataclass(frozen=True, slots=True)
class Row:
    """One operation. The reader of ``""`` gives a dict of several attributes."""

    opcode: str
    attributes: Mapping[str, Reader] = field(default_factory=dict)

    def read(self, attributes: Attributes) -> dict[str, Any]:
        """The attributes in HLO. Raises ``AttributeValueError``."""
        found: dict[str, Any] = {}
        for key, reader in self.attributes.items():
            value = reader(attributes)
            if not key:
                found.update(value)
            elif value is not None:
                found[key] = value
        return found


def numbers(*names: str, default: tuple[int, ...] | None = None, is_needed: bool = True) -> Reader:
    """A list of integers, by the first of its names that is there."""

    def read(attributes: Attributes) -> tuple[int, ...] | None:
        for name in names:
            if name in attributes:
                value = integers(attributes[name])
                if value is None:
                    raise AttributeValueError(f"`{name}` should be a list of integers")
                return value
        if default is None and is_needed:
            raise AttributeValueError(f"the attribute `{names[0]}` is missing")
        return default

    return read


def number(*names: str, default: int | None = None) -> Reader:
    """An integer."""

    def read(attributes: Attributes) -> int:
        for name in names:
            if name in attributes:
                value = attributes[name]
                if not isinstance(value, int) or isinstance(value, bool):
                    raise AttributeValueError(f"`{name}` should be an integer")
                return int(value)
        if default is None:
            raise AttributeValueError(f"the attribute `{names[0]}` is missing")
        return default

    return read


def flag(name: str) -> Reader:
    """A truth value; left out where it is false."""
    return lambda attributes: True if attributes.get(name) is True or attributes.get(name) == 1 else None


def word(*names: str, default: str | None = None, words: Mapping[str, str] | None = None) -> Reader:
    """A word of an enumeration, in HLO's spelling."""

    def read(attributes: Attributes) -> str | None:
        value = next((attributes[name] for name in names if name in attributes), default)
        if value is None:
            raise AttributeValueError(f"the attribute `{names[0]}` is missing")
        if not isinstance(value, str) or (words is not None and value not in words):
            raise AttributeValueError(f"`{names[0]}` should be one of {', '.join(words or ())}")
        return words[value] if words is not None else value

    return read


def one_dimension(*names: str) -> Reader:
    """An integer that HLO has as a list of one."""
    inner = number(*names)
    return lambda attributes: (inner(attributes),)


# -- of single operations


def _scan(attributes: Attributes) -> dict[str, Any]:
    sizes = integers(attributes.get("operandSegmentSizes"))
    if sizes is None or len(sizes) != 2:
        raise AttributeValueError("`operandSegmentSizes` should be two integers")
    associative = attributes.get("is_associative")
    word = {} if associative is None else {"is_associative": str(bool(associative)).lower()}
    return {"num_carries": sizes[1], **word}


_DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")


def _comparison(attributes: Attributes) -> dict[str, str]:
    words = attributes.get("words", ())
    direction = attributes.get("comparison_direction", words[0] if words else None)
    kind = attributes.get("compare_type", words[1] if len(words) > 1 else None)
    if direction not in _DIRECTIONS:
        raise AttributeValueError(f"a comparison has one of the directions {', '.join(_DIRECTIONS)}")
    return {"direction": direction, **({"type": kind} if kind == "TOTALORDER" else {})}


def _slices(attributes: Attributes) -> tuple[SliceDimension, ...]:
    if "start_indices" in attributes:
        parts = [numbers(name)(attributes) for name in ("start_indices", "limit_indices")]
        strides = numbers("strides", default=(1,) * len(parts[0]))(attributes)
        if not len(parts[0]) == len(parts[1]) == len(strides):
            raise AttributeValueError("the indices of a slice are not as many as its dimensions")
        rows = list(zip(*parts, strides, strict=True))
    else:
        words = attributes.get("words", ((),))
        rows = list(words[0]) if words and isinstance(words[0], tuple) else []
        if not all(isinstance(row, tuple) and len(row) == 3 for row in rows):
            raise AttributeValueError("a slice has `[start:limit:stride]` for each dimension")
    return tuple(SliceDimension(*row) for row in rows)


def _padding(attributes: Attributes) -> tuple[PaddingDimension, ...]:
    low = numbers("edge_padding_low", "low")(attributes)
    high = numbers("edge_padding_high", "high")(attributes)
    interior = numbers("interior_padding", "interior")(attributes)
    if not len(low) == len(high) == len(interior):
        raise AttributeValueError("the paddings are not as many as the dimensions")
    return tuple(PaddingDimension(*row) for row in zip(low, high, interior, strict=True))


def window(attributes: Attributes, sizes: tuple[int, ...], prefix: Mapping[str, str] | None = None) -> Window:
    """The window of these sizes, with the strides, paddings and dilations that the attributes have."""
    names = {"strides": "window_strides", "base": "base_dilations", "window": "window_dilations", **(prefix or {})}
    ones = (1,) * len(sizes)
    strides, base, dilation = (
        numbers(names[key], default=ones)(attributes) or ones for key in ("strides", "base", "window")
    )
    padding = attributes.get("padding")
    pads = _pairs(padding) if padding is not None else [(0, 0)] * len(sizes)
    reversal = attributes.get("window_reversal", ())
    reversal = reversal.ravel().tolist() if isinstance(reversal, np.ndarray) else reversal or (False,) * len(sizes)
    columns = (sizes, strides, pads, base, dilation, reversal)
    if len({len(column) for column in columns}) != 1:
        raise AttributeValueError("strides, paddings and dilations are not as many as the window's dimensions")
    return tuple(
        WindowDimension(size, stride, low, high, first, second, bool(turn))
        for size, stride, (low, high), first, second, turn in zip(*columns, strict=True)
    )


def _pairs(value: Any) -> list[tuple[int, int]]:
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 2 and value.dtype.kind in "iu":
        return [(int(a), int(b)) for a, b in value.tolist()]
    if isinstance(value, np.ndarray) and not value.size:
        return []
    rows = [integers(row) for row in value] if isinstance(value, tuple) else [None]
    if all(row is not None and len(row) == 2 for row in rows):
        return [(row[0], row[1]) for row in rows if row is not None]
    raise AttributeValueError("pairs of integers are expected")


def _window_of_reduction(attributes: Attributes) -> Window:
    return window(attributes, numbers("window_dimensions")(attributes))


def _precisions(attributes: Attributes) -> tuple[str, ...] | None:
    found = attributes.get("precision_config", attributes.get("precision", ()))
    words = tuple(str(each).lower() for each in found) if isinstance(found, tuple) else ()
    return words if any(each != "default" for each in words) else None


def _contraction(attributes: Attributes) -> dict[str, Any]:
    flat = attributes if "lhs_contracting_dimensions" in attributes else None
    numbers_of = attributes.get("dot_dimension_numbers", flat)
    if isinstance(numbers_of, Mapping):
        pairs = {
            "batch": [numbers_of.get(f"{side}_batching_dimensions", ()) for side in ("lhs", "rhs")],
            "contracting": [numbers_of.get(f"{side}_contracting_dimensions", ()) for side in ("lhs", "rhs")],
        }
    else:
        pairs = {
            "batch": list(attributes.get("batching_dims", ((), ()))),
            "contracting": list(attributes.get("contracting_dims", ((), ()))),
        }
    found: dict[str, Any] = {}
    for key, sides in pairs.items():
        if len(sides) != 2 or any(integers(side) is None for side in sides):
            raise AttributeValueError("a product has lists of dimensions, `[..] x [..]`")
        for side, dims in zip(("lhs", "rhs"), map(integers, sides), strict=True):
            if dims or key == "contracting":
                found[f"{side}_{key}_dims"] = dims
    precision = _precisions(attributes)
    return {**found, **({"operand_precision": precision} if precision else {}), **_algorithm(attributes)}


def _ragged_contraction(attributes: Attributes) -> dict[str, Any]:
    """A product of rows with the matrices of their groups."""
    numbers_ = attributes.get("ragged_dot_dimension_numbers", attributes)
    if not isinstance(numbers_, Mapping):
        raise AttributeValueError("the dimension numbers are missing")
    own = {"dot_dimension_numbers": numbers_, "precision_config": attributes.get("precision_config", ())}
    ragged = {"lhs_ragged_dims": "lhs_ragged_dimensions", "rhs_group_dims": "rhs_group_dimensions"}
    return {**_contraction(own), **{key: numbers(name)(numbers_) for key, name in ragged.items()}}


_ALGORITHMS = {  # by operand types, accumulation, components and products
    ("f8E4M3FN", "f32", 1, 1): "dot_any_f8_any_f8_f32",
    ("f16", "f16", 1, 1): "dot_f16_f16_f16",
    ("f16", "f32", 1, 1): "dot_f16_f16_f32",
    ("bf16", "bf16", 1, 1): "dot_bf16_bf16_bf16",
    ("bf16", "f32", 1, 1): "dot_bf16_bf16_f32",
    ("bf16", "f32", 1, 3): "dot_bf16_bf16_f32_x3",
    ("bf16", "f32", 1, 6): "dot_bf16_bf16_f32_x6",
    ("bf16", "f32", 1, 9): "dot_bf16_bf16_f32_x9",
    ("tf32", "f32", 1, 1): "dot_tf32_tf32_f32",
    ("tf32", "f32", 1, 3): "dot_tf32_tf32_f32_x3",
    ("f32", "f32", 1, 1): "dot_f32_f32_f32",
    ("f64", "f64", 1, 1): "dot_f64_f64_f64",
}


def _algorithm(attributes: Attributes) -> dict[str, str]:
    found = attributes.get("algorithm")
    if not isinstance(found, dict):
        return {}
    key = (
        str(found.get("lhs_precision_type")),
        str(found.get("accumulation_type")),
        found.get("lhs_component_count"),
        found.get("num_primitive_operations"),
    )
    name = _ALGORITHMS.get(key)  # type: ignore[arg-type]
    return {"algorithm": name} if name is not None else {}


def convolution_numbers(attributes: Attributes) -> Any:
    """Which dimension of each array plays which part."""
    if "input_batch_dimension" in attributes:
        return _flat_convolution(attributes)
    found = attributes.get("dimension_numbers", attributes.get("dim_numbers"))
    if not isinstance(found, str):
        raise AttributeValueError("a convolution has dimension numbers")
    try:
        return parse_dim_labels(found)
    except ValueError as error:
        raise AttributeValueError(f"the dimension numbers of a convolution are wrong: {error}") from None


def convolution(attributes: Attributes, kernel: ArrayShape) -> dict[str, Any]:
    """The attributes of a convolution with a kernel, which says the sizes of the window."""
    labels = convolution_numbers(attributes)
    if max(labels.kernel_spatial, default=0) >= kernel.rank:
        raise AttributeValueError("the kernel has fewer dimensions than its labels")
    sizes = tuple(kernel.dimensions[d] for d in labels.kernel_spatial)
    rows = window(_window_of_convolution(attributes), sizes)
    found: dict[str, Any] = {**({"window": rows} if rows else {}), "dim_labels": labels}
    for key in ("feature_group_count", "batch_group_count"):
        count = number(key, default=1)(attributes)
        found |= {key: count} if count != 1 else {}
    precision = _precisions(attributes)
    return found | ({"operand_precision": precision} if precision else {})


def _window_of_convolution(attributes: Attributes) -> dict[str, Any]:
    """The window of a convolution, which its pretty form keeps apart, under the names of the generic one."""
    pretty = attributes.get("window")
    own = {
        "stride": "window_strides",
        "pad": "padding",
        "lhs_dilate": "base_dilations",
        "rhs_dilate": "window_dilations",
    }
    found = {name: pretty[key] for key, name in own.items() if key in pretty} if isinstance(pretty, dict) else {}
    if isinstance(pretty, dict) and "reverse" in pretty:
        found["window_reversal"] = pretty["reverse"]
    generic = {"lhs_dilation": "base_dilations", "rhs_dilation": "window_dilations"}
    found |= {generic.get(key, key): value for key, value in attributes.items() if key != "window"}
    return found


def _flat_convolution(attributes: Attributes) -> Any:
    """The same, of attributes with a number each."""
    texts: list[str] = []
    for side, first, second, letters in (
        ("input", "batch", "feature", "bf"),
        ("kernel", "input_feature", "output_feature", "io"),
        ("output", "batch", "feature", "bf"),
    ):
        places = [number(f"{side}_{part}_dimension")(attributes) for part in (first, second)]
        spatial = numbers(f"{side}_spatial_dimensions")(attributes)
        labels = {**dict(zip(places, letters, strict=True)), **{place: str(k) for k, place in enumerate(spatial)}}
        texts.append("".join(labels.get(k, "?") for k in range(len(spatial) + 2)))
    return convolution_numbers({"dimension_numbers": f"{texts[0]}_{texts[1]}->{texts[2]}"})


def _indexing(names: Mapping[str, str], optional: Mapping[str, str]) -> Reader:
    """The numbers of a gather or a scatter."""

    def read(attributes: Attributes) -> dict[str, Any]:
        found = attributes.get("dimension_numbers", attributes.get("scatter_dimension_numbers", attributes))
        if not isinstance(found, Mapping):
            raise AttributeValueError("the dimension numbers are missing")
        made: dict[str, Any] = {own: numbers(name, default=())(found) for own, name in names.items()}
        batch = {own: numbers(name, default=())(found) for own, name in optional.items()}
        made |= batch if any(batch.values()) else {}
        made["index_vector_dim"] = number("index_vector_dim", default=0)(found)
        return made

    return read


_gather = _indexing(
    {key: key for key in ("offset_dims", "collapsed_slice_dims", "start_index_map")},
    {key: key for key in ("operand_batching_dims", "start_indices_batching_dims")},
)
_scatter = _indexing(
    {key: key for key in ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims")},
    {key: key for key in ("input_batching_dims", "scatter_indices_batching_dims")},
)


def _format(attributes: Attributes) -> dict[str, int]:
    text = attributes.get("format")
    if isinstance(text, str) and text.startswith("e") and "m" in text:
        exponent, _, mantissa = text[1:].partition("m")
        if exponent.isdecimal() and mantissa.isdecimal():
            return {"exponent_bits": int(exponent), "mantissa_bits": int(mantissa)}
    return {key: number(key)(attributes) for key in ("exponent_bits", "mantissa_bits")}


def replica_groups(attributes: Attributes) -> ReplicaGroups | None:
    """The groups of devices; -1 fills up rows that are shorter than others."""
    found = attributes.get("replica_groups")
    if not isinstance(found, np.ndarray) or found.ndim != 2:
        return None
    groups = tuple(tuple(int(n) for n in row if n >= 0) for row in found.tolist())
    return ReplicaGroups(tuple(group for group in groups if group))


def channel(attributes: Attributes) -> int | None:
    """The number of a channel; none where it is 0."""
    found = attributes.get("channel_handle", attributes.get("channel_id"))
    handle = found.get("handle") if isinstance(found, Mapping) else found
    return handle if isinstance(handle, int) and handle > 0 else None


_GROUPS: dict[str, Reader] = {
    "channel_id": channel,
    "replica_groups": replica_groups,
    "use_global_device_ids": flag("use_global_device_ids"),
}

_SAME_NAME = (
    "abs add and atan2 ceil clamp complex convert divide erf floor imag maximum "
    "minimum multiply negate not or popcnt power real remainder select sign subtract xor "
    "count_leading_zeros is_finite round_nearest_afz round_nearest_even shift_left "
    "shift_right_arithmetic shift_right_logical bitcast_convert reshape partition_id replica_id after_all"
).split()


def _accuracy(attributes: Attributes) -> Raw | None:
    """How exact a function is to be; nothing where that is left to XLA."""
    found = attributes.get("result_accuracy")
    if not isinstance(found, Mapping) or found.get("mode") not in ("HIGHEST", "TOLERANCE"):
        return None
    if found["mode"] == "HIGHEST":
        return Raw("{mode=highest}")
    bounds = [found.get("atol", 0.0), found.get("rtol", 0.0), found.get("ulps", 0)]
    if not all(isinstance(bound, int | float) for bound in bounds):
        raise AttributeValueError("the bounds of `result_accuracy` should be numbers")
    return Raw("{{tolerance={{atol={:g},rtol={:g},ulps={:d}}}}}".format(*bounds[:2], int(bounds[2])))


ROWS: dict[str, Row] = {
    **{f"stablehlo.{name}": Row(name.replace("_", "-")) for name in _SAME_NAME},
    **{f"stablehlo.{name}": Row(name.replace("_", "-"), {"result_accuracy": _accuracy}) for name in ACCURATE},
    "stablehlo.compare": Row("compare", {"": _comparison}),
    "stablehlo.transpose": Row("transpose", {"dimensions": numbers("permutation", "dims")}),
    "stablehlo.reverse": Row("reverse", {"dimensions": numbers("dimensions", "dims")}),
    "stablehlo.concatenate": Row("concatenate", {"dimensions": one_dimension("dimension", "dim")}),
    "stablehlo.slice": Row("slice", {"slice": _slices}),
    "stablehlo.pad": Row("pad", {"padding": _padding}),
    "stablehlo.dynamic_slice": Row("dynamic-slice", {"dynamic_slice_sizes": numbers("slice_sizes", "sizes")}),
    "stablehlo.dynamic_update_slice": Row("dynamic-update-slice"),
    "stablehlo.get_dimension_size": Row("get-dimension-size", {"dimensions": one_dimension("dimension", "dim")}),
    "stablehlo.set_dimension_size": Row("set-dimension-size", {"dimensions": one_dimension("dimension", "dim")}),
    "stablehlo.reduce_precision": Row("reduce-precision", {"": _format}),
    "stablehlo.gather": Row(
        "gather", {"": _gather, "slice_sizes": numbers("slice_sizes"), "indices_are_sorted": flag("indices_are_sorted")}
    ),
    "stablehlo.scatter": Row(
        "scatter",
        {"": _scatter, "indices_are_sorted": flag("indices_are_sorted"), "unique_indices": flag("unique_indices")},
    ),
    "stablehlo.reduce": Row("reduce", {"dimensions": numbers("dimensions")}),
    "stablehlo.reduce_window": Row("reduce-window", {"window": _window_of_reduction}),
    "stablehlo.select_and_scatter": Row("select-and-scatter", {"window": _window_of_reduction}),
    "stablehlo.sort": Row("sort", {"dimensions": one_dimension("dimension"), "is_stable": flag("is_stable")}),
    "stablehlo.map": Row("map", {"dimensions": numbers("dimensions", default=())}),
    "stablehlo.dot_general": Row("dot", {"": _contraction}),
    "chlo.ragged_dot": Row("ragged-dot", {"": _ragged_contraction}),
    "stablehlo.fft": Row(
        "fft",
        {
            "fft_type": word("fft_type", "type", words={key: key for key in ("FFT", "IFFT", "RFFT", "IRFFT")}),
            "fft_length": numbers("fft_length", "length"),
        },
    ),
    "stablehlo.cholesky": Row("cholesky", {"lower": flag("lower")}),
    "stablehlo.triangular_solve": Row(
        "triangular-solve",
        {
            "left_side": flag("left_side"),
            "lower": flag("lower"),
            "unit_diagonal": flag("unit_diagonal"),
            "transpose_a": word(
                "transpose_a",
                default="NO_TRANSPOSE",
                words={key: key for key in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")},
            ),
        },
    ),
    "stablehlo.rng": Row(
        "rng",
        {
            "distribution": word(
                "rng_distribution", "distribution", words={"UNIFORM": "rng_uniform", "NORMAL": "rng_normal"}
            )
        },
    ),
    "stablehlo.rng_bit_generator": Row(
        "rng-bit-generator",
        {
            "algorithm": word(
                "rng_algorithm",
                "algorithm",
                words={"DEFAULT": "rng_default", "THREE_FRY": "rng_three_fry", "PHILOX": "rng_philox"},
            )
        },
    ),
    **{
        f"stablehlo.batch_norm_{name}": Row(
            f"batch-norm-{name}",
            {
                "epsilon": lambda attributes: float(str(np.float32(attributes.get("epsilon", 0.0)))),
                "feature_index": number("feature_index"),
            },
        )
        for name in ("training", "inference", "grad")
    },
    "stablehlo.optimization_barrier": Row("opt-barrier"),
    "stablehlo.create_token": Row("after-all"),
    "stablehlo.all_reduce": Row("all-reduce", _GROUPS),
    "stablehlo.reduce_scatter": Row("reduce-scatter", {**_GROUPS, "dimensions": one_dimension("scatter_dimension")}),
    "stablehlo.all_gather": Row("all-gather", {**_GROUPS, "dimensions": one_dimension("all_gather_dim")}),
    "stablehlo.collective_broadcast": Row("collective-broadcast", _GROUPS),
    "stablehlo.collective_reduce": Row("collective-reduce", {**_GROUPS, "has_dynamic_root": flag("has_dynamic_root")}),
    "stablehlo.collective_permute": Row(
        "collective-permute",
        {
            "channel_id": channel,
            "source_target_pairs": lambda attributes: tuple(_pairs(attributes.get("source_target_pairs"))),
        },
    ),
    "chlo.erf": Row("erf"),
    "chlo.tan": Row("tan"),
    "chlo.mulhi": Row("mulhi"),
    "chlo.scan": Row("scan", {"": _scan, "dimensions": one_dimension("dimension"), "is_reverse": flag("is_reverse")}),
    "chlo.top_k": Row("topk", {"k": number("k"), "largest": lambda attributes: True}),
}
