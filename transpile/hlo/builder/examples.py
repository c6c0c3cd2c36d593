"""One small program for every operation of the builder, for the builder's documentation and for tests.

An example is Python text over ``b``, a builder, and the named parameters; its value is the program's result.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...dataclass import dataclass
from .. import builder
from ..ir import HloModule
from ..lexer import Cursor
from ..shape_parser import parse_shape
from ..source import SourceText
from . import XlaBuilder, XlaOp


@dataclass(frozen=True, slots=True)
class BuilderExample:
    """A program for one operation; ``parameters`` is ``"x=f32[4] y=s32[]"``."""

    operation: str
    code: str
    parameters: str
    replica_count: int = 1

    def build(self) -> HloModule:
        """Return the module that the code builds."""
        b = XlaBuilder(self.operation)
        names = {name: getattr(builder, name) for name in builder.__all__}
        for number, (name, shape) in enumerate(self._shapes()):
            names[name] = b.parameter(number, shape, name)
        result = eval(self.code, names, {"b": b})  # trusted text from the table below
        return b.build(result if isinstance(result, XlaOp) else None, replica_count=self.replica_count)

    def _shapes(self) -> Iterator[tuple[str, builder.Shape]]:
        for parameter in self.parameters.split():
            name, _, shape = parameter.partition("=")
            yield name, parse_shape(Cursor(SourceText(shape)))


def example(operation: str) -> BuilderExample:
    """Return the example of an operation. Raises ``KeyError`` for an unknown name."""
    code, parameters, *replicas = _EXAMPLES[operation]
    return BuilderExample(operation, code, parameters, *replicas)


def operations() -> list[str]:
    """Return the names of all operations: the builder's public methods."""
    return [name for name in dir(XlaBuilder) if not name.startswith("_") and name not in ("build", "build_computation")]


