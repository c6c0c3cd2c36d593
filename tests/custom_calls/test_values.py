"""What custom calls compute: XLA on the CPU judges where it knows them or their definition, else their definition."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import xla2py
from xla2py.tests.custom_calls.examples import EXAMPLES, GEMM_OPERANDS, PRODUCT, SERIES, Example
from xla2py.tests.recording.lazy_jax import jax, lax
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.errors import UnsupportedError
from xla2py.transpile.hlo.element_types import ElementType
from xla2py.transpile.hlo.parser import parse_module

rng = np.random.default_rng(77)
# Results that a library may give in several forms (bases, phases), or that it only works in.
FREE = {
    "gesdd": (0, 2, 3), "gesvd": (0, 2, 3), "gesvdj": (2, 3), "gesvdp": (2, 3), "syevd": (0,), "syevj": (0,),
    "heevd": (0,), "Eigh": (0,), "geev": (2, 3), "eig_real": (2, 3), "eig_comp": (1, 2), "gees": (0, 1),
    "gtsv": (0, 1, 2),
}  # fmt: skip
NOT_ON_CPU = (
    *(
        "mhlo.",
        "chlo.",
        "xla_builder.math.",
        "xla_builder.tridiagonal.",
        "xla_builder.prng.",
        "AllocateBuffer",
        "LuDecomposition",
        "PartialReduce",
        "GetRngSeed",
        "Pin",
        "Unpin",
    ),
    *("xla_", "PadToStatic", "SliceToDynamic", "cu_", "hip", "lapack_d", "lapack_c", "lapack_sgeev", "lapack_zgeev"),
    *("lapack_zgees", "lapack_sgees", "cuhybrid_eig", "cusolver_geev"),
)


def drawn(element_type: ElementType, sizes: tuple[int, ...]) -> np.ndarray:
    if element_type.is_integral:
        return rng.integers(0, 3, sizes).astype(element_type.dtype)
    values = rng.normal(size=sizes)
    if element_type.is_complex:
        values = values + 1j * rng.normal(size=sizes)
    return values.astype(element_type.dtype)


def arguments(example: Example) -> list[np.ndarray]:
    shapes = [parameter.array_shape for parameter in parse_module(example.text()).entry.parameters]
    arrays = [drawn(shape.element_type, shape.dimensions) for shape in shapes]
    if "potrf" in example.target or "cholesky" in example.target:
        arrays = [(a @ a.conj().mT + 9 * np.eye(a.shape[-1])).astype(a.dtype) for a in arrays]
    if "geqp3" in example.target:
        arrays[1][:] = 0
    return arrays


def emitted(text: str, *arrays: np.ndarray, target: str = "numpy") -> tuple[np.ndarray, ...]:
    results = xla2py.emit(text, target=target).load().main(*arrays)
    results = results if isinstance(results, tuple) else (results,)
    return tuple(map(np.asarray, xla2py_materialised(results)))


def xla2py_materialised(results):
    return [result.compute() if hasattr(result, "compute") else result for result in results]


def close(ours: np.ndarray, theirs: np.ndarray) -> None:
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    if not np.issubdtype(ours.dtype, np.number):  # a narrow float
        ours, theirs = ours.astype(np.float32), theirs.astype(np.float32)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize("target", [target for target in EXAMPLES if not target.startswith(NOT_ON_CPU)])
def test_xla_agrees(target):
    example = EXAMPLES[target]
    arrays = arguments(example)
    ours, theirs = emitted(example.text(), *arrays), run_hlo(example.text(), *arrays)
    free = next((free for name, free in FREE.items() if f"{name}_" in f"{target}_"), ())
    for index, pair in enumerate(zip(ours, theirs, strict=True)):
        if index not in free:
            close(*pair)


@pytest.mark.parametrize("target", ["cupy", "dask"])
def test_other_targets_emit_every_call(target):
    """Or say why not."""
    refused = set()
    for example in EXAMPLES.values():
        try:
            xla2py.emit(example.text(), target=target, format=False)
        except UnsupportedError:
            refused.add(example.target)
    assert refused == set()


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atanh", "cosh", "sinh", "tan"])
def test_functions(name):
    x = np.full((2, 3), 1.2 if name == "acosh" else 0.3, np.float32)
    numpy_name = name.replace("a", "arc", 1) if name.startswith("a") else name
    (ours,) = emitted(EXAMPLES[f"mhlo.{name}"].text(), x)
    np.testing.assert_allclose(ours, getattr(np, numpy_name)(x), rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("keeps_candidates", [False, True])
def test_approximate_top_k_of_tpus_is_what_xla_gives_elsewhere(axis, keeps_candidates):
    real = pytest.importorskip("jax")
    x = rng.permutation(600 * 300).reshape(600, 300).astype(np.float32)

    def best(x):
        return real.lax.approx_max_k(x, 5, reduction_dimension=axis, aggregate_to_topk=not keeps_candidates)

    exported = real.export.export(real.jit(best), platforms=["tpu"])(x)
    assert "is_fallback" not in exported.mlir_module()
    for ours, theirs in zip(xla2py.emit(exported).load().main(x), best(x), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype, name", [(np.float32, "f32"), (np.float64, "f64"), (np.float16, "f16")])
def test_next_after(dtype, name):
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.array([0, -0.0, 1, -1, tiny, -tiny, np.inf, -np.inf, np.nan, np.finfo(dtype).max, 0.1], dtype)
    x, y = (part.ravel() for part in np.meshgrid(values, values))
    shape = f"{name}[{x.size}]"
    text = EXAMPLES["xla_builder.math.NextAfter"].text(operands=(shape, shape), results=(shape,))
    np.testing.assert_array_equal(emitted(text, x, y)[0], np.nextafter(x, y))


@pytest.mark.parametrize("dtype, name", [(np.float32, "f32"), (np.float16, "f16"), (ml_dtypes.bfloat16, "bf16")])
@pytest.mark.parametrize("function", ["Polygamma", "IgammaGradA", "RandomGammaGrad", "RegularizedIncompleteBeta"])
def test_special_functions(function, dtype, name):
    own = {"Polygamma": lax.polygamma, "IgammaGradA": lax.igamma_grad_a, "RandomGammaGrad": lax.random_gamma_grad}
    arrays = [np.array([1, 2, 3], dtype), np.array([0.5, 1.5, 7], dtype), np.array([0.1, 0.5, 0.9], dtype)]
    arrays = arrays if function not in own else arrays[:2]
    shape = f"{name}[3]"
    text = EXAMPLES[f"xla_builder.math.{function}"].text(operands=(shape,) * len(arrays), results=(shape,))
    (ours,) = emitted(text, *arrays)
    theirs = own.get(function, lax.betainc)(*arrays)
    assert ours.dtype == dtype
    rtol = 1e-5 if dtype == np.float32 else 1e-2
    np.testing.assert_allclose(ours.astype(float), theirs.astype(float), rtol=rtol)


@pytest.mark.parametrize("is_stacked", [False, True])
def test_tridiagonal_solver(is_stacked):
    solve = lax.linalg.tridiagonal_solve
    lower, main, upper = rng.normal(size=(3, 2, 4)).astype(np.float32) + np.float32([[[0]], [[4]], [[0]]])
    right = rng.normal(size=(2, 3, 4)).astype(np.float32)
    example, operands = EXAMPLES["xla_builder.tridiagonal.TridiagonalSolver"], [lower, main, upper]
    if is_stacked:
        operands, text = [np.stack([upper, main, lower], 1)], example.text(operands=("f32[2,3,4]", "f32[2,3,4]"))
    else:
        operands, text = [each[:, None] for each in operands], example.text()
    (ours,) = emitted(text, *operands, right)
    lower, upper = np.where(np.arange(4) > 0, lower, 0), np.where(np.arange(4) < 3, upper, 0)
    np.testing.assert_allclose(ours, solve(lower, main, upper, right.mT).mT, rtol=1e-4, atol=1e-6)


def philox(words, keys):
    """Philox 4x32 as its authors write it."""
    for _ in range(10):
        p, q = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [q >> 32 ^ words[1] ^ keys[0], q % 2**32, p >> 32 ^ words[3] ^ keys[1], p % 2**32]
        keys = [(keys[0] + 0x9E3779B9) % 2**32, (keys[1] + 0xBB67AE85) % 2**32]
    return words


def test_scrambled_keys():
    assert philox([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]  # the authors' own test
    for key in (0, 1, 0x0123456789ABCDEF, 2**64 - 1):
        state, scrambled = emitted(EXAMPLES["xla_builder.prng.ScramblePhiloxKey"].text(), np.array(key, np.uint64))
        words = philox([key % 2**32, 0, key >> 32, 0], [0x3EC8F720, 0x02461E29])
        assert state.tolist() == [0, words[2] | words[3] << 32] and int(scrambled) == words[0] | words[1] << 32


def test_a_definition_that_a_call_brings_is_taken():
    two = ("f32[2,3]",) * 2
    brought = {"to_apply": "series"}
    text = EXAMPLES["xla_builder.math.Polygamma"].text(operands=two, attributes=brought, callees=SERIES)
    x, y = rng.normal(size=(2, 2, 3)).astype(np.float32)
    np.testing.assert_array_equal(emitted(text, x, y)[0], x * y)


# ---------------------------------------------------------------- products
def relu(x):
    return np.maximum(x, 0)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


@pytest.mark.parametrize(
    "epilogue, function",
    [
        *(("DEFAULT", None), ("BIAS", None), ("RELU", relu), ("BIAS_RELU", relu), ("GELU", gelu)),
        *(("BIAS_GELU", gelu), ("GELU_AUX", gelu), ("BIAS_GELU_AUX", gelu), ("SILU", silu)),
    ],
)
@pytest.mark.parametrize("beta", [0, 0.5])
def test_matmul(epilogue, function, beta):
    has_bias, has_argument = epilogue.startswith("BIAS"), epilogue.endswith("AUX")
    operands = (*GEMM_OPERANDS[: 3 if beta else 2], *(["f32[4]"] if has_bias else []))
    results = ("f32[2,4]", *(["f32[2,4]"] if has_argument else []), "s8[16]")
    config = {"gemm_backend_config": {**PRODUCT, "beta": beta, "epilogue": epilogue}}
    example = Example("__cublas$lt$matmul", operands, results, config)
    arrays = arguments(example)
    wanted = 2 * arrays[0] @ arrays[1] + (beta * arrays[2] if beta else 0)
    wanted = wanted + (arrays[-1] if has_bias else 0)
    ours = emitted(example.text(), *arrays)
    np.testing.assert_allclose(ours[0], function(wanted) if function else wanted, rtol=1e-4, atol=1e-5)
    if has_argument:
        np.testing.assert_allclose(ours[1], wanted, rtol=1e-4, atol=1e-5)


def test_a_bias_lies_along_the_minor_dimensions_of_the_result():
    config = {"gemm_backend_config": {**PRODUCT, "beta": 0, "epilogue": "BIAS"}}
    example = Example("__cublas$lt$matmul", (*GEMM_OPERANDS[:2], "f32[2]"), ("f32[2,4]{0,1}", "s8[16]"), config)
    a, b, bias = arguments(example)
    np.testing.assert_allclose(emitted(example.text(), a, b, bias)[0], 2 * a @ b + bias[:, None], rtol=1e-4, atol=1e-5)


def test_half_precision_is_rounded_once():
    config = {"gemm_backend_config": {**PRODUCT, "alpha_real": 1, "beta": 0, "epilogue": "RELU"}}
    operands, results = ("bf16[2,3]", "bf16[3,4]"), ("bf16[2,4]", "s8[16]")
    example = Example("__cublas$lt$matmul", operands, results, config)
    a, b = arguments(example)
    wanted = relu(a.astype(np.float32) @ b.astype(np.float32)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(emitted(example.text(), a, b)[0], wanted)


# ---------------------------------------------------------------- orders and random numbers
@pytest.mark.parametrize("descending", [False, True])
def test_radix_sort(descending):
    example = EXAMPLES["__cub$DeviceRadixSortUnassignedScratchSize"]
    keys, values = np.int32([3, 1, 2, 1, 3, 0, -1, 2, 2]), np.arange(9, dtype=np.float32)
    order = np.argsort(-keys if descending else keys, kind="stable")
    ours = emitted(example.text(config={"descending": descending}), keys, values)
    np.testing.assert_array_equal(ours[0], keys[order])
    np.testing.assert_array_equal(ours[1], values[order])
    text = EXAMPLES["__cub$DeviceRadixSort"].text(config={"descending": descending})
    floats = rng.normal(size=(3, 5)).astype(np.float32)
    floats[1, 2] = np.nan
    wanted = np.sort(floats, axis=-1)
    np.testing.assert_array_equal(emitted(text, floats)[0], wanted[:, ::-1] if descending else wanted)


def test_threefry():
    key, count = np.uint32([7, 9]), np.arange(12, dtype=np.uint32)
    keys = [np.full(6, part, np.uint32) for part in key]
    ours = emitted(EXAMPLES["cu_threefry2x32_ffi"].text(), *keys, count[:6], count[6:])
    theirs = jax.extend.random.threefry_2x32(key, count)
    np.testing.assert_array_equal(np.concatenate(ours), theirs)


def test_pivots():
    ours = emitted(EXAMPLES["cu_lu_pivots_to_permutation"].text(), np.int32([[2, 1, 4], [0, 1, 2]]))
    np.testing.assert_array_equal(ours[0], [[2, 1, 4, 3, 0], [0, 1, 2, 3, 4]])


def test_rows_that_there_are_not_stay():
    """CUDA exchanges nothing there: JAX's recorded example of ``lu_pivots_to_permutation`` has such rows."""
    ours = emitted(EXAMPLES["cu_lu_pivots_to_permutation"].text(), np.int32([[4, 5, 3], [-1, 2, 0]]))
    np.testing.assert_array_equal(ours[0], [[4, 1, 3, 2, 0], [1, 2, 0, 3, 4]])


