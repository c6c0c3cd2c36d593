"""Kernels in CUDA C++: launches, macros' helpers and declarations. Imported where a module has kernels."""
