"""The dialect of kernels: loop nests over elements of arrays, or over lines of them, that read and write memory once.

The dialect is independent of targets. ``kernel`` defines a kernel, ``index_maps`` where it reads, ``lines`` which
elements a reduction combines, ``phases`` the loops over a line for reductions that depend on each other; ``operations``
has a row for each operation on an element. ``verifier`` checks these rules. Kernels are made by ``passes/fusion`` and
written by targets: CUDA C++ in ``targets/cupy/cuda``, loops of Numba in ``targets/numpy/numba``.
"""
