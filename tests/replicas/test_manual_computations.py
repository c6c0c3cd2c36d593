"""Programs with ``shard_map`` and ``pmap``, before and after XLA's partitioner: what each device computes is JAX's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.tests.recording.answers import ANSWERS
from xla2py.tests.recording.lines import placed, replaced
from xla2py.tests.recording.questions import Question
from xla2py.tests.replicas.test_cluster import imported_from
from xla2py.transpile.equivalence.verdicts.comparison import flatten
from xla2py.transpile.frontends.loading import load
from xla2py.transpile.hlo.source import UnsupportedError

SCRIPT = Path(__file__).parents[2] / "examples" / "devices" / "programs.py"
NAMES = (
    "data_parallel fully_sharded zero tensor_parallel pipeline ring_attention expert_parallel two_axes halo "
    "several_slices mixture_of_experts stages_fitted one_in_the_other mapped around uneven"
).split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The texts, and what each device is given and computes."""
    made = tmp_path_factory.mktemp("devices")

    def written():
        subprocess.run([sys.executable, str(SCRIPT), str(made)], check=True, capture_output=True)
        return {path.name: content(path) for path in sorted(made.iterdir())}

    question = Question(f"files of {SCRIPT.name}", ("files", SCRIPT.read_text("utf-8")), is_text=True)
    for name, each in ANSWERS.ask(question, written).items():
        if isinstance(each, str):
            (made / name).write_text(replaced(each, ()), "utf-8")
        else:
            np.savez(made / name, **each)
    return made


def content(path: Path) -> str | dict[str, np.ndarray]:
    if path.suffix != ".npz":
        return placed(path.read_text("utf-8"), ())
    with np.load(path) as stored:
        return dict(stored)


def of_devices(path: Path, side: str) -> list[list[np.ndarray]]:
    with np.load(path) as stored:
        count = len({name.split(".")[1] for name in stored.files if name.startswith(side)})
        return [[stored[f"{side}.{k}.{device}"] for k in range(count)] for device in range(8)]


def assert_close(results, expected):
    for own, wanted in zip(results, expected, strict=True):
        arrays = [array for _, array in flatten(own if isinstance(own, tuple) else (own,))]
        for array, other in zip(arrays, wanted, strict=True):
            np.testing.assert_allclose(array, other, rtol=2e-4, atol=2e-5)


def test_all_programs_are_tested(folder):
    assert {path.name.split(".")[0] for path in folder.glob("*.hlo")} == set(NAMES)


@pytest.mark.parametrize("stage", ["lowered", "compiled"])
@pytest.mark.parametrize("name", NAMES)
def test_threads_compute_what_devices_compute(folder, tmp_path, name, stage):
    text = (folder / f"{name}.{stage}.hlo").read_text()
    given, made = (of_devices(folder / f"{name}.{stage}.npz", side) for side in ("given", "made"))
    if (name, stage) == ("uneven", "lowered"):  # nothing in it says what one device computes: it is the whole program
        xla2py.emit(text).save(tmp_path / "whole.py")
        assert_close([imported_from(tmp_path / "whole.py").main(*given[0])], made[:1])
        return
    xla2py.emit(text).save(tmp_path / "divided.py")
    assert_close(imported_from(tmp_path / "divided.py").run_local(given), made)


@pytest.mark.parametrize("stage", ["lowered", "compiled"])
@pytest.mark.parametrize("name", NAMES)
def test_whole_arrays_are_divided_as_jax_divides_them(folder, tmp_path, name, stage):
    text = (folder / f"{name}.{stage}.hlo").read_text()
    xla2py.emit(text).save(tmp_path / "divided.py")
    module = imported_from(tmp_path / "divided.py")
    given = of_devices(folder / f"{name}.{stage}.npz", "given")
    with np.load(folder / f"{name}.{stage}.npz") as stored:
        wholes, results = ([stored[n] for n in stored.files if n.startswith(side)] for side in ("whole", "result."))
    if not hasattr(module, "split"):  # every device has whole arrays, or the text says nothing of them (JAX 0.12)
        is_told = stage == "lowered" or ", sharding={" in text
        assert name == "uneven" or not is_told or all(own[0].shape == wholes[0].shape for own in given)
        return
    for own, wanted in zip(module.split(wholes), given, strict=True):
        for array, other in zip(own, wanted, strict=True):
            np.testing.assert_array_equal(array, other)
    assert hasattr(module, "join") == (stage == "lowered")  # the text of the partitioner does not tell of results
    if stage == "lowered":
        assert_close([module.main(*wholes)], [results])


