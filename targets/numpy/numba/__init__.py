"""Kernels as functions that Numba compiles: loops, macros' helpers and declarations. Imported where a module has
kernels."""
