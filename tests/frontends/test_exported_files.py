"""What ``Exported.serialize`` wrote is read as what it is, without JAX's reader.

Both files hold one function of two versions of JAX, the newer for two platforms::

    export.register_namedtuple_serialization(Pair, serialized_name="kernels.Pair")

    def layer(params, unread, x, *, scale):
        y = jnp.tanh(x @ params["w"] + params["b"]) * scale
        return {"y": y, "parts": [y.sum(), None]}, Pair(x + 1, y.max())
"""

from pathlib import Path

import numpy as np
import pytest

import xla2py
from xla2py.transpile.errors import UsageError
from xla2py.transpile.frontends.exported_file import is_exported, read_exported
from xla2py.transpile.frontends.sniffing import Kind, programs_in, sniff

FOLDER = Path(__file__).parent / "exported"
FILES = ["jax_0_10.bin", "jax_0_12.bin"]
PLATFORMS = {"jax_0_10.bin": ("cpu",), "jax_0_12.bin": ("cuda", "cpu")}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_the_function_that_was_exported(name):
    module = xla2py.emit(FOLDER / name)
    written = bytearray((FOLDER / name).read_bytes())  # the type that ``serialize`` gives
    assert xla2py.emit(written).source.partition("def main")[2] == module.source.partition("def main")[2]
    assert "def main(\n    params: Tree, x: Array, scale: Scalar\n)" in module.source
    assert "kernels.Pair is returned as a plain tuple of its parts" in module.source
    w, x = (np.random.default_rng(k).standard_normal(shape, np.float32) for k, shape in enumerate([(3, 4), (2, 3)]))
    b, scale = np.arange(4, dtype=np.float32), np.float32(2)
    named, (more, most) = module.load().main({"w": w, "b": b}, x, scale)
    y = np.tanh(x @ w + b) * scale
    np.testing.assert_allclose(named["y"], y, rtol=1e-5)
    np.testing.assert_allclose(named["parts"][0], y.sum(), rtol=1e-5)
    assert named["parts"][1] is None
    np.testing.assert_allclose(more, x + 1)
    np.testing.assert_allclose(most, y.max(), rtol=1e-5)


def test_exports_of_any_name_are_taken_from_a_folder(tmp_path):
    for name in FILES:
        (tmp_path / name).with_suffix(".saved").write_bytes((FOLDER / name).read_bytes())
    (tmp_path / "notes.txt").write_text("not a program")
    (tmp_path / "empty").touch()
    assert [path.name for path in programs_in(tmp_path)] == ["jax_0_10.saved", "jax_0_12.saved"]


@pytest.mark.parametrize("name", FILES)
def test_the_parts_of_an_export(name):
    content = (FOLDER / name).read_bytes()
    assert sniff(content) is Kind.EXPORTED
    exported = read_exported(content)
    assert bytes(exported.program[:4]) == b"ML\xefR"
    assert exported.platforms == PLATFORMS[name]
    assert (exported.trees.leaves, exported.trees.depths) == ((0, 1, 3, 4), (1, 1, 0, 0))
    assert exported.trees.results == ({"parts": [0, None], "y": 1}, (2, 3))


@pytest.mark.parametrize("name", FILES)
def test_bytes_that_are_no_export_are_none_or_have_a_code(name):
    """Whatever one byte before the program, or the end, is changed to."""
    content = (FOLDER / name).read_bytes()
    generator = np.random.default_rng(0)
    places = [k for k in range(len(content)) if content[k : k + 4] != b"ML\xefR"]
    for place in generator.choice(places, 400):
        changed = bytearray(content)
        changed[place] = generator.integers(256)
        for part in (bytes(changed), content[:place]):
            if is_exported(part):
                try:
                    read_exported(part)
                except UsageError as error:
                    assert error.diagnostics[0].code == "XP720"


def test_a_tree_of_shared_parts_is_not_followed_without_end():
    """Each level has two children, both the next one: 2**40 leaves in 1 kB."""
    levels = 40
    offsets, parts, place = [], [], 0
    for k in range(levels):  # each: vtable, table, vector of two
        size = 8 + 12 + 12
        offsets.append(place + 8)
        ends = k == levels - 1
        table = place + 8
        vector = table + 12
        following = table + size
        children = (0).to_bytes(4, "little") if ends else (2).to_bytes(4, "little")
        to_next = [0, 0] if ends else [following - (vector + 4), following - (vector + 8)]
        parts.append(
            b"".join(n.to_bytes(2, "little") for n in (8, 12, 0, 8))
            + (8).to_bytes(4, "little")
            + b"\0" * 4
            + (vector - (table + 8)).to_bytes(4, "little")
            + children
            + b"".join(n.to_bytes(4, "little") for n in to_next)
        )
        place += size
    content = b"".join(parts)
    from xla2py.transpile.frontends.exported_file import Table, _Definition

    with pytest.raises(UsageError, match="XP720"):
        _Definition(Table(memoryview(content), offsets[0]), len(content)).depths()
