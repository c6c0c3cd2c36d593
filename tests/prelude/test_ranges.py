"""Numbers in a row, beside NumPy's."""

import numpy as np
import pytest

from xla2py.templates.prelude.ranges import linspace


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 50])
def test_linspace(n, dtype):
    points = linspace(dtype(-1.5), dtype(0.1), n, dtype)
    assert points.dtype == dtype and points.shape == (n,) and points[-1] == dtype(0.1)
    if n > 1:  # the last one wins
        np.testing.assert_allclose(
            points, np.linspace(dtype(-1.5), dtype(0.1), n), rtol=0, atol=4 * np.finfo(dtype).eps
        )
