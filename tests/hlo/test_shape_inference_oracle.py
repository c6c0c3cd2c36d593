"""Shape rules against XLA's own: its parser infers a result shape that is not written, with the same functions as its
verifier. Each row is an instruction without its shape and the shapes of ``p0``, ``p1``, ..; both must give one shape
or both refuse.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from xla2py.tests.recording.xla_texts import RefusedError, of_module
from xla2py.transpile.hlo.opcodes import OPCODES
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.shape_inference import infer_shape
from xla2py.transpile.hlo.shape_rules.common import shape_text
from xla2py.transpile.hlo.source import XlaToPythonError

COMPUTATIONS = """HloModule shapes
add_f32 { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }
add_bf16 { x = bf16[] parameter(0) y = bf16[] parameter(1) ROOT z = bf16[] add(x, y) }
add_s32 { x = s32[] parameter(0) y = s32[] parameter(1) ROOT z = s32[] add(x, y) }
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = pred[] compare(x, y), direction=LT }
less_pairs { x = f32[] parameter(0) y = f32[] parameter(1) i = s32[] parameter(2) j = s32[] parameter(3)
  ROOT z = pred[] compare(x, y), direction=LT }
pairs { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
  s = f32[] add(a, b) t = s32[] add(i, j) ROOT z = (f32[], s32[]) tuple(s, t) }
below_8 { i = s32[] parameter(0) n = s32[] constant(8) ROOT r = pred[] compare(i, n), direction=LT }
next { i = s32[] parameter(0) k = s32[] constant(1) ROOT r = s32[] add(i, k) }
next_wide { i = s32[] parameter(0) ROOT r = s64[] convert(i) }
negated { a = f32[4] parameter(0) ROOT r = f32[4] negate(a) }
shorter { a = f32[4] parameter(0) ROOT r = f32[2] slice(a), slice={[0:2]} }
step { x = s32[3] parameter(0) c = f32[] parameter(1) o = pred[2] constant({1,0})
  ROOT t = (pred[2], f32[]) tuple(o, c) }