_X, _XY = "x=f32[4]", "x=f32[4] y=f32[4]"
_INTS = "x=s32[4] y=s32[4]"
_MATRIX = "x=f32[2,3]"
_NORM = "x=f32[4,3] scale=f32[3] offset=f32[3]"
_UNARY = (
    *("abs", "acos", "acosh", "asin", "asinh", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "exp", "exp2", "expm1"),
    *("floor", "is_finite", "log", "log1p", "log2", "logistic", "neg", "reciprocal", "round", "round_nearest_even"),
    *("rsqrt", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
)
_BINARY = ("add", "atan2", "div", "max", "min", "mul", "pow", "rem", "sub", "complex")
_INTEGER = ("and_", "or_", "xor", "mulhi", "shift_left", "shift_right_arithmetic", "shift_right_logical")
_COMPARISONS = ("eq", "ne", "ge", "gt", "le", "lt")

_EXAMPLES: dict[str, tuple[str, str] | tuple[str, str, int]] = {
    **{name: (f"b.{name}(x)", _X) for name in _UNARY},
    **{name: (f"b.{name}(x)", "x=c64[4]") for name in ("conj", "imag", "real")},
    **{name: (f"b.{name}(x)", "x=s32[4]") for name in ("clz", "not_", "population_count")},
    **{name: (f"b.{name}(x, y)", _XY) for name in _BINARY},
    **{name: (f"b.{name}(x, y)", _INTS) for name in _INTEGER},
    **{name: (f"b.{name}(x, y)", _XY) for name in _COMPARISONS},
    **{f"{name}_total_order": (f"b.{name}_total_order(x, y)", _XY) for name in _COMPARISONS},
    # leaves
    "parameter": ("b.parameter(2, make_shape(F32, [4]), 'z')", _XY),
    "constant": ("b.constant([1.5, 2.5], F32)", ""),
    "constant_literal": ("b.add(x, b.constant_literal(2.5))", _X),
    "constant_r0": ("b.add(x, b.constant_r0(2.5, F32))", _X),
    "constant_r1": ("b.add(x, b.constant_r1([1, 2, 3, 4], F32))", _X),
    "zero": ("b.max(x, b.zero(F32))", _X),
    "one": ("b.min(x, b.one(F32))", _X),
    "min_value": ("b.reduce(x, b.min_value(F32), lambda a, c: a.builder.max(a, c), [0])", _X),
    "max_value": ("b.pad_in_dim(x, b.max_value(F32), 0, 1, 0)", _X),
    "iota": ("b.iota(make_shape(S32, [2, 3]), 1)", ""),
    # conversions
    "convert_element_type": ("b.convert_element_type(x, S32)", _X),
    "bitcast_convert_type": ("b.bitcast_convert_type(x, S16)", _X),
    "stochastic_convert_type": ("b.stochastic_convert_type(x, bits, S8)", "x=f32[4] bits=u32[4]"),
    "reduce_precision": ("b.reduce_precision(x, exponent_bits=5, mantissa_bits=10)", _X),
    # three operands
    "clamp": ("b.clamp(-1.0, x, 1.0)", _X),
    "select": ("b.select(b.gt(x, y), x, y)", _XY),
    # shape
    "reshape": ("b.reshape(x, [1, 0], [6])", _MATRIX),
    "collapse": ("b.collapse(x, [1, 2])", "x=f32[4,2,3]"),
    "transpose": ("b.transpose(x, [1, 0])", _MATRIX),
    "rev": ("b.rev(x, [1])", _MATRIX),
    "rotate": ("b.rotate(x, [1], [2])", _MATRIX),
    "broadcast": ("b.broadcast(x, [2])", _X),
    "broadcast_in_dim": ("b.broadcast_in_dim(x, [2, 4, 3], [1, 2])", "x=f32[4,1]"),
    "concat_in_dim": ("b.concat_in_dim([x, y], 0)", _XY),
    "slice": ("b.slice(x, [0, 1], [2, 3], [1, 2])", _MATRIX),
    "slice_in_dim": ("b.slice_in_dim(x, 1, 3, 1, dimension=1)", _MATRIX),
    "dynamic_slice": ("b.dynamic_slice(x, [i], [2])", "x=f32[4] i=s32[]"),
    "dynamic_update_slice": ("b.dynamic_update_slice(x, y, [i])", "x=f32[4] y=f32[2] i=s32[]"),
    "pad": ("b.pad(x, 0.0, PaddingConfig([PaddingConfigDimension(1, 2, interior_padding=1)]))", _X),
    "pad_in_dim": ("b.pad_in_dim(x, 0.0, 0, 1, 2)", _X),
    "copy": ("b.copy(x)", _X),
    "get_dimension_size": ("b.get_dimension_size(x, 1)", _MATRIX),
    "set_dimension_size": ("b.reduce(b.set_dimension_size(x, n, 0), 0.0, lambda a, c: a + c, [0])", "x=f32[4] n=s32[]"),
    "remove_dynamic_dimension": ("b.remove_dynamic_dimension(b.set_dimension_size(x, n, 0), 0)", "x=f32[4] n=s32[]"),
    "dynamic_reshape": (
        "b.reduce(b.dynamic_reshape(b.set_dimension_size(x, n, 0), [n], [4], [True]), 0.0, lambda a, c: a + c, [0])",
        "x=f32[4] n=s32[]",
    ),
    # sub-computations
    "reduce": ("b.reduce(x, 0.0, lambda a, c: a + c, [1])", _MATRIX),
    "reduce_all": ("b.reduce_all(x, 1.0, lambda a, c: a * c)", _MATRIX),
    "reduce_window": ("b.reduce_window(x, 0.0, lambda a, c: a + c, [3], [2], Padding.SAME)", "x=f32[5]"),
    "reduce_window_with_general_padding": (
        "b.reduce_window_with_general_padding(x, 0.0, lambda a, c: a + c, [2], [1], [1], [1], [(1, 0)])",
        "x=f32[5]",
    ),
    "select_and_scatter": (
        "b.select_and_scatter(x, lambda a, c: a >= c, [2], [2], Padding.VALID, y, 0.0, lambda a, c: a + c)",
        "x=f32[4] y=f32[2]",
    ),
    "select_and_scatter_with_general_padding": (
        "b.select_and_scatter_with_general_padding("
        "x, lambda a, c: a >= c, [2], [2], [(0, 1)], y, 0.0, lambda a, c: a + c)",
        "x=f32[5] y=f32[3]",
    ),
    "sort": ("b.sort(x, lambda a, c: a < c)", _X),
    "top_k": ("b.top_k(x, 2)", _X),
    "map": ("b.map([x, y], lambda a, c: a * c + 1.0)", _XY),
    "scan": ("b.scan(x, b.zero(F32), lambda value, total: (total + value, total + value))", _X),
    "gather": (
        "b.gather(x, i, GatherDimensionNumbers([1], [0], [0], index_vector_dim=1), [1, 3])",
        "x=f32[5,3] i=s32[4]",
    ),
    "scatter": (
        "b.scatter(x, i, y, lambda a, c: a + c, ScatterDimensionNumbers([1], [0], [0], index_vector_dim=1))",
        "x=f32[5,3] i=s32[4] y=f32[4,3]",
    ),
    "batch_norm_training": ("b.batch_norm_training(x, scale, offset, 0.001, 1)", _NORM),
    "batch_norm_inference": (
        "b.batch_norm_inference(x, scale, offset, mean, b.abs(variance), 0.001, 1)",
        f"{_NORM} mean=f32[3] variance=f32[3]",
    ),
    "batch_norm_grad": (
        "b.batch_norm_grad(x, scale, mean, b.abs(variance), grad, 0.001, 1)",
        "x=f32[4,3] scale=f32[3] mean=f32[3] variance=f32[3] grad=f32[4,3]",
    ),
    # products
    "dot": ("b.dot(x, y)", "x=f32[2,3] y=f32[3,4]"),
    "dot_general": ("b.dot_general(x, y, DotDimensionNumbers([2], [1], [0], [0]))", "x=f32[5,2,3] y=f32[5,3,4]"),
    "ragged_dot": (
        "b.ragged_dot(x, y, b.constant_r1([1, 2, 2], S32), "
        "RaggedDotDimensionNumbers(DotDimensionNumbers([1], [1]), [0], [0]))",
        "x=f32[5,2] y=f32[3,2,4]",
    ),
    "scaled_dot": (
        "b.scaled_dot(x, y, p, q, DotDimensionNumbers([1], [0]), preferred_element_type=F32)",
        "x=f32[2,4] y=f32[4,3] p=f32[2,2] q=f32[2,3]",
    ),
    "conv": ("b.conv(x, k, [1], Padding.SAME)", "x=f32[1,2,5] k=f32[3,2,3]"),
    "conv_with_general_padding": ("b.conv_with_general_padding(x, k, [2], [(1, 0)])", "x=f32[1,2,5] k=f32[3,2,3]"),
    "conv_with_general_dimensions": (
        "b.conv_with_general_dimensions("
        "x, k, [1], Padding.VALID, convolution_numbers((0, 2, [1]), (1, 2, [0]), (0, 2, [1])))",
        "x=f32[1,5,2] k=f32[3,2,3]",
    ),
    "conv_general": (
        "b.conv_general(x, k, [1], [(1, 1)], convolution_numbers((0, 2, [1]), (1, 2, [0]), (0, 2, [1])))",
        "x=f32[1,5,2] k=f32[3,2,3]",
    ),
    "conv_general_dilated": (
        "b.conv_general_dilated(x, k, [1], [(0, 0)], rhs_dilation=[2], feature_group_count=2)",
        "x=f32[1,2,5] k=f32[4,1,2]",
    ),
    "fft": ("b.fft(x, FftType.RFFT, [4])", _X),
    "cholesky": ("b.cholesky(a, lower=True)", "a=f32[3,3]"),
    "triangular_solve": ("b.triangular_solve(a, y, left_side=True, lower=True)", "a=f32[3,3] y=f32[3,2]"),
    # control
    "tuple": ("b.tuple([x, y])", _XY),
    "get_tuple_element": ("b.get_tuple_element(b.tuple([x, y]), 1)", _XY),
    "call": ("b.call(lambda a, c: a - c, [x, y])", _XY),
    "composite_call": ("b.composite_call(lambda a: a * a, [x], 'my.square')", _X),
    "while_": ("b.while_(lambda i: i < 10, lambda i: i * 2 + 1, i)", "i=s32[]"),
    "conditional": ("b.conditional(p, x, lambda a: -a, y, lambda a: a * 2.0)", "p=pred[] x=f32[4] y=f32[4]"),
    "custom_call": ("b.custom_call('Sharding', [x], make_shape(F32, [4]))", _X),
    "after_all": ("(b.after_all([b.create_token()]), x)[1]", _X),
    "create_token": ("(b.create_token(), x)[1]", _X),
    "optimization_barrier": ("b.optimization_barrier(x) + 1.0", _X),
    # random numbers
    "rng_uniform": ("b.rng_uniform(0.0, 1.0, make_shape(F32, [4]))", ""),
    "rng_normal": ("b.rng_normal(0.0, 1.0, make_shape(F32, [4]))", ""),
    "rng_bit_generator": (
        "b.rng_bit_generator(RandomAlgorithm.RNG_THREE_FRY, s, make_shape(U32, [4]))",
        "s=u64[2]",
    ),
    # communication
    "all_reduce": ("b.all_reduce(x, lambda a, c: a + c)", _X, 2),
    "cross_replica_sum": ("b.cross_replica_sum(x)", _X, 2),
    "all_gather": ("b.all_gather(x, 0, shard_count=2)", _X, 2),
    "reduce_scatter": ("b.reduce_scatter(x, lambda a, c: a + c, 0, shard_count=2)", _X, 2),
    "all_to_all": ("b.all_to_all(x, 1, 0, split_count=2)", "x=f32[2,4]", 2),
    "all_to_all_tuple": ("b.all_to_all_tuple([x, y])", _XY, 2),
    "ragged_all_to_all": (
        "b.ragged_all_to_all(x, o, n, y, o, n)",
        "x=f32[4] o=s32[2] n=s32[2] y=f32[4]",
        2,
    ),
    "collective_broadcast": ("b.collective_broadcast(x, [[1, 0]])", _X, 2),
    "collective_reduce": ("b.collective_reduce(x, lambda a, c: a + c, [[1, 0]])", _X, 2),
    "collective_permute": ("b.collective_permute(x, [(0, 1), (1, 0)])", _X, 2),
    "replica_id": ("b.replica_id()", "", 2),
    "partition_id": ("b.partition_id()", ""),
    "send": ("b.send(x, ChannelHandle(1, ChannelType.DEVICE_TO_HOST))", _X),
    "send_with_token": ("b.send_with_token(x, b.create_token(), ChannelHandle(1, ChannelType.DEVICE_TO_HOST))", _X),
    "recv": ("b.recv(make_shape(F32, [4]), ChannelHandle(1, ChannelType.HOST_TO_DEVICE))", ""),
    "recv_with_token": (
        "b.recv_with_token(b.create_token(), make_shape(F32, [4]), ChannelHandle(1, ChannelType.HOST_TO_DEVICE))[0]",
        "",
    ),
    "infeed": ("b.infeed(make_shape(F32, [4]))", ""),
    "infeed_with_token": ("b.infeed_with_token(b.create_token(), make_shape(F32, [4]))[0]", ""),
    "outfeed": ("b.outfeed(x)", _X),
    "outfeed_with_token": ("b.outfeed_with_token(x, b.create_token())", _X),
}
