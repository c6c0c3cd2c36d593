"""What the twin refuses, and where it computes as CuPy does and NumPy does not."""

import importlib

import ml_dtypes
import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

import xla2py  # noqa: E402
from xla2py.targets.cupy.twin import host_kernels  # noqa: E402
from xla2py.targets.cupy.twin.device_array import DeviceArray, HiddenWait  # noqa: E402
from xla2py.targets.cupy.twin.modules import Namespace, to_host, twin  # noqa: E402
from xla2py.templates.prelude import special  # noqa: E402
from xla2py.tests.ladder.running import needs_compiler, verdict  # noqa: E402
from xla2py.tests.ladder.static import problems  # noqa: E402
from xla2py.tests.recording.lazy_jax import jax, jnp  # noqa: E402
from xla2py.transpile.emission.prelude.library import prelude  # noqa: E402
from xla2py.transpile.errors import UsageError  # noqa: E402
from xla2py.transpile.target import load_target  # noqa: E402

REFUSED = {
    "x.item()": "waits",
    "bool(x)": "waits",
    "float(x)": "waits",
    "x[cp.argmax(x):]": "waits",
    "x[x > 0]": "waits",
    "cp.nonzero(x)": "waits",
    "cp.where(x > 0)": "waits",
    "x + on_host": "Unsupported type",
    "cp.exp(on_host)": "Unsupported type",
    "cp.where(x > 0, x, on_host)": "Unsupported type",
    "x + np.array(2.0)": "Unsupported type",
    "cp.gelu(x)": "has no attribute",
    "x.gelu()": "has no gelu",
    "cp.take(x, 0, mode='clip')": "unexpected keyword",
    "cp.stack([x, 1.0])": "stack of a float",
    "cp.broadcast_to(cp.float32(1), 3)": "broadcast_to of the number",
    "cp.cbrt(c)": "no loop",
    "b.argmax()": "bfloat16 is not supported",
    "cp.ones((2, 3, 3), b.dtype) @ cp.ones((2, 3, 3), b.dtype)": "bfloat16 is not supported",
    "x.astype(ml_dtypes.float8_e5m2)": "Unsupported dtype",
    "cp.ElementwiseKernel('T a, T b', 'T c', 'c = a + b', 'sum')(x, z)": "Type is mismatched",
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_cupy_would_refuse_or_wait_for(code):
    ones = np.ones(3, np.float32)
    arrays = {"x": ones, "z": ones.astype(float), "c": ones.astype(np.complex64), "b": ones.astype(ml_dtypes.bfloat16)}
    names = {name: DeviceArray(array) for name, array in arrays.items()}
    with (
        twin(),
        pytest.raises((HiddenWait, AssertionError, AttributeError, TypeError, ValueError), match=REFUSED[code]),
    ):
        eval(code, {"cp": Namespace(cupy), "np": np, "ml_dtypes": ml_dtypes, "on_host": ones, **names})


# Operands, the code on them, and what it gives.
COMPUTED = [
    ([np.int32([7]), np.int32([0])], "a // b", [0]),
    ([np.float32([5, -1]), np.float32([np.nan] * 2)], "cp.clip(a, b, 1)", [1, -1]),
    ([np.float32([300, -300, np.nan])], "a.astype(cp.int8)", [44, -44, 0]),
    ([np.int8([-1])], "cp.bitwise_count(a)", [1]),
    ([np.int64([2**62 + 1]), np.int64([10])], "cp.fmod(a, b)", [4]),
    ([np.float32([1, -np.nan, np.nan, -np.inf])], "cp.isnan(cp.sort(a))", [True, False, False, True]),
    ([np.float32([1, -np.nan, np.nan, -np.inf])], "cp.argsort(a, kind='stable')", [1, 3, 0, 2]),
    ([np.float32([[1, -np.nan, np.nan, 0]])], "cp.argsort(a, kind='stable')", [[3, 0, 1, 2]]),
    ([np.float32([1, 3])], "a < np.array(2.0)", [True, False]),
]


@pytest.mark.parametrize(("operands", "code", "expected"), COMPUTED, ids=[row[1] for row in COMPUTED])
def test_what_cupy_computes_in_its_own_way(operands, code, expected):
    names = dict(zip("ab", map(DeviceArray, operands), strict=False))
    with twin():
        assert to_host(eval(code, {"cp": Namespace(cupy), "np": np, **names})).tolist() == expected


@pytest.mark.parametrize("function", [jnp.sort, jnp.argsort, lambda x: jax.lax.sort((x, -x), num_keys=1)])
@pytest.mark.parametrize("shape", [(6,), (1, 6)])
def test_nan_of_either_sign_are_last_in_a_sort(function, shape):
    x = np.float32([np.inf, -np.nan, 3, np.nan, -np.inf, -0.0]).reshape(shape)
    module = xla2py.from_jax(function, x)
    expected = xla2py.emit(module).load().main(x)
    assert verdict(xla2py.emit(module, "cupy"), [x], expected) == ""


def test_a_bare_number_beside_bfloat16_gives_float32():
    with twin():
        assert (DeviceArray(np.ones(2, ml_dtypes.bfloat16)) * 0.5).dtype == np.float32


def test_every_function_of_the_prelude_comes_after_what_its_definition_needs():
    """What is carried over from NumPy's prelude comes first."""
    known = prelude(load_target("cupy"))
    imports = "\n".join(sorted(known.imports_of(list(known.definitions.values()))))
    early = []
    with twin():
        for name in known.definitions:
            text = "\n\n".join(each.source for each in known.closure([name]))
            try:
                exec(f"{imports}\n{text}", {"__name__": "prelude"})
            except NameError as error:
                early.append((name, error))
            except AttributeError:
                continue  # of another target: CuPy lacks a name in it
    assert early == []


@needs_compiler
@pytest.mark.parametrize("name", ["erfc", "normal_cdf", "normal_cdf_float64"])
def test_functions_of_cuda_stand_for_long_ones(name):
    """No arrays of coefficients, which would be copied to one device, and raised to powers by ``cp.polyval``."""
    x = np.float32([0.0, -0.0, 1e-6, 0.3, -0.7, 1.0, 2.5, -6.0, 9.0, np.inf, -np.inf, np.nan])
    x = x.astype(np.float64) if name.endswith("64") else x
    (definition,) = prelude(load_target("cupy")).closure([name])
    namespace = {}
    with twin():
        exec(f"import cupy as cp\n{definition.source}", namespace)
        found = to_host(namespace[name](DeviceArray(x)))
    np.testing.assert_allclose(found, getattr(special, name)(x), rtol=1e-5, atol=1e-7)


def test_no_constant_of_a_prelude_is_another_in_the_other():
    own, shared = prelude(load_target("cupy")).definitions, prelude().definitions
    constants = {name for name in shared if name.isupper() and own[name].order[0]}
    assert constants == {"COLUMN_BYTES", "GENERATOR"}  # each library has its own


def test_without_a_compiler_kernels_are_refused_with_a_code(monkeypatch):
    monkeypatch.setattr(host_kernels, "COMPILER", None)
    with twin(), pytest.raises(UsageError, match="XP465"):
        kernel = host_kernels.ElementwiseKernel("float32 a", "float32 b", "b = a - 12345", "shifted")
        kernel(DeviceArray(np.ones(3, np.float32)))


@needs_compiler
def test_an_element_is_a_view_that_kernels_may_write():
    with twin():
        import cupy as cp

        results = cp.zeros(3, dtype=cp.float32)
        kernel = cp.ElementwiseKernel("float32 x", "float32 y", "y = x + 1.0f;", "element_kernel")
        for k in range(3):
            kernel(cp.full((), cp.float32(k)), results[k])
        table = cp.zeros((2, 2), dtype=cp.float32)
        kernel(cp.full((), cp.float32(4)), table[1, 0])
    assert to_host(results).tolist() == [1, 2, 3]
    assert to_host(table).tolist() == [[0, 0], [5, 0]]


@needs_compiler
@pytest.mark.parametrize("name", ["order", "at", "size_0", "pointer_0"])
def test_arguments_of_kernels_may_have_any_name(name):
    with twin():
        kernel = host_kernels.ElementwiseKernel(f"raw int32 {name}", "int32 y", f"y = {name}[i] + 1;", "next_kernel")
        result = kernel(DeviceArray(np.int32([3, 1, 2])), size=3)
    assert to_host(result).tolist() == [4, 2, 3]


WAITING = """
def main(x, limit):
    while (
        (x < limit)
        & (x < 5)
    ):
        x = x + 1
    return x


def hidden(x, limit):
    return bool(
        x < limit
    )
"""


def test_a_condition_of_several_lines_waits_for_all_to_see(tmp_path, monkeypatch):
    (tmp_path / "waiting_module.py").write_text(WAITING)
    monkeypatch.syspath_prepend(tmp_path)
    waiting = importlib.import_module("waiting_module")
    one, nine = DeviceArray(np.float32(1)), DeviceArray(np.float32(9))
    with twin():
        assert to_host(waiting.main(one, nine)) == 5
        with pytest.raises(HiddenWait):
            waiting.hidden(one, nine)


@pytest.mark.parametrize(("value", "waits"), [("complex(cp.nan, -cp.nan)", False), ("complex(x, cp.nan)", True)])
def test_numbers_of_the_host_need_no_device(value, waits):
    found = problems(f"import cupy as cp\n\n\ndef main(x):\n    return {value}\n")
    assert any("waits" in each for each in found) == waits


@pytest.mark.parametrize(("end", "waits"), [("count", False), ("3", True)])
def test_a_named_bound_of_a_loop_may_wait(end, waits):
    body = f"    count = int(x + 4)\n    for i in range({end}):\n        x = x + i\n    return x\n"
    found = problems(f"import cupy as cp\n\n\ndef main(x):\n{body}")
    assert any("waits" in each for each in found) == waits