"""
F = "f32[5,7,3]"
NORM = ", epsilon=0.1, feature_index="
DOT = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}"
BATCHED = ", lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"
CONV = ", window={size=3x3}, dim_labels=b01f_01io->b01f"
STRIDED = CONV.replace("3x3", "3x3 stride=2x1 pad=1_0x-1_2 lhs_dilate=1x2 rhs_dilate=2x1")
SOLVE = ", transpose_a=NO_TRANSPOSE"
GATHER = ", offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}"
GATHER += ", start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,3}"
ROWS = ", offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,3}"
SCATTER = ", update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
BATCHED_SCATTER = ", update_window_dims={2}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}"
BATCHED_SCATTER += ", input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=add_f32"
RAGGED = ", lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}"

WITH_ATTRIBUTES = {"convert", "bitcast-convert", "stochastic-convert", "reduce-precision", "compare"}
ELEMENTWISE = [spec for spec in OPCODES.values() if spec.is_elementwise and spec.opcode not in WITH_ATTRIBUTES]
UNARY = [spec.opcode for spec in ELEMENTWISE if spec.arity == (1, 1)]
BINARY = [s.opcode for s in ELEMENTWISE if s.arity == (2, 2) and not s.opcode.startswith(("shift", "mulhi"))]
SELECT_AND_SCATTER = "select-and-scatter(p0, p1, p2), window={size=1x2}, "
TYPES = ("pred", "s4", "s32", "u8", "bf16", "f16", "f32", "f64", "f8e4m3fn", "c64", "c128")

ROWS_OF_TABLE: list[tuple[str, ...]] = [
    *((f"{opcode}(p0)", f"{type_}[2,3]") for opcode in UNARY for type_ in TYPES),
    *((f"{opcode}(p0, p1)", f"{type_}[2,3]", f"{type_}[2,3]") for opcode in BINARY for type_ in TYPES),
    ("add(p0, p1)", "f32[2]", "f32[3]"),
    ("add(p0, p1)", "f32[2]", "s32[2]"),
    ("add(p0, p1)", "f32[<=2]", "f32[2]"),
    ("compare(p0, p1), direction=EQ", "c64[3]", "c64[3]"),
    ("compare(p0, p1), direction=LT", "f32[3]", "f32[3]"),
    ("compare(p0, p1), direction=LT", "f32[3]", "s32[3]"),
    ("select(p0, p1, p2)", "pred[3]", "f32[3]", "f32[3]"),
    ("select(p0, p1, p2)", "pred[]", "f32[3]", "f32[3]"),
    ("select(p0, p1, p2)", "pred[2]", "f32[3]", "f32[3]"),
    ("select(p0, p1, p2)", "s32[3]", "f32[3]", "f32[3]"),
    ("select(p0, p1, p2)", "pred[3]", "f32[3]", "s32[3]"),
    ("select(p0, p1, p2)", "pred[3]", "f32[3]", "f32[4]"),
    ("clamp(p0, p1, p2)", "f32[3]", "f32[3]", "f32[3]"),
    ("clamp(p0, p1, p2)", "f32[]", "f32[3]", "f32[]"),
    ("clamp(p0, p1, p2)", "f32[3]", "f32[]", "f32[3]"),
    ("clamp(p0, p1, p2)", "s32[]", "f32[3]", "f32[]"),
    ("copy(p0)", "f32[3]"),
    ("copy(p0)", "(f32[3], s32[])"),
    ("transpose(p0), dimensions={1,0,2}", "f32[3,<=4,5]"),
    ("transpose(p0), dimensions={1,1}", "f32[3,4]"),
    ("transpose(p0), dimensions={0}", "f32[3,4]"),
    ("reverse(p0), dimensions={0}", "f32[3,4]"),
    ("reverse(p0), dimensions={2}", "f32[3,4]"),
    ("reverse(p0), dimensions={1,1}", "f32[3,4]"),
    ("concatenate(p0, p1), dimensions={0}", "f32[3,4]", "f32[5,4]"),
    ("concatenate(p0, p1), dimensions={0}", "f32[3,4]", "f32[<=5,4]"),
    ("concatenate(p0, p1), dimensions={1}", "f32[3,4]", "f32[5,4]"),
    ("concatenate(p0, p1), dimensions={2}", "f32[3,4]", "f32[3,4]"),
    ("concatenate(p0, p1), dimensions={0}", "f32[3]", "s32[3]"),
    ("concatenate(p0, p1), dimensions={0}", "f32[3]", "f32[3,1]"),
    ("pad(p0, p1), padding=1_-1_2x-3_0", "f32[4,3]", "f32[]"),
    ("pad(p0, p1), padding=1_-1_2x-5_0", "f32[4,3]", "f32[]"),
    ("pad(p0, p1), padding=1_1", "f32[4,3]", "f32[]"),
    ("pad(p0, p1), padding=1_1", "f32[4]", "f32[1]"),
    ("pad(p0, p1), padding=1_1", "f32[4]", "s32[]"),
    ("pad(p0, p1), padding=1_1_3", "f32[0]", "f32[]"),
    ("pad(p0, p1), padding=1_1x0_0", "f32[<=4,2]", "f32[]"),
    ("get-dimension-size(p0), dimensions={1}", "f32[4,3]"),
    ("get-dimension-size(p0), dimensions={2}", "f32[4,3]"),
    ("set-dimension-size(p0, p1), dimensions={1}", "f32[4,3]", "s32[]"),
    ("set-dimension-size(p0, p1), dimensions={1}", "f32[4,3]", "u32[]"),
    ("set-dimension-size(p0, p1), dimensions={1}", "f32[4,3]", "s32[1]"),
    ("gather(p0, p1)" + GATHER, F, "s32[5,4,1]"),
    ("gather(p0, p1)" + GATHER, F, "f32[5,4,1]"),
    ("gather(p0, p1)" + GATHER, F, "s32[5,4,2]"),
    ("gather(p0, p1)" + GATHER.replace("slice_sizes={1,1,3}", "slice_sizes={1,2,3}"), F, "s32[5,4,1]"),
    ("gather(p0, p1)" + GATHER.replace("slice_sizes={1,1,3}", "slice_sizes={1,1,4}"), F, "s32[5,4,1]"),
    ("gather(p0, p1)" + GATHER.replace("offset_dims={2}", "offset_dims={3}"), F, "s32[5,4,1]"),
    ("gather(p0, p1)" + GATHER.replace("index_vector_dim=2", "index_vector_dim=4"), F, "s32[5,4,1]"),
    ("gather(p0, p1)" + ROWS, "f32[9,3]", "s32[6]"),
    ("gather(p0, p1)" + ROWS, "f32[9,<=3]", "u8[6]"),
    ("gather(p0, p1)" + ROWS, "f32[9,3]", "s32[<=6]"),
    ("gather(p0, p1)" + ROWS, "f32[9,3]", "s32[6,2]"),
    ("scatter(p0, p1, p2), to_apply=add_f32" + SCATTER, "f32[9,3]", "s32[6]", "f32[6,3]"),
    ("scatter(p0, p1, p2), to_apply=add_f32" + SCATTER, "f32[9,3]", "s32[6]", "f32[6,2]"),
    ("scatter(p0, p1, p2), to_apply=add_f32" + SCATTER, "f32[9,3]", "s32[6]", "f32[6,4]"),
    ("scatter(p0, p1, p2), to_apply=add_f32" + SCATTER, "f32[9,3]", "s32[6]", "f32[5,3]"),
    ("scatter(p0, p1, p2), to_apply=add_f32" + SCATTER, "f32[9,3]", "s32[6]", "f32[6]"),
    ("scatter(p0, p1, p2), to_apply=add_f32" + SCATTER, "f32[9,3]", "f32[6]", "f32[6,3]"),
    ("scatter(p0, p1, p2), to_apply=add_f32" + SCATTER, "f32[9,3,2]", "s32[6]", "f32[6,3]"),
    ("scatter(p0, p1, p2), to_apply=add_f32" + SCATTER, "s32[9,3]", "s32[6]", "s32[6,3]"),
    ("scatter(p0, p1, p2), to_apply=less" + SCATTER, "f32[9,3]", "s32[6]", "f32[6,3]"),
    ("scatter(p0, p0, p1, p2, p2), to_apply=add_f32" + SCATTER, "f32[9,3]", "s32[6]", "f32[6,3]"),
    ("scatter(p0, p3, p1, p2, p4), to_apply=pairs" + SCATTER, "f32[9,3]", "s32[6]", "f32[6,3]", "s32[9,3]", "s32[6,3]"),
    ("scatter(p0, p1, p2)" + BATCHED_SCATTER, F, "s32[5,4,1]", "f32[5,4,3]"),
    ("reduce(p0, p1), dimensions={1}, to_apply=add_f32", F, "f32[]"),
    ("reduce(p0, p1), dimensions={0,2}, to_apply=add_f32", "f32[5,<=7,3]", "f32[]"),
    ("reduce(p0, p1), dimensions={}, to_apply=add_f32", F, "f32[]"),
    ("reduce(p0, p1), dimensions={1,1}, to_apply=add_f32", F, "f32[]"),
    ("reduce(p0, p1), dimensions={3}, to_apply=add_f32", F, "f32[]"),
    ("reduce(p0, p1), dimensions={1}, to_apply=add_f32", "s32[5,7]", "s32[]"),
    ("reduce(p0, p1), dimensions={1}, to_apply=add_f32", F, "f32[1]"),
    ("reduce(p0, p1), dimensions={1}, to_apply=less", F, "f32[]"),
    ("reduce(p0, p1), dimensions={1}, to_apply=negated", F, "f32[]"),
    ("reduce(p0, p2, p1, p3), dimensions={1}, to_apply=pairs", F, "f32[]", "s32[5,7,3]", "s32[]"),
    ("reduce(p0, p2, p1, p3), dimensions={1}, to_apply=pairs", F, "f32[]", "s32[5,7,4]", "s32[]"),
    ("reduce(p0, p2, p1, p3), dimensions={1}, to_apply=add_f32", F, "f32[]", "s32[5,7,3]", "s32[]"),
    ("reduce-window(p0, p1), window={size=1x2x2}, to_apply=add_f32", F, "f32[]"),
    ("reduce-window(p0, p1), window={size=1x3x2 stride=2x2x1 pad=0_0x1_2x-1_0}, to_apply=add_f32", F, "f32[]"),
    ("reduce-window(p0, p1), window={size=3 lhs_dilate=2 rhs_dilate=2 pad=2_2}, to_apply=add_f32", "f32[<=5]", "f32[]"),
    ("reduce-window(p0, p1), window={size=9}, to_apply=add_f32", "f32[5]", "f32[]"),
    ("reduce-window(p0, p1), window={size=2}, to_apply=add_f32", "f32[0]", "f32[]"),
    ("reduce-window(p0, p1), window={size=2x2}, to_apply=add_f32", "f32[5]", "f32[]"),
    ("reduce-window(p0, p1), window={size=0}, to_apply=add_f32", "f32[5]", "f32[]"),
    ("reduce-window(p0, p1), window={size=2 stride=0}, to_apply=add_f32", "f32[5]", "f32[]"),
    ("reduce-window(p0, p1), window={size=2}, to_apply=less", "f32[5]", "f32[]"),
    (SELECT_AND_SCATTER + "select=less, scatter=add_f32", "f32[5,7]", "f32[5,6]", "f32[]"),
    (SELECT_AND_SCATTER + "select=less, scatter=add_f32", "f32[5,7]", "f32[5,7]", "f32[]"),
    (SELECT_AND_SCATTER + "select=add_f32, scatter=add_f32", "f32[3,3]", "f32[3,2]", "f32[]"),
    (SELECT_AND_SCATTER + "select=less, scatter=less", "f32[5,7]", "f32[5,6]", "f32[]"),
    (SELECT_AND_SCATTER + "select=less, scatter=add_f32", "s32[3,3]", "s32[3,2]", "s32[]"),
    ("sort(p0), dimensions={1}, to_apply=less", "f32[5,7]"),
    ("sort(p0, p1), dimensions={0}, to_apply=less_pairs", "f32[5,7]", "s32[5,7]"),
    ("sort(p0, p1), dimensions={0}, to_apply=less_pairs", "f32[5,7]", "s32[5,6]"),
    ("topk(p0), k=2, largest=true", "f32[5,<=7]"),
    ("topk(p0), k=0, largest=true", "bf16[7]"),
    ("topk(p0), k=8, largest=true", "f32[7]"),
    ("topk(p0), k=1, largest=true", "f32[]"),
    ("scan(p0, p1), dimensions={0}, num_carries=1, to_apply=step", "s32[5,3]", "f32[]"),
    ("scan(p0, p1), dimensions={1}, num_carries=1, to_apply=step", "s32[3,5]", "f32[]"),
    ("scan(p0, p1), dimensions={0}, num_carries=2, to_apply=step", "s32[5,3]", "f32[]"),
    ("batch-norm-training(p0, p1, p1)" + NORM + "1", "f32[5,7]", "f32[7]"),
    ("batch-norm-training(p0, p1, p1)" + NORM + "2", "f32[5,7]", "f32[7]"),
    ("batch-norm-training(p0, p1, p1)" + NORM + "0", "f32[5,7]", "f32[7]"),
    ("batch-norm-training(p0, p1, p1)" + NORM + "1", "s32[5,7]", "s32[7]"),
    ("batch-norm-training(p0, p1, p1)" + NORM + "1", "f32[5,7]", "f32[7,1]"),
    ("batch-norm-training(p0, p1, p1)" + NORM + "1", "f32[5,7]", "s32[7]"),
    ("batch-norm-inference(p0, p1, p1, p1, p1)" + NORM + "1", "f32[5,7]", "f32[7]"),
    ("batch-norm-inference(p0, p1, p1, p1, p2)" + NORM + "1", "f32[5,7]", "f32[7]", "f32[6]"),
    ("batch-norm-grad(p0, p1, p1, p1, p0)" + NORM + "1", "f32[5,7]", "f32[7]"),
    ("batch-norm-grad(p0, p1, p1, p1, p2)" + NORM + "1", "f32[5,7]", "f32[7]", "f32[5,6]"),
    ("dot(p0, p1)" + DOT, "f32[5,7]", "f32[7,2]"),
    ("dot(p0, p1)" + DOT, "f32[<=5,7]", "f32[7,<=2]"),
    ("dot(p0, p1)" + DOT, "f32[5,7]", "f32[7]"),
    ("dot(p0, p1)" + DOT, "f32[5,7]", "f32[6,2]"),
    ("dot(p0, p1)" + DOT, "f32[5]", "f32[7,2]"),
    ("dot(p0, p1)" + BATCHED, "f32[4,5,7]", "f32[4,7,2]"),
    ("dot(p0, p1)" + BATCHED, "f32[4,5,7]", "f32[3,7,2]"),
    ("dot(p0, p1), lhs_contracting_dims={1,1}, rhs_contracting_dims={0,1}", "f32[5,7]", "f32[7,7]"),
    ("dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={}", "f32[5,7]", "f32[7,2]"),
    ("dot(p0, p1)", "f32[5]", "f32[2]"),
    *((f"dot(p0, p1){DOT}", f"{a}[5,7]", f"{b}[7,2]") for a in TYPES[1:] for b in TYPES[1:]),
    ("ragged-dot(p0, p1, p2), rhs_group_dims={0}" + RAGGED, "f32[5,7]", "f32[3,7,2]", "s32[3]"),
    ("ragged-dot(p0, p1, p2), rhs_group_dims={0}" + RAGGED, "f32[5,7]", "f32[3,7,2]", "s32[4]"),
    ("ragged-dot(p0, p1, p2)" + RAGGED, "f32[5,7]", "f32[3,7,2]", "s32[3]"),
    ("ragged-dot(p0, p1, p2), lhs_ragged_dims={1}" + DOT, "f32[5,7]", "f32[7,2]", "s32[3]"),
    ("ragged-dot(p0, p1, p2), lhs_ragged_dims={0}" + BATCHED, "f32[4,5,7]", "f32[4,7,2]", "s32[3]"),
    ("ragged-dot(p0, p1, p2), lhs_ragged_dims={2}" + BATCHED, "f32[4,5,7]", "f32[4,7,2]", "s32[4,3]"),
    ("convolution(p0, p1)" + CONV, "f32[2,5,5,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1)" + CONV, "f32[<=2,<=5,5,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1)" + CONV, "f32[2,5,5,4]", "f32[3,3,2,4]"),
    ("convolution(p0, p1), feature_group_count=2" + CONV, "f32[2,5,5,4]", "f32[3,3,2,4]"),
    ("convolution(p0, p1), feature_group_count=2" + CONV, "f32[2,5,5,4]", "f32[3,3,2,3]"),
    ("convolution(p0, p1), batch_group_count=2" + CONV, "f32[2,5,5,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1), batch_group_count=2" + CONV, "f32[3,5,5,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1), batch_group_count=2, feature_group_count=2" + CONV, "f32[2,5,5,4]", "f32[3,3,2,4]"),
    ("convolution(p0, p1), batch_group_count=0" + CONV, "f32[2,5,5,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1)" + CONV.replace("3x3", "2x3"), "f32[2,5,5,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1)" + CONV, "f32[2,2,2,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1)" + CONV.replace("3x3", "3x3 stride=0x1"), "f32[2,5,5,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1)" + STRIDED, "f32[2,9,5,2]", "f32[3,3,2,4]"),
    ("convolution(p0, p1)" + CONV, "f32[2,5,5]", "f32[3,3,2,4]"),
    ("convolution(p0, p1), dim_labels=bf_io->bf", "f32[2,2]", "f32[2,4]"),
    ("convolution(p0, p1), dim_labels=bf_io->bf", "s8[2,2]", "s32[2,4]"),
    ("fft(p0), fft_type=FFT, fft_length={7}", "c64[5,7]"),
    ("fft(p0), fft_type=IFFT, fft_length={5,7}", "c128[5,7]"),
    ("fft(p0), fft_type=FFT, fft_length={7}", "f32[5,7]"),
    ("fft(p0), fft_type=FFT, fft_length={1,1,1,1}", "c64[1,1,1,1]"),
    ("fft(p0), fft_type=FFT, fft_length={1,1,1}", "c64[1,1]"),
    ("fft(p0), fft_type=RFFT, fft_length={7}", "f32[5,7]"),
    ("fft(p0), fft_type=RFFT, fft_length={5,8}", "f64[5,8]"),
    ("fft(p0), fft_type=RFFT, fft_length={0}", "f32[5,0]"),
    ("fft(p0), fft_type=RFFT, fft_length={6}", "f32[5,7]"),
    ("fft(p0), fft_type=RFFT, fft_length={7}", "f16[5,7]"),
    ("fft(p0), fft_type=IRFFT, fft_length={7}", "c64[5,4]"),
    ("fft(p0), fft_type=IRFFT, fft_length={9}", "c64[5,4]"),
    ("fft(p0), fft_type=IRFFT, fft_length={0}", "c64[5,0]"),
    ("fft(p0), fft_type=IRFFT, fft_length={0}", "c64[5,1]"),
    ("cholesky(p0), lower=true", "f32[5,4,4]"),
    ("cholesky(p0), lower=true", "s32[4,4]"),
    ("cholesky(p0), lower=true", "f32[4]"),
    ("cholesky(p0), lower=true", "c64[4,3]"),
    ("triangular-solve(p0, p1), left_side=true" + SOLVE, "f32[4,4]", "f32[4,2]"),
    ("triangular-solve(p0, p1), left_side=true" + SOLVE, "f32[4,4]", "f32[2,4]"),
    ("triangular-solve(p0, p1)" + SOLVE, "f32[4,4]", "f32[2,4]"),
    ("triangular-solve(p0, p1)" + SOLVE, "f32[4,4]", "f32[3,2,4]"),
    ("triangular-solve(p0, p1)" + SOLVE, "f32[2,4,4]", "f32[3,2,4]"),
    ("triangular-solve(p0, p1)" + SOLVE, "f32[4,4]", "f64[2,4]"),
    ("tuple(p0, p1)", "f32[2]", "(s32[], token[])"),
    ("tuple()",),
    ("get-tuple-element(p0), index=1", "(f32[2], s32[])"),
    ("while(p0), condition=below_8, body=next", "s32[]"),
    ("while(p0), condition=below_8, body=next", "u32[]"),
    ("while(p0), condition=next, body=next", "s32[]"),
    ("while(p0), condition=below_8, body=next_wide", "s32[]"),
    ("while(p0), condition=below_8, body=add_s32", "s32[]"),
    ("conditional(p0, p1, p1), true_computation=negated, false_computation=negated", "pred[]", "f32[4]"),
    ("conditional(p0, p1, p1), true_computation=negated, false_computation=shorter", "pred[]", "f32[4]"),
    ("conditional(p0, p1, p1), true_computation=negated, false_computation=negated", "pred[]", "f32[5]"),
    ("conditional(p0, p1), branch_computations={negated}", "s32[]", "f32[4]"),
    ("conditional(p0, p1, p1), branch_computations={negated, negated}", "u32[]", "f32[4]"),
    ("call(p0), to_apply=negated", "f32[4]"),
    ("call(p0), to_apply=negated", "f32[5]"),
    ("call(p0, p0), to_apply=negated", "f32[4]"),
    ("add-dependency(p0, p1)", "f32[4]", "token[]"),
    ("after-all(p0, p0)", "token[]"),
    ("after-all()",),
    ('domain(p0), domain={kind="sharding", entry={replicated}, exit={maximal device=0}}', "f32[4]"),
    ("replica-id()",),
    ("partition-id()",),
]

# Where we are stricter than this part of XLA, because a later part of it refuses the same program.
STRICTER: list[tuple[str, ...]] = [
    ("add(p0, p1)", "f32[1]", "f32[3]"),  # the verifier: no implicit broadcast
    ("add(p0, p1)", "f32[]", "f32[3]"),
    ("add(p0, p1)", "f32[3]", "bf16[3]"),  # the verifier: no mixed precision
    ("concatenate(p0, p1), dimensions={0}", "f32[2]", "bf16[2]"),
    ("reduce(p0, p1), dimensions={0}, to_apply=add_f32", "bf16[5]", "bf16[]"),
    ("compare(p0, p1), direction=LT, type=UNSIGNED", "f32[3]", "f32[3]"),  # the verifier: comparison types
    ("compare(p0, p1), direction=LT", "c64[3]", "c64[3]"),  # no backend orders complex numbers
    ("shift-left(p0, p1)", "f32[3]", "f32[3]"),  # no backend shifts floats
    ("mulhi(p0, p1)", "f32[3]", "f32[3]"),
    ("gather(p0, p1)" + GATHER, F, "s32[6,4,1]"),  # StableHLO's rules of batching dimensions
    ("gather(p0, p1)" + GATHER.replace("start_index_map={1}", "start_index_map={0}"), F, "s32[5,4,1]"),
    ("scatter(p0, p1, p2)" + BATCHED_SCATTER, F, "s32[6,4,1]", "f32[6,4,3]"),
    ("fft(p0), fft_type=FFT, fft_length={3}", "c64[5,7]"),  # the CPU backend aborts or transforms something else
    ("ragged-dot(p0, p1, p2), rhs_group_dims={0}" + RAGGED, "f32[5,7]", "f32[3,7,2]", "f32[3]"),
    ("scan(p1, p0), dimensions={0}, num_carries=1, to_apply=step", "s32[5,3]", "f32[]"),  # reads past a shape there
]


def xla_infers(row: tuple[str, ...]) -> str | None:
    """XLA's shape for the instruction, without layouts; ``None`` where it refuses."""
    try:
        return str(of_module("shape of the outcome", _text(row, ""), outcome))
    except RefusedError as error:
        if "Unknown opcode" in str(error):
            pytest.skip("the XLA that is installed has no such opcode")
        assert re.search("failed to infer shape|operand must be|expects .* operands", str(error)), error
        return None


