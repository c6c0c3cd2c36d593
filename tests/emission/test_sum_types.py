"""Sums of converted integers have the type that HLO says, also where NumPy would widen what is converted to another."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.running import on_dask, on_device, on_numpy, uneven

SUM = """
add {{ a = {total}[] parameter(0)  b = {total}[] parameter(1)  ROOT c = {total}[] add(a, b) }}
ENTRY main {{
  x = {given}[4,3] parameter(0)
  y = {total}[4,3] convert(x)
  zero = {total}[] constant(0)
  ROOT r = {total}[4] reduce(y, zero), dimensions={{1}}, to_apply=add
}}"""


@pytest.mark.parametrize("total", ["s64", "u64", "s32", "u32"])
@pytest.mark.parametrize("given", ["u8", "u32", "s8", "s32", "pred"])
def test_a_sum_has_the_type_that_hlo_says(given, total):
    text = SUM.format(given=given, total=total)
    parameter = xla2py.load(text).entry.parameters[0]
    array = np.arange(12).reshape(4, 3).astype(parameter.array_shape.element_type.dtype)
    wanted = xla2py.load(text).entry.root.array_shape.element_type.dtype
    for (found,) in (on_numpy(text, [array]), on_device(text, [array]), on_dask(text, [array], uneven)):
        np.testing.assert_array_equal(found, array.sum(1).astype(wanted), strict=True)
