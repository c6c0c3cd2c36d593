"""Emitted modules are silent where XLA is: ``-W error`` does not stop them, and only those that could warn say so."""

import warnings

import numpy as np
import pytest

import xla2py
from xla2py.tests.operations.tables import cases_by_opcode
from xla2py.transpile.equivalence.inputs.generate import nest

QUIET = '@np.errstate(all="ignore")\ndef main('
EVERY = 90  # of the cases of an operation


def program(*lines, parameters="f32[8]"):
    given = [f"p{k} = {shape} parameter({k})" for k, shape in enumerate(parameters.split("; "))]
    return "HloModule m\n\nENTRY main {\n" + "\n".join([*given, *lines]) + "\n}\n"


# Programs, and whether NumPy could warn of them.
PROGRAMS = {
    "floats are added": (program("ROOT r = f32[8] add(p0, p0)"), True),
    "roots of what is negative": (program("ROOT r = f32[8] sqrt(p0)"), True),
    "floats are compared": (program("ROOT r = pred[8] compare(p0, p0), direction=LT"), False),
    "floats are moved": (program("ROOT r = f32[8] reverse(p0), dimensions={0}"), False),
    "the larger of two": (program("ROOT r = f32[8] maximum(p0, p0)"), False),
    "the larger of two, which ml_dtypes computes": (
        program("ROOT r = bf16[8] maximum(p0, p0)", parameters="bf16[8]"),
        True,
    ),
    "magnitudes": (program("ROOT r = f32[8] abs(p0)"), False),
    "magnitudes of complex numbers": (program("ROOT r = f32[8] abs(p0)", parameters="c64[8]"), True),
    "integers are added": (program("ROOT r = s32[8] add(p0, p0)", parameters="s32[8]"), False),
    "a number that may wrap around": (program("ROOT r = s32[] add(p0, p0)", parameters="s32[]"), True),
    "an unsigned number that may wrap around": (program("ROOT r = u32[] negate(p0)", parameters="u32[]"), True),
    "bytes as floats": (
        program(
            "f = f32[8] convert(p0)",
            "c = f32[] constant(255)",
            "b = f32[8] broadcast(c), dimensions={}",
            "ROOT r = f32[8] divide(f, b)",
            parameters="u8[8]",
        ),
        False,
    ),
    "bytes divided by what may be 0": (
        program("f = f32[8] convert(p0)", "ROOT r = f32[8] divide(f, f)", parameters="u8[8]"),
        True,
    ),
    "integers that float16 cannot hold": (program("ROOT r = f16[8] convert(p0)", parameters="s32[8]"), True),
}