def test_factors_and_order_of_rows():
    a = rng.normal(size=(2, 5, 3)).astype(np.float32)
    factors, rows, order = emitted(EXAMPLES["LuDecomposition"].text(), a)
    lower, upper = np.tril(factors, -1) + np.eye(5, 3), np.triu(factors[:, :3])
    np.testing.assert_allclose(lower @ upper, np.take_along_axis(a, order[..., None], -2), atol=1e-5)
    assert rows.dtype == order.dtype == np.int32 and (rows >= np.arange(3)).all()


@pytest.mark.parametrize("lower", [0, 1])
def test_eigenvectors_of_a_triangle(lower):
    a = rng.normal(size=(2, 5, 5)).astype(np.float32)
    text = EXAMPLES["Eigh"].text().replace('"1,1,', f'"{lower},1,')
    vectors, values = emitted(text, a)
    triangle = np.tril(a) if lower else np.triu(a)
    whole = triangle + np.swapaxes(triangle, -1, -2) - triangle * np.eye(5)
    np.testing.assert_allclose(whole @ vectors, vectors * values[:, None], atol=1e-5)


def test_seeds_differ():
    module = xla2py.emit(EXAMPLES["GetRngSeed"].text()).load()
    seeds = [module.main() for _ in range(4)]
    assert len(set(map(int, seeds))) == 4 and seeds[0].dtype == np.uint64


