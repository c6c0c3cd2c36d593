"""The dialect of kernels: loop nests over the elements of arrays, or over their lines, that read and write memory once.

It knows no target. ``kernel`` says what a kernel is, ``index_maps`` where it reads, ``lines`` what a reduction takes
together, ``phases`` in which loops over a line reductions that need each other are done; ``operations`` has a row for
each operation of an element. ``verifier`` holds kernels to these rules. Kernels are made by ``passes/fusion`` and
written by the targets that have them: CUDA C++ in ``targets/cupy/cuda``, loops of Numba in ``targets/numpy/numba``.
"""