def outcome(module: Any) -> str:
    root = next(line for line in module.to_string().split("ENTRY")[1].splitlines() if "ROOT" in line)
    shape = re.match(r"\s*ROOT %?outcome = (.*?) [a-z][a-z\-0-9]*\(", root)
    assert shape is not None, root
    return re.sub(r"\{[\d,]*\}|/\*.*?\*/", "", shape[1])


def we_infer(row: tuple[str, ...]) -> str | None:
    try:
        root = parse_module(_text(row, "f32[] ")).entry.root
        shape = infer_shape(root.opcode, [operand.shape for operand in root.operands], root.attributes)
    except XlaToPythonError:
        return None
    assert shape is not None, row
    return shape_text(shape)


def _text(row: tuple[str, ...], shape: str) -> str:
    parameters = "\n".join(f"p{i} = {shape} parameter({i})" for i, shape in enumerate(row[1:]))
    return f"{COMPUTATIONS}ENTRY main {{\n{parameters}\nROOT outcome = {shape}{row[0]}\n}}\n"


@pytest.mark.parametrize("row", ROWS_OF_TABLE, ids=" <- ".join)
def test_same_shape_as_xla_or_both_refuse(row: tuple[str, ...]) -> None:
    assert we_infer(row) == xla_infers(row)


@pytest.mark.parametrize("row", STRICTER, ids=" <- ".join)
def test_refused_although_xla_infers(row: tuple[str, ...]) -> None:
    assert xla_infers(row) is not None
    assert we_infer(row) is None


def test_the_table_refuses_and_accepts() -> None:
    outcomes = [we_infer(row) is None for row in ROWS_OF_TABLE]
    assert outcomes.count(True) > 150
    assert outcomes.count(False) > 150
