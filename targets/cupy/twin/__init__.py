"""A twin of CuPy for machines without a GPU: it computes with NumPy, and has CuPy's names, types and refusals.

Emitted modules run on the twin unchanged. Ufuncs choose the loop that the installed CuPy would choose, by CuPy's own
tables. The twin raises for everything that CuPy would refuse or silently wait for: names, signatures and loops that
CuPy lacks, NumPy arrays, and values fetched to the host outside the head of a ``while`` or an ``if``. Where CuPy's
results differ from NumPy's, so do the twin's (``differences``). g++ compiles kernels for the host (``host_kernels``).
The package cupy must be installed; tests, ``check`` and ``fuzz`` use the twin.
"""