# ---------------------------------------------------------------- sizes known at run time
def test_padding_to_static_and_slicing_to_dynamic():
    x = rng.normal(size=(2, 2)).astype(np.float32)
    padded, rows, columns = emitted(EXAMPLES["PadToStatic"].text(), x)
    np.testing.assert_array_equal(padded[:, :2], x)
    assert (padded.shape, rows, columns) == ((2, 3), 2, 2)
    (cut,) = emitted(EXAMPLES["SliceToDynamic"].text(), padded, np.int32(2), np.int32(2))
    np.testing.assert_array_equal(cut, x)


# ---------------------------------------------------------------- block scaling
def test_quantize_and_dequantize():
    x = rng.normal(size=(4, 64)).astype(np.float32)
    quantized, scale = emitted(EXAMPLES["__op$quantize"].text(), x)
    largest = np.abs(x).reshape(4, 2, 32).max(-1)
    np.testing.assert_array_equal(scale, (largest / 256).astype(ml_dtypes.float8_e5m2))
    spread = scale.astype(np.float32).repeat(32, 1)
    np.testing.assert_array_equal(quantized, (x / spread).astype(ml_dtypes.float8_e4m3fn))
    (back,) = emitted(EXAMPLES["__op$dequantize"].text(), quantized, scale)
    np.testing.assert_array_equal(back, quantized.astype(np.float32) * spread)


