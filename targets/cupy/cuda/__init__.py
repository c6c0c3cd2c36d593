"""Kernels in CUDA C++: launches, renderers and declarations. Imported only if a module has kernels."""