@pytest.mark.parametrize("target", ["numpy", "array-api"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_only_what_could_warn_is_silenced(name, target):
    text, could_warn = PROGRAMS[name]
    if target == "array-api" and "f16" in text:
        pytest.skip("the standard has no 16-bit floats")
    assert (QUIET in xla2py.emit(text, target).source) == could_warn


def edges(array, turn):
    """The array with numbers in it that NumPy might warn of."""
    if array.dtype.kind not in "fc":
        return np.copy(array)
    limits = np.finfo(array.dtype)
    numbers = [np.nan, np.inf, -np.inf, 0, -0.0, limits.max, -limits.max, limits.tiny, -1, 1]
    return np.resize(np.roll(np.array(numbers, array.dtype), turn), array.shape)


@pytest.mark.parametrize("style", ["readable", pytest.param("fused", marks=pytest.mark.compiled)])
def test_no_operation_warns_of_any_input(style):
    found = []
    for one in (one for cases in cases_by_opcode().values() for one in cases[::EVERY]):
        text = one.text()
        shapes = [parameter.shape for parameter in xla2py.load(text).entry.parameters]
        main = xla2py.emit(text, format=False, style=style).load().main
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            for turn in (0, 3):
                try:
                    main(*nest(shapes, [edges(array, turn) for array in one.inputs]))
                except RuntimeWarning as warning:
                    found.append(f"{one}: {warning}")
                except ValueError:
                    break  # sizes that random numbers give
    assert found == []


def test_helpers_silence_nothing_themselves_where_main_does():
    text = program("ROOT r = f32[8] logistic(p0)")
    source = xla2py.emit(text).source
    assert QUIET in source and source.count("errstate") == 1


def test_block_functions_are_silent_in_other_threads():
    pytest.importorskip("dask", reason="Dask is not installed")
    text = program(
        "n = f32[8] sqrt(p0)",
        "ratio = f32[8] divide(n, p0)",
        "zero = f32[] constant(0)",
        "total = f32[] reduce(ratio, zero), dimensions={0}, to_apply=sum",
        "ROOT r = (f32[8], f32[]) tuple(ratio, total)",
    ).replace(
        "ENTRY", "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\nENTRY"
    )
    main = xla2py.emit(text, "dask", chunks="3").load().main
    x = np.array([-1, 0, np.inf, -np.inf, np.nan, 3e38, 1e-40, 1], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        ratio, total = (each.compute(scheduler="threads") for each in main(x))
    assert np.isnan(ratio[0]) and np.isnan(total)


COMBINED = """
f {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] OPERATION(a, b)
}

ENTRY"""
SCATTER = (
    "p1 = s32[8] parameter(1)",
    "ROOT r = f32[8] scatter(p0, p1, p0), to_apply=f, update_window_dims={}, inserted_window_dims={0}, "
    "scatter_dims_to_operand_dims={0}, index_vector_dim=1",
)
IN_CHUNKS = {
    "sums of all before": ("add", "ROOT r = f32[8] reduce-window(p0, o), window={size=8 pad=7_0}, to_apply=f"),
    "products of all before": ("multiply", "ROOT r = f32[8] reduce-window(p0, o), window={size=8 pad=7_0}, to_apply=f"),
    "sums of windows": ("add", "ROOT r = f32[6] reduce-window(p0, o), window={size=3}, to_apply=f"),
    "convolutions": (
        "add",
        "k = f32[3] slice(p0), slice={[3:6]}",
        "s = f32[1,8,1] reshape(p0)",
        "t = f32[3,1,1] reshape(k)",
        "ROOT r = f32[1,6,1] convolution(s, t), window={size=3}, dim_labels=b0f_0io->b0f",
    ),
    "products at indices": ("multiply", *SCATTER),
    "the largest at indices": ("maximum", *SCATTER),
    "transforms": ("add", "c = c64[8] convert(p0)", "ROOT r = c64[8] fft(c), fft_type=FFT, fft_length={8}"),
}


@pytest.mark.parametrize(("operation", "lines"), [(name, lines) for name, *lines in IN_CHUNKS.values()], ids=IN_CHUNKS)
def test_what_is_computed_chunk_by_chunk_is_silent(operation, lines):
    pytest.importorskip("dask", reason="Dask is not installed")
    text = program("o = f32[] constant(1)", *lines)
    text = text.replace("ENTRY", COMBINED.replace("OPERATION", operation).lstrip(), 1)
    x = np.array([np.inf, -np.inf, np.nan, 3e38, 3e38, -3e38, 0, 2], np.float32)
    arrays = (x, np.arange(8, dtype=np.int32) // 3)[: 1 + ("p1" in text)]
    module = xla2py.emit(text, "dask", chunks="2").load()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = module.main(*arrays).compute(scheduler="threads")
    np.testing.assert_array_equal(found, xla2py.emit(text).load().main(*arrays))


IN_A_LOOP = COMBINED.replace(
    "ENTRY",
    """
more {
  s = (s32[], f32[8], s32[8]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  i = s32[8] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(k, one)
  place = s32[1] dynamic-slice(i, k), dynamic_slice_sizes={1}
  part = f32[1] dynamic-slice(x, k), dynamic_slice_sizes={1}
  value = f32[] reshape(part)
  changed = f32[8] scatter(x, place, value), to_apply=f, update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=0
  ROOT t = (s32[], f32[8], s32[8]) tuple(next, changed, i)
}

goes_on {
  s = (s32[], f32[8], s32[8]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  all = s32[] constant(8)
  ROOT c = pred[] compare(k, all), direction=LT
}

ENTRY""",
)
UPDATES = {
    "places that differ": (COMBINED, "p1 = s32[8] constant({1, 0, 3, 2, 5, 4, 7, 6})", SCATTER[1]),
    "one place in each round": (
        IN_A_LOOP,
        "p1 = s32[8] constant({1, 0, 3, 2, 5, 9, 7, -6})",
        "zero = s32[] constant(0)",
        "s = (s32[], f32[8], s32[8]) tuple(zero, p0, p1)",
        "w = (s32[], f32[8], s32[8]) while(s), condition=goes_on, body=more",
        "ROOT r = f32[8] get-tuple-element(w), index=1",
    ),
}


@pytest.mark.parametrize("operation", ["add", "multiply", "maximum"])
@pytest.mark.parametrize("name", UPDATES)
def test_updates_that_combine_floats_are_silent(name, operation):
    others, *lines = UPDATES[name]
    text = program(*lines).replace("ENTRY", others.replace("OPERATION", operation).lstrip(), 1)
    generated = xla2py.emit(text)
    assert QUIET in generated.source
    x = np.array([np.inf, -np.inf, np.nan, 3e38, 3e38, 3e38, 0, 2], np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        generated.load().main(x)
