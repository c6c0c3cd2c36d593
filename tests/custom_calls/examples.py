"""An example of every custom call that is known: shapes, and a configuration by its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from xla2py.transpile.hlo.custom_calls.special_functions import SPECIAL_FUNCTIONS

REALS = {"s": "f32", "d": "f64", "c": "f32", "z": "f64"}
COMPLEXES = {"s": "c64", "d": "c128", "c": "c64", "z": "c128"}
TYPES = {"s": "f32", "d": "f64", "c": "c64", "z": "c128"}


@dataclass(frozen=True)
class Example:
    """A call with these operand and result shapes. Configurations of foreign functions are typed, others JSON."""

    target: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    is_typed: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    callees: str = ""

    def text(self, **changes: Any) -> str:
        """The call as a module; ``changes`` are keywords of this class."""
        one = Example(**{**vars(self), **changes})
        parameters = "\n".join(f"  p{k} = {shape} parameter({k})" for k, shape in enumerate(one.operands))
        shape = one.results[0] if len(one.results) == 1 else f"({', '.join(one.results)})"
        operands = ", ".join(f"p{k}" for k in range(len(one.operands)))
        attributes = {"custom_call_target": json.dumps(one.target), **one.attributes}
        if one.is_typed:
            batch = max(map(rank, one.operands)) - 2
            attributes |= {
                "api_version": "API_VERSION_TYPED_FFI",
                "operand_layout_constraints": f"{{{', '.join(column_major(shape, batch) for shape in one.operands)}}}",
            }
            shape = ", ".join(column_major(shape, batch) for shape in one.results)
            shape = f"({shape})" if len(one.results) > 1 else shape
        if one.config:
            attributes["backend_config"] = typed(one.config) if one.is_typed else json.dumps(one.config)
        written = ", ".join(f"{name}={value}" for name, value in attributes.items())
        root = f"  ROOT r = {shape} custom-call({operands}), {written}"
        return f"HloModule example\n{one.callees}\nENTRY main {{\n{parameters}\n{root}\n}}\n"


def typed(config: Mapping[str, Any]) -> str:
    return f"{{{', '.join(f'{name} = {attribute(value)}' for name, value in config.items())}}}"


def attribute(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and len(value) == 1:
        return f"{ord(value)} : ui8"
    return f"{value} : i32" if isinstance(value, int) else json.dumps(value)


def rank(shape: str) -> int:
    return 0 if "[]" in shape else shape.count(",") + 1


def column_major(shape: str, batch: int) -> str:
    """A shape with the layout that LAPACK wants: matrices behind so many dimensions of a batch by columns."""
    order = list(reversed(range(rank(shape))))
    if not order:
        return shape
    if len(order) == batch + 2:
        order[:2] = order[1], order[0]
    return f"{shape}{{{','.join(map(str, order))}}}"


def lapack() -> Iterator[Example]:
    for code, t in TYPES.items():
        r, c, is_complex = REALS[code], COMPLEXES[code], code in "cz"
        square, tall, info = f"{t}[2,4,4]", f"{t}[2,5,3]", "s32[2]"
        he, un = ("he", "un") if is_complex else ("sy", "or")
        values = (f"{t}[2,4]",) if is_complex else (f"{t}[2,4]", f"{t}[2,4]")
        rows: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
            "trsm": (
                (square, f"{t}[2,4,3]"),
                (f"{t}[2,4,3]",),
                {"side": "L", "uplo": "L", "trans_x": "T", "diag": "N"},
            ),
            "potrf": ((square,), (square, info), {"uplo": "L"}),
            "getrf": ((tall,), (tall, "s32[2,3]", info), {}),
            "geqrf": ((tall,), (tall, f"{t}[2,3]"), {}),
            "geqp3": ((tall, "s32[2,3]"), (tall, "s32[2,3]", f"{t}[2,3]"), {}),
            f"{un}gqr": ((tall, f"{t}[2,3]"), (tall,), {}),
            f"{un}mqr": ((tall, f"{t}[2,3]", f"{t}[2,5,2]"), (f"{t}[2,5,2]",), {"left": True, "transpose": False}),
            f"{he}evd": ((square,), (square, f"{r}[2,4]", info), {"mode": "V", "uplo": "L"}),
            "gesdd": ((tall,), (tall, f"{r}[2,3]", f"{t}[2,5,3]", f"{t}[2,3,3]", info), {"mode": "S"}),
            "gesvd": ((tall,), (tall, f"{r}[2,3]", f"{t}[2,5,5]", f"{t}[2,3,3]", info), {"mode": "A"}),
            "geev": (
                (square,),
                (*values, f"{c}[2,4,4]", f"{c}[2,4,4]", info),
                {"compute_left": "V", "compute_right": "V"},
            ),
            "gees": ((square,), (square, square, *values, info, info), {"mode": "V", "sort": "N"}),
            f"{he}trd": ((square,), (square, f"{r}[2,4]", f"{r}[2,3]", f"{t}[2,3]", info), {"uplo": "L"}),
            "gehrd": ((square,), (square, f"{t}[2,3]", info), {"low": 1, "high": 4}),
            "gtsv": ((f"{t}[2,4]",) * 3 + (f"{t}[2,4,3]",), (f"{t}[2,4]",) * 3 + (f"{t}[2,4,3]", info), {}),
        }
        for routine, (operands, results, config) in rows.items():
            yield Example(f"lapack_{code}{routine}_ffi", operands, results, config, is_typed=True)


def tridiagonal() -> Iterator[Example]:
    operands = ("f32[2,4]",) * 3 + ("f32[2,4,3]",)
    for target in ("tridiagonal_solve_perturbed_ffi", *(f"{gpu}_tridiagonal_solve_perturbed" for gpu in ("cu", "hip"))):
        yield Example(target, operands, ("f32[2,4,3]",), is_typed=True)


def sparse() -> Iterator[Example]:
    elements = ("f32[5]", "s32[4]", "s32[5]")
    yield Example("cpu_csr_sparse_dense_ffi", (*elements, "f32[4,2]"), ("f32[3,2]",))


def gpu_lapack() -> Iterator[Example]:
    t, r, c = "f32", "f32", "c64"
    square, tall, info = f"{t}[2,4,4]", f"{t}[2,5,3]", "s32[2]"
    wide = f"{t}[2,3,5]"
    sides = {"left": True, "right": True}
    rows: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
        "solver_potrf_ffi": ((square,), (square, info), {"lower": True}),
        "solver_getrf_ffi": ((tall,), (tall, "s32[2,3]", info), {}),
        "blas_getrf_batched_ffi": ((square,), (square, "s32[2,4]", info), {}),
        "solver_geqrf_ffi": ((tall,), (tall, f"{t}[2,3]"), {}),
        "blas_geqrf_batched_ffi": ((wide,), (wide, f"{t}[2,3]"), {}),
        "hybrid_geqp3": ((tall, "s32[2,3]"), (tall, "s32[2,3]", f"{t}[2,3]"), {"magma": "a"}),
        "solver_orgqr_ffi": ((tall, f"{t}[2,3]"), (tall,), {}),
        "solver_ormqr_ffi": ((tall, f"{t}[2,3]", f"{t}[2,5,2]"), (f"{t}[2,5,2]",), {"left": True, "transpose": True}),
        "solver_syevd_ffi": ((square,), (square, f"{r}[2,4]", info), {"lower": False, "algorithm": "\x01"}),
        "solver_sytrd_ffi": ((square,), (square, f"{r}[2,4]", f"{r}[2,3]", f"{t}[2,3]", info), {"lower": True}),
        "solver_gesvd_ffi": (
            (wide,),
            (wide, f"{r}[2,3]", f"{t}[2,3,5]", f"{t}[2,3,3]", info),
            {"full_matrices": False, "compute_uv": True, "transposed": True},
        ),
        "solver_gesdd_ffi": (
            (tall,),
            (tall, f"{r}[2,3]", f"{t}[2,5,5]", f"{t}[2,3,3]", info),
            {"full_matrices": True, "compute_uv": True, "transposed": False},
        ),
        "solver_gesvdj_ffi": (
            (tall,),
            (tall, f"{r}[2,3]", f"{t}[2,5,5]", f"{t}[2,3,3]", info),
            {"full_matrices": True, "compute_uv": True},
        ),
        "solver_gesvdp_ffi": (
            (tall,),
            (tall, f"{r}[2,3]", f"{t}[2,5,3]", f"{t}[2,3,3]", info),
            {"full_matrices": False, "compute_uv": True},
        ),
        "solver_geev_ffi": ((square,), (square, f"{c}[2,4]", square, square, info), sides),
        "hybrid_eig_real": (
            (square,),
            (f"{t}[2,4]", f"{t}[2,4]", f"{c}[2,4,4]", f"{c}[2,4,4]", info),
            {"magma": "a", **sides},
        ),
        "hybrid_eig_comp": (
            (f"{c}[2,4,4]",),
            (f"{c}[2,4]", f"{c}[2,4,4]", f"{c}[2,4,4]", info),
            {"magma": "a", **sides},
        ),
        "sparse_gtsv2_ffi": ((f"{t}[2,4]",) * 3 + (f"{t}[2,4,3]",), (f"{t}[2,4,3]",), {}),
    }
    for name, (operands, results, config) in rows.items():
        for platform in ("cu", "hip"):
            yield Example(platform + name, operands, results, config, is_typed=True)
    for name in ("syevd", "syevj"):
        for platform, triangle in (("cu", "\\001"), ("hip", "y")):
            memory = f'"\\000\\000\\000\\000{triangle}\\000\\000\\000"'
            results = square, f"{r}[2,4]", info, f"{t}[9]"
            yield Example(f"{platform}solver_{name}", (square,), results, attributes={"backend_config": memory})
    yield Example("__cusolver$cholesky", (square,), (square, "f32[64]", info), {"lower": True})


NUMBERS = {
    "lhs_contracting_dimensions": ["1"],
    "rhs_contracting_dimensions": ["0"],
    "lhs_batch_dimensions": [],
    "rhs_batch_dimensions": [],
}
PRODUCT = {"alpha_real": 2, "alpha_imag": 0, "beta": 0.5, "dot_dimension_numbers": NUMBERS, "epilogue": "DEFAULT"}
GEMM_OPERANDS = ("f32[2,3]", "f32[3,4]", "f32[2,4]")


def gpu_libraries() -> Iterator[Example]:
    gemm = {"gemm_backend_config": PRODUCT}
    yield Example("__cublas$gemm", GEMM_OPERANDS, ("f32[2,4]", "s8[64]"), gemm)
    biased = {"gemm_backend_config": {**PRODUCT, "epilogue": "BIAS_GELU"}}
    yield Example("__cublas$lt$matmul", (*GEMM_OPERANDS, "f32[4]"), ("f32[2,4]", "s8[64]"), biased)
    yield Example(
        "__cublas$triangularSolve",
        ("f32[2,4,4]", "f32[2,4,3]"),
        ("f32[2,4,3]", "s8[64]"),
        {"left_side": True, "lower": True, "unit_diagonal": False, "transpose_a": "TRANSPOSE"},
    )
    yield Example(
        "__cudnn$convForward",
        ("f32[2,5,6,3]", "f32[3,2,3,4]"),
        ("f32[2,5,6,4]", "u8[0]"),
        {"cudnn_conv_backend_config": {"conv_result_scale": 2, "activation_mode": "kNone", "side_input_scale": 0}},
        attributes={"window": "{size=3x2 pad=1_1x0_1}", "dim_labels": "b01f_01io->b01f"},
    )
    descending = {"descending": True}
    yield Example("__cub$DeviceRadixSort", ("f32[3,5]",), ("f32[3,5]", "u8[1]"), descending)
    unassigned = "__cub$DeviceRadixSortUnassignedScratchSize"
    yield Example(unassigned, ("s32[9]", "f32[9]"), ("s32[9]", "f32[9]", "u8[1]"), {"descending": False})


GREATER = """more {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT r = pred[] compare(x, y), direction=GT, type=TOTALORDER
}"""
GREATER_PAIR = """more {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = pred[] compare(x, y), direction=GT
}"""
SERIES = """series {
  x = f32[2,3] parameter(0)
  y = f32[2,3] parameter(1)
  ROOT r = f32[2,3] multiply(x, y)
}"""


def functions() -> Iterator[Example]:
    one = ("f32[2,3]",)
    for name in ("acos", "acosh", "asin", "asinh", "atanh", "cosh", "erf", "sinh", "tan"):
        for dialect in ("mhlo", "chlo"):
            yield Example(f"{dialect}.{name}", one, one)
    for name in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Cosh"):
        yield Example(f"xla_builder.math.{name}", one, one)
    yield Example("xla_builder.math.NextAfter", one * 2, one)
    yield Example("xla_builder.matrix.GetMatrixDiagonalViaGather", ("f32[2,3,4]",), ("f32[2,3]",))
    yield Example(
        "xla_builder.matrix.Einsum",
        ("f32[2,3]", "f32[4,3]"),
        ("f32[4,2]",),
        attributes={"backend_config": '"ij,kj->ki"'},
    )
    for count, targets in SPECIAL_FUNCTIONS.values():
        for target in targets:
            yield Example(target, one * count, one)
    bands = ("f32[2,1,4]",) * 3
    yield Example("xla_builder.tridiagonal.TridiagonalSolver", (*bands, "f32[2,3,4]"), ("f32[2,3,4]",))
    yield Example("xla_builder.prng.ScramblePhiloxKey", ("u64[]",), ("u64[2]", "u64[]"))
    called = {"called_computations": "{more}"}
    yield Example("TopK", one, ("f32[2,2]", "s32[2,2]"), attributes=called, callees=GREATER)
    yield Example(
        "PartialReduce",
        ("f32[2,300]", "s32[2,300]", "f32[]", "s32[]"),
        ("f32[2,128]", "s32[2,128]"),
        {"log2_reduction": 2, "reduction_dim": 1, "to_apply_type": "comparator", "top_k": 3, "recall_target": 0.95},
        attributes=called,
        callees=GREATER_PAIR,
    )
    yield Example("mhlo.topk", one, ("f32[2,2]", "s32[2,2]"), {"k": 2, "largest": True}, is_typed=True)


def others() -> Iterator[Example]:
    one = ("f32[2,3]",)
    for name in (
        *("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "MoveToHost"),
        *("MoveToDevice", "Pin", "Unpin", "LayoutConstraint", "ShardBarrierFrom", "ShardBarrierTo"),
        *("xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape"),
    ):
        yield Example(name, one, one)
    for kind in ("", "ffi_", "partitioned_", "ffi_partitioned_"):
        for place in ("cpu", "gpu"):
            target = f"xla_{kind}python_{place}_callback"
            yield Example(target, ("u64[]", *one), one, {"index": 3}, is_typed=True)
    yield Example("SetBound", (*one, "s32[]"), one)
    yield Example("AllocateBuffer", (), one)
    yield Example("PadToStatic", ("f32[2,<=3]",), (*one, "s32[]", "s32[]"))
    yield Example("SliceToDynamic", (*one, "s32[]", "s32[]"), ("f32[2,<=3]",))
    yield Example("GetRngSeed", (), ("u64[]",))
    yield Example("Eigh", ("f32[2,5,5]",), ("f32[2,5,5]", "f32[2,5]"), attributes={"backend_config": '"1,1,15,1e-05"'})
    yield Example("LuDecomposition", ("f32[2,5,3]",), ("f32[2,5,3]", "s32[2,3]", "s32[2,5]"))
    yield Example("Qr", ("f32[2,5,3]",), ("f32[2,5,3]", "f32[2,3]"))
    yield Example("ProductOfElementaryHouseholderReflectors", ("f32[2,5,3]", "f32[2,3]"), ("f32[2,5,3]",))
    for platform in ("cu", "hip"):
        yield Example(f"{platform}_lu_pivots_to_permutation", ("s32[2,3]",), ("s32[2,5]",))
        yield Example(f"{platform}_threefry2x32_ffi", ("u32[6]",) * 4, ("u32[6]",) * 2)
    yield Example("__op$quantize", ("f32[4,64]",), ("f8e4m3fn[4,64]", "f8e5m2[4,2]"))
    yield Example("__op$dequantize", ("f8e4m3fn[4,64]", "f8e5m2[4,2]"), ("f32[4,64]",))
    narrow = ("f8e4m3fn[2,4,64]", "f8e4m3fn[2,3,64]", "f8e8m0fnu[2,4,2]", "f8e8m0fnu[2,3,2]")
    yield Example("__op$block_scaled_dot", narrow, ("f32[2,4,3]",))


EXAMPLES: dict[str, Example] = {
    example.target: example
    for group in (lapack(), tridiagonal(), sparse(), gpu_lapack(), gpu_libraries(), functions(), others())
    for example in group
}
