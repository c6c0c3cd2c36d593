"""Windows, convolutions and batch normalisation along axes that are cut: the same results in any chunks, and as XLA."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.targets.chunked import check_plan, kinds
from xla2py.tests.targets.running import differences, leaves, on_dask, on_numpy, uneven
from xla2py.tests.whole import crossed, much
from xla2py.transpile.equivalence.inputs.generate import make_inputs
from xla2py.transpile.equivalence.reference.xla import run_hlo
from xla2py.transpile.equivalence.verdicts.comparison import Budget

dask = pytest.importorskip("dask", reason="Dask is not installed")

EXAMPLES = Path(xla2py.__file__).parent / "examples/hlo"


def convolution(x: str, kernel: str, result: str, window: str, labels: str = "b01f_01io->b01f", more: str = "") -> str:
    return f"""ENTRY main {{
  x = f32[{x}] parameter(0)
  kernel = f32[{kernel}] parameter(1)
  ROOT r = f32[{result}] convolution(x, kernel), window={{{window}}}, dim_labels={labels}{more}
}}"""


FUNCTIONS = """
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
maximum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] maximum(a, b) }
larger { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = pred[] compare(a, b), direction=GE }
"""


def pooling(window: str, result: str, *, reducer: str = "maximum", init: str = "-inf") -> str:
    return f"""{FUNCTIONS}ENTRY main {{
  x = f32[2,13,11,3] parameter(0)
  init = f32[] constant({init})
  ROOT r = f32[{result}] reduce-window(x, init), window={{{window}}}, to_apply={reducer}
}}"""


def scattering(source: str, window: str, init: str = "0") -> str:
    return f"""{FUNCTIONS}ENTRY main {{
  x = f32[2,13,11,3] parameter(0)
  source = f32[{source}] parameter(1)
  init = f32[] constant({init})
  ROOT r = f32[2,13,11,3] select-and-scatter(x, source, init), window={{{window}}}, select=larger, scatter=add
}}"""


WINDOWED = {
    "an image": convolution("1,13,11,2", "3,4,2,5", "1,13,10,5", "size=3x4 pad=1_1x1_1"),
    "strides, channels first": convolution(
        "2,3,13,11", "4,3,3,2", "2,4,7,11", "size=3x2 stride=2x1 pad=1_1x1_0", "bf01_oi01->bf01"
    ),
    "far taps": convolution("1,13,11,2", "3,2,2,4", "1,11,12,4", "size=3x2 pad=1_3x2_2 rhs_dilate=3x3"),
    "less than the image": convolution("1,13,11,2", "2,2,2,5", "1,10,12,5", "size=2x2 pad=-1_-1x1_1"),
    "a turned kernel": convolution("1,13,11,2", "3,4,2,5", "1,13,10,5", "size=3x4 pad=1_1x1_1 rhs_reversal=1x1"),
    "gaps in the image": convolution("2,7,6,3", "3,3,3,4", "2,14,12,4", "size=3x3 pad=1_2x1_2 lhs_dilate=2x2"),
    "wide gaps": convolution("1,7,6,3", "1,2,3,4", "1,25,10,4", "size=1x2 pad=0_0x0_0 lhs_dilate=4x2"),
    "depth by depth": convolution(
        "2,13,11,4", "3,3,1,4", "2,13,11,4", "size=3x3 pad=1_1x1_1", more=", feature_group_count=4"
    ),
    "groups of images": convolution(
        "6,13,11,4", "3,3,4,4", "3,13,11,4", "size=3x3 pad=1_1x1_1", more=", batch_group_count=2"
    ),
    "gradient of a kernel": convolution(
        "3,13,11,2", "3,13,11,4", "3,3,2,4", "size=13x11 pad=1_1x1_1", "f01b_i01o->01bf"
    ),
    "gradient of a kernel with strides": convolution(
        "3,13,11,2", "3,7,6,4", "2,2,2,4", "size=7x6 pad=1_0x0_1 rhs_dilate=2x2", "f01b_i01o->01bf"
    ),
    "gradient of a kernel for groups": convolution(
        "3,13,11,4", "3,13,11,4", "3,3,2,4", "size=13x11 pad=1_1x1_1", "f01b_i01o->01bf", ", batch_group_count=2"
    ),
    "maxima": pooling("size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0", "2,7,6,3"),
    "sums from one": pooling("size=1x3x2x1 pad=0_0x1_1x0_0x0_0", "2,13,10,3", reducer="add", init="1"),
    "gradient of maxima": scattering("2,7,6,3", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_1x1_1x0_0"),
    "gradient of maxima of shared elements": scattering("2,11,10,3", "size=1x3x2x1", "2"),
    "windows with gaps between them": scattering("2,3,4,3", "size=1x2x1x1 stride=1x5x3x1"),
}


def inputs(text: str) -> list[np.ndarray]:
    """Random numbers with repetitions, but without 0: variances are squares of some."""
    rng = np.random.default_rng(4)
    shapes = [parameter.array_shape for parameter in xla2py.load(text).entry.parameters]
    numbers = [rng.integers(-9, 9, shape.dimensions) for shape in shapes]
    return [(x + (x >= 0)).astype(shape.element_type.dtype) / 2 for x, shape in zip(numbers, shapes, strict=True)]


@cache
def judged(text: str) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Inputs of a program, and what NumPy and XLA give: the same for any chunks."""
    given = inputs(text)
    return given, leaves(xla2py.emit(text).load().main(*given)), run_hlo(text, *given)