LIVE = """
import numpy as np, sys
sys.argv = ["programs.py"]
exec(open(%r).read().split("def parts(")[0])
import xla2py
function, mesh, shapes, given, made = PROGRAMS["tensor_parallel"]
arrays = [np.random.default_rng(0).normal(size=shape).astype(np.float32) for shape in shapes]
compiled = jax.jit(function).lower(*arrays).compile()
emitted = xla2py.emit(compiled)
assert '"x": ("data", None)' in emitted.source, emitted.source
assert "rows over `data`" in emitted.source
np.testing.assert_allclose(emitted.load().main(*arrays), compiled(*arrays), rtol=1e-4, atol=1e-5)

inner = on(LINE, (P(None, "data"), P("data")), P())(lambda x, w: lax.psum(x @ w, "data"))
steps = jax.jit(lambda x, w: lax.scan(lambda x, _: (jnp.tanh(inner(x, w)), x.sum()), x, None, length=3))
x, w = (np.random.default_rng(0).normal(size=shape).astype(np.float32) for shape in ((16, 8), (8, 8)))
emitted = xla2py.emit(steps.lower(x, w).as_text("hlo"))
assert "Every device along the axis `data` (8) of a mesh has whole arrays." in emitted.source, emitted.source[:400]
for own, wanted in zip(emitted.load().main(x, w), steps(x, w), strict=True):
    np.testing.assert_allclose(own, wanted, rtol=1e-4, atol=1e-5)
"""


@pytest.mark.live_xla
def test_compiled_programs_know_the_names_of_their_mesh_and_arrays_that_all_devices_have_have_a_main():
    subprocess.run([sys.executable, "-c", LIVE % str(SCRIPT)], check=True)


def test_what_cannot_be_divided_evenly_is_refused(folder):
    module = xla2py.emit((folder / "halo.lowered.hlo").read_text()).load()
    with pytest.raises(ValueError, match=r"^\w+: 13 elements cannot be divided into 8 parts"):
        module.split([np.zeros((13, 5), np.float32)])
    with pytest.raises(ValueError, match=r"^\w+: 0 dimensions, not 2"):
        module.split([np.float32(3)])
    with pytest.raises(ValueError, match=r"^expected \w+; got 2 arrays"):
        module.split([np.zeros((16, 5), np.float32)] * 2)


@pytest.mark.parametrize("name", ["tensor_parallel", "ring_attention", "around"])
def test_workers_compute_what_devices_compute(folder, tmp_path, eight_workers, name):
    """Eight replicas on as many workers."""
    given, made = (of_devices(folder / f"{name}.lowered.npz", side) for side in ("given", "made"))
    xla2py.emit((folder / f"{name}.lowered.hlo").read_text(), target="dask").save(tmp_path / "divided.py")
    module = imported_from(tmp_path / "divided.py")
    assert_close(module.run_replicas(eight_workers.client, given, timeout=60), made)
    with np.load(folder / f"{name}.lowered.npz") as stored:
        wholes, results = ([stored[n] for n in stored.files if n.startswith(side)] for side in ("whole", "result."))
    assert_close([module.main(eight_workers.client, *wholes)], [results])


def test_the_text_of_one_device_is_the_authors(folder):
    source = xla2py.emit((folder / "tensor_parallel.lowered.hlo").read_text()).source
    assert 'check_arguments("float32", (8, 32), x=x)' in source and "(32, 16), up=up)" in source
    assert "gelu(x @ up) @ down" in source and "groups=MODEL_GROUPS" in source