def test_block_scaled_dot_with_padded_scales_and_a_scale_of_the_result():
    shapes = ("f8e4m3fn[4,64]", "f8e4m3fn[3,64]", "f8e8m0fnu[8,4]", "f8e8m0fnu[3,4]", "f32[]")
    config = {"block_scaled_dot_backend_config": {"block_size": "32"}}
    example = Example("__op$block_scaled_dot", shapes, ("f32[4,3]",), config)
    a, b = (rng.normal(size=(n, 64)).astype(ml_dtypes.float8_e4m3fn) for n in (4, 3))
    scales = [2.0 ** rng.integers(-3, 3, size) for size in ((8, 4), (3, 4))]
    narrow = [scale.astype(ml_dtypes.float8_e8m0fnu) for scale in scales]
    wide = [x.astype(np.float64) * s[: len(x), :2].repeat(32, 1) for x, s in zip((a, b), scales, strict=True)]
    (ours,) = emitted(example.text(), a, b, *narrow, np.float32(3))
    np.testing.assert_allclose(ours, 3 * wide[0] @ wide[1].T, rtol=1e-5)


# ---------------------------------------------------------------- LAPACK's likes on GPUs
@pytest.mark.parametrize("target", ["cusolver_gesvd_ffi", "cusolver_gesvdj_ffi", "cusolver_gesvdp_ffi"])
def test_singular_vectors(target):
    example = EXAMPLES[target]
    (a,) = arguments(example)
    _, values, left, right, info = emitted(example.text(), a)
    u, vh = (right, left) if target == "cusolver_gesvd_ffi" else (left, right.conj().mT)
    least = values.shape[-1]
    np.testing.assert_allclose(u[..., :least] * values[:, None] @ vh[..., :least, :], a, atol=1e-5)
    assert not info.any()