def check(text: str, chunks: str, *written: str) -> None:
    given, by_numpy, by_xla = judged(text)
    generated = xla2py.emit(text, "dask", chunks=chunks)
    assert all(part in generated.source for part in written)
    assert "# one chunk: " not in generated.source
    module = generated.load()
    module.TILE_BYTES = module.WINDOW_BYTES = 1
    for made_of in kinds(chunks):
        found = list(dask.compute(*leaves(module.main(*map(made_of, given))), scheduler="sync"))
        assert differences(by_numpy, found) == []
        assert differences(by_xla, found) == []


@pytest.mark.parametrize(("name", "chunks"), crossed(WINDOWED, ["3", "5"]))
def test_windows_along_several_cut_axes(name, chunks):
    called = "select_and_scatter_in_chunks(" if "select-and" in WINDOWED[name] else "in_windows("
    check(WINDOWED[name], chunks, called)


@pytest.mark.parametrize(
    "name", [*much([], ["gaps in the image"]), "gradient of a kernel with strides", "gradient of maxima"]
)
def test_windows_over_chunks_of_one_element(name):
    check(WINDOWED[name], "1")


IN_BLOCKS = {
    "gradient of a kernel": (
        convolution("9,4,4,2", "9,4,4,4", "3,3,2,4", "size=4x4 pad=1_1x1_1", "f01b_i01o->01bf"),
        "[None]",
    ),
    "many channels": (convolution("1,3,3,9", "2,2,9,7", "1,2,2,7", "size=2x2"), "Summed(convolved_block)"),
    "gradient of maxima": (
        scattering("9,2,1,3", "size=1x2x2x1 stride=1x2x2x1").replace("2,13,11,3", "9,4,3,3"),
        "select_and_scatter(x, source, ",
    ),
}


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_where_windows_do_not_move_block_functions_have_them(name):
    text, written = IN_BLOCKS[name]
    check(text, "4", written)


def normalisation(kind: str, feature: int = 3) -> str:
    x, size = "f64[7,5,4,9]", (7, 5, 4, 9)[feature]
    v = f"f64[{size}]"
    names = {"training": "scale offset", "inference": "scale offset mean variance", "grad": "scale mean variance"}[kind]
    given = [f"{name} = {v} parameter({k})" for k, name in enumerate(names.split(), 1)]
    operands = names.replace("variance", "spread").split()
    if "variance" in names:
        given.append(f"spread = {v} multiply(variance, variance)")
    if kind == "grad":
        given.append(f"after = {x} parameter(4)")
        operands.append("after")
    result = x if kind == "inference" else f"({x}, {v}, {v})"
    return f"""ENTRY main {{
  x = {x} parameter(0)
  {"  ".join(given)}
  ROOT r = {result} batch-norm-{kind}(x, {", ".join(operands)}), epsilon=0.001, feature_index={feature}
}}"""


@pytest.mark.parametrize(
    ("chunks", "kind", "feature"), crossed(["1", "4", "6"], ["training", "grad", "inference"], [3, 1])
)
def test_batch_normalisation_in_any_chunks(chunks, kind, feature):
    check(normalisation(kind, feature), chunks)


def test_batch_normalisation_is_a_call_for_others():
    assert "batch_norm_training(" in xla2py.emit(normalisation("training")).source
    assert "batch_norm" not in xla2py.emit(normalisation("training"), "dask").source


LARGE = {
    "an image": convolution("1,1800,1700,4", "5,5,4,4", "1,1800,1700,4", "size=5x5 pad=2_2x2_2"),
    "an image with gaps": convolution("1,900,800,4", "3,3,4,4", "1,1800,1600,4", "size=3x3 pad=1_2x1_2 lhs_dilate=2x2"),
    "gradient of a kernel": convolution(
        "1,1800,1700,4", "1,1800,1700,4", "3,3,4,4", "size=1800x1700 pad=1_1x1_1", "f01b_i01o->01bf"
    ),
    "gradient of maxima": scattering("1,900,850,4", "size=1x3x3x1 stride=1x2x2x1 pad=0_0x1_0x1_0x0_0").replace(
        "2,13,11,3", "1,1800,1700,4"
    ),
}


@pytest.mark.parametrize("name", much([*LARGE][1::2], LARGE))
def test_a_run_takes_no_more_than_is_planned(name):
    text = LARGE[name]
    given = inputs(text)
    below = sum(x.nbytes for x in given) + 4 * xla2py.load(text).entry.root.array_shape.size
    check_plan(text, given, below=below, times=8, chunks="300")  # threads that take turns hold less


@pytest.mark.parametrize("chunks", much(["4KiB"], ["3", "4KiB"]))
def test_a_training_step_of_a_network(chunks):
    text = (EXAMPLES / "cnn_train_step.before.hlo").read_text("utf-8")
    given = make_inputs(xla2py.load(text), seed=3)
    assert not differences(
        on_numpy(text, given), on_dask(text, given, uneven, chunks), Budget(relative=1e-4, absolute=1e-5)
    )