def test_groups_and_rings_have_the_names_of_axes_at_the_top(folder):
    programs = ("several_slices", "ring_attention", "halo")
    of_slices, of_ring, halo = (xla2py.emit((folder / f"{p}.lowered.hlo").read_text()).source for p in programs)
    assert "\nMODEL_GROUPS = ((0, 1), (2, 3), (4, 5), (6, 7))\nDATA_GROUPS = ((0, 2), (1, 3), (4, 6)," in of_slices
    assert of_slices.count("groups=") == 3 and "groups=SLICE_GROUPS" in of_slices
    assert of_ring.count("DATA_RING = ((0, 1), (1, 2),") == 1 and of_ring.count("collective_permute(k, DATA_RING)") == 1
    assert "RING" not in halo and halo.count("(6, 7))") == 1  # a line of devices, not a ring, sent along once


def test_what_is_computed_of_a_devices_place_in_the_mesh(folder):
    source = xla2py.emit((folder / "stages_fitted.lowered.hlo").read_text()).source
    assert "axis_index = (partition_id % 4).astype(np.int32)" in source
    assert "(tanh, MODEL_RING)" in source and source.count("MODEL_RING_BACK)") == 1  # forward, and its gradient
    nested = xla2py.emit((folder / "one_in_the_other.lowered.hlo").read_text()).source
    assert nested.count("np.add, groups=") == 2  # what adds carries an annotation, too


def test_what_goes_to_experts_and_back_is_one_array(folder):
    for stage in ("lowered", "compiled"):
        source = xla2py.emit((folder / f"mixture_of_experts.{stage}.hlo").read_text()).source
        assert source.count("g.all_to_all(") == 2 and "np.stack([" not in source.split("\nclass ")[0]


def test_what_is_computed_around_is_computed_on_whole_arrays(folder):
    """A result that only a manual computation makes stays in parts, and one that another takes as it is does, too."""
    source = xla2py.emit((folder / "around.lowered.hlo").read_text()).source
    body = source.split("def replica")[1].split("\n\n\n")[0]
    assert body.count("all_gather") == 2  # of the first call, along both axes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"@mesh, [{\"data\"}", r"@other, [{\"data\"}"),
        (r"{\"data\"}, {}", r"{\"data\":(1)2}, {}"),
        (r"{\"data\"}, {}", r"{\"data\"}, {\"data\"}"),
        (r"{\"data\"}, {}", r"{\"nothing\"}, {}"),
        (r"{\"data\"}, {}", r"{}, {\"data\"}"),
        ('"data"=8', '"data"=4'),
        ('"data"=8', '"data"=0'),
        ('"data"=8', '"data"=888888888, "more"=888888888'),
        ("in_shardings", "no_shardings"),
    ],
)
def test_layouts_that_are_not_understood_are_refused_with_what_helps(folder, old, new):
    text = (folder / "halo.lowered.hlo").read_text()
    assert old in text
    with pytest.raises(UnsupportedError, match="XP362") as raised:
        xla2py.emit(text.replace(old, new))
    assert "lowered.compile().as_text()" in str(raised.value.diagnostics[0].hint)


def test_devices_of_a_mesh_in_another_order(folder):
    """A device then has the part of its place in the mesh, not of its number."""
    order = [3, 1, 0, 2, 7, 6, 5, 4]
    text = (folder / "around.lowered.hlo").read_text()
    ordered = text.replace('"model"=4]>', f'"model"=4], device_ids={order}>')
    assert ordered != text
    one, other = (xla2py.emit(each).load() for each in (text, ordered))
    given = of_devices(folder / "around.lowered.npz", "given")
    expected, found = one.run_local(given), other.run_local(given)
    for place, device in enumerate(order):
        np.testing.assert_array_equal(found[device][1].shape, expected[place][1].shape)
    assert load(ordered).num_partitions == 8
