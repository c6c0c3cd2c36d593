"""A twin of CuPy on a machine without a GPU: NumPy underneath, CuPy's names, types and refusals on top.

Emitted modules run on it unchanged. Ufuncs choose the loop that the installed CuPy would choose, by its own tables.
What CuPy would refuse or silently wait for fails here: names, signatures and loops that it does not have, NumPy
arrays, and whatever brings a value back to the host elsewhere than in the head of a ``while`` or an ``if``. Where
CuPy computes something else than NumPy, so does the twin (``differences``). Kernels are compiled for the host
(``host_kernels``) by g++. The package cupy must be installed; tests, ``check`` and ``fuzz`` use the twin.
"""
