"""The whole table: what the tests of the Dask and the CuPy target go through."""

from xla2py.tests.targets.programs import control, elementwise, reductions, structure

PROGRAMS = [*elementwise.PROGRAMS, *structure.PROGRAMS, *reductions.PROGRAMS, *control.PROGRAMS]
