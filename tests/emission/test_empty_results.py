"""What has no elements takes no memory, however long its other axes are."""

import numpy as np
import pytest

from xla2py import emit
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.verifier import verify

N = 10**12
HEAD = """less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=LT }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e { p = f32[N,0] parameter(0)  q = f32[0] parameter(1)  z = f32[] constant(0)  i = s32[2] constant({0, 1})
  ROOT r = """
LINES = [
    "f32[N,0] iota(), iota_dimension=0 }",
    "f32[N,0] broadcast(q), dimensions={1} }",
    "f32[0,N] transpose(p), dimensions={1,0} }",
    "f32[0,N] reshape(p) }",
    "f32[N,0] add(p, p) }",
    "f32[N,0] reverse(p), dimensions={0} }",
    "f32[M,0] concatenate(p, p), dimensions={0} }",
    "f32[N,0] slice(p), slice={[0:N:1], [0:0]} }",
    "f32[M,0] pad(p, z), padding=0_Nx0_0 }",
    "f32[N,0] sort(p), dimensions={0}, to_apply=less }",
    "f32[0] reduce(p, z), dimensions={0}, to_apply=add }",
    "f32[N,0] reduce-window(p, z), window={size=2x1 pad=1_0x0_0}, to_apply=add }",
    "f32[2,0] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, "
    "slice_sizes={1,0} }",
    "f32[0,0] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0} }",
]


@pytest.mark.parametrize("target", ["numpy", "dask"])
@pytest.mark.parametrize("line", LINES)
def test_long_axes_beside_an_empty_one(line, target):
    module = parse_module((HEAD + line).replace("N", str(N)).replace("M", str(2 * N)).replace(f"E{N}TRY", "ENTRY"))
    verify(module)
    namespace = {}
    exec(compile(emit(module, target, checks=False).source, "emitted", "exec"), namespace)
    result = namespace["main"](np.zeros((N, 0), np.float32), np.zeros(0, np.float32))
    results = result if isinstance(result, tuple) else (result,)
    for own, shape in zip(results, module.entry.root.element_shapes, strict=True):
        assert own.shape == shape.dimensions