def test_real_eigenvectors_come_in_pairs():
    (a,) = arguments(EXAMPLES["cusolver_geev_ffi"])
    _, values, _, packed, _ = emitted(EXAMPLES["cusolver_geev_ffi"].text(), a)
    for matrix, eigenvalues, columns in zip(a, values, packed, strict=True):
        for k, value in enumerate(eigenvalues):
            vector = columns[:, k].astype(np.complex64)
            if value.imag > 0:
                vector = columns[:, k] + 1j * columns[:, k + 1]
            elif value.imag < 0:
                vector = columns[:, k - 1] - 1j * columns[:, k]
            np.testing.assert_allclose(matrix @ vector, value * vector, atol=1e-4)


@pytest.mark.parametrize("columns", [(), (2,)])
def test_a_product_with_a_sparse_matrix(columns):
    """Elements behind the last row count nowhere, and a row may have none."""
    tail = "".join(f",{size}" for size in columns)
    text = EXAMPLES["cpu_csr_sparse_dense_ffi"].text(
        operands=("f32[7]", "s32[5]", "s32[7]", f"f32[3{tail}]"), results=(f"f32[4{tail}]",)
    )
    matrix = np.float32([[1, 0, 2], [0, 0, 0], [3, 0, 0], [0, 4, 5]])
    elements = np.float32([1, 2, 3, 4, 5, 9, 9]), np.int32([0, 2, 2, 3, 5]), np.int32([0, 2, 0, 1, 2, 0, 0])
    dense = rng.normal(size=(3, *columns)).astype(np.float32)
    for target in ("numpy", "dask"):
        (product,) = emitted(text, *elements, dense, target=target)
        np.testing.assert_allclose(product, matrix @ dense, rtol=1e-5)


@pytest.mark.parametrize("order", ["TOTAL", "PARTIAL"])
def test_top_k_that_says_in_which_order(order):
    """As XLA of jaxlib 0.12 writes it; its function for the CPU gives the total order in either case."""
    text = EXAMPLES["TopK"].text().replace("[2,3]", "[1,10]").replace("[2,2]", "[1,10]")
    config = f'backend_config={{is_stable = true, order = "{order}"}}'
    numbers = np.float32([[1, np.nan, -np.nan, 3, -0.0, 0, np.inf, -np.inf, np.nan, -np.nan]])
    numbers[0, [2, 9]] = np.copysign(numbers[0, [2, 9]], -1)
    values, places = emitted(text.replace('"TopK"', f'"TopK", {config}'), numbers)
    assert places.tolist() == [[1, 8, 6, 3, 0, 5, 4, 7, 2, 9]]
    np.testing.assert_array_equal(np.signbit(values), [[False] * 6 + [True] * 4])


@pytest.mark.parametrize("is_stable", ["true", "false"])
def test_top_k_that_says_whether_it_is_stable(is_stable):
    """As XLA of jaxlib 0.11 writes it: the lower index comes first in either case."""
    text = EXAMPLES["TopK"].text()
    at = text.index('custom_call_target="TopK"')
    text = f"{text[:at]}backend_config={{is_stable = {is_stable}}}, {text[at:]}"
    values, places = emitted(text, np.float32([[1, 3, 3], [5, 5, 5]]))
    assert values.tolist() == [[3, 3], [5, 5]] and places.tolist() == [[1, 2], [0, 1]]
