"""Vendored modules for any size: the spelling with names is their source."""

import json
from pathlib import Path

import pytest

from xla2py.tests.vendoring.conftest import rewrite

jax = pytest.importorskip("jax")

SPELLING = "vendored_kernels:scaled(f32[N,3])"
TEXT = '"""Kernels."""\n\n\ndef scaled(x):\n    return x * len(x) + 1\n'


def test_names_in_shapes_are_kept(project, xla2py):
    kernels, path = Path("vendored_kernels.py"), Path("src/ours/scaled.py")
    kernels.write_text(TEXT, encoding="utf-8")
    code, _, err = xla2py("vendor", "add", SPELLING, "-o", str(path))
    assert code == 0, err
    text = path.read_text(encoding="utf-8")
    assert "return x * n + 1\n" in text and f"# regenerate: xla2py emit '{SPELLING}' -t numpy" in text
    assert f'source = "{SPELLING}"' in Path("pyproject.toml").read_text(encoding="utf-8")

    def state() -> tuple[str, bool]:
        entries = json.loads(xla2py("vendor", "check", "--output-format", "json")[1])
        return next((entry["state"], entry["edited"]) for entry in entries if entry["source"] == SPELLING)

    assert state() == ("fresh", False)
    rewrite(path, "import numpy", "# ours\nimport numpy")
    assert state() == ("edited", True)
    rewrite(Path("pyproject.toml"), f'source = "{SPELLING}"', f'source = "{SPELLING}"\nchecks = "none"')
    code, out, _ = xla2py("vendor", "update", str(path))
    text = path.read_text(encoding="utf-8")
    assert code == 0 and "merged with your edits" in out and "# ours\n" in text and "check_sizes" not in text


def dumps(*sizes: int) -> list[str]:
    """Dumps of one program at some sizes, in the folder of kernels."""
    for size in sizes:
        shape = jax.ShapeDtypeStruct((size, 3), "float32")
        text = jax.jit(lambda x: (x - x.mean(0)) / len(x)).lower(shape).as_text("hlo")
        Path(f"kernels/at{size}.hlo").write_text(text, encoding="utf-8")
    return [f"kernels/at{size}.hlo" for size in sizes]


def test_dumps_are_kept_with_their_sizes(project, xla2py):
    path = Path("src/ours/centred.py")
    code, _, err = xla2py("vendor", "add", *dumps(13, 18, 23), "--sizes", "N=13,18,23", "-o", str(path))
    assert code == 0, err
    manifest = Path("pyproject.toml").read_text(encoding="utf-8")
    assert 'others = ["kernels/at18.hlo", "kernels/at23.hlo"]\nsizes = ["N=13,18,23"]\n' in manifest
    text = path.read_text(encoding="utf-8")
    assert "at13.hlo kernels/at18.hlo kernels/at23.hlo --sizes N=13,18,23 -t numpy" in text
    assert xla2py("vendor", "check", str(path))[0] == 0
    rewrite(path, " / n", " / n  # all of them")
    code, out, _ = xla2py("vendor", "check", "--prove", str(path))
    assert code == 1 and "right on 12 sets of inputs" in out  # four at each of the sizes
    rewrite(path, " / n ", " / min(n, 20) ")
    code, out, _ = xla2py("vendor", "check", "--prove", str(path))
    assert code == 1 and "wrong on ordinary" in out
    rewrite(Path("kernels/at18.hlo"), "divide(", "multiply(")
    code, _, err = xla2py("vendor", "update", str(path))
    assert code and "XP424" in err and "min(n, 20)" in path.read_text(encoding="utf-8")


def test_what_is_right_at_the_sizes_of_the_text_alone_is_found(project, xla2py):
    Path("vendored_kernels.py").write_text(TEXT, encoding="utf-8")
    path = Path("src/ours/scaled.py")
    assert xla2py("vendor", "add", SPELLING, "-o", str(path))[0] == 0
    rewrite(path, "x * n", "x * min(n, 300)")
    code, out, _ = xla2py("vendor", "check", "--prove", str(path))
    assert code == 1 and "wrong on ordinary" in out


def test_sizes_that_chunks_are_planned_for_are_kept(project, xla2py):
    pytest.importorskip("dask.array", reason="Dask is not installed")
    Path("vendored_kernels.py").write_text(TEXT, encoding="utf-8")
    path = Path("src/ours/scaled.py")
    code, _, err = xla2py("vendor", "add", SPELLING, "-t", "dask", "--sizes", "N=100000000", "-o", str(path))
    assert code == 0, err
    assert 'sizes = ["N=100000000"]' in Path("pyproject.toml").read_text(encoding="utf-8")
    assert xla2py("vendor", "check", str(path))[0] == 0
    chunks = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("CHUNKS"))
    rewrite(Path("pyproject.toml"), "N=100000000", "N=1000")
    assert xla2py("vendor", "check", str(path))[0] == 1
    assert xla2py("vendor", "update", str(path))[0] == 0 and chunks not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('sizes = ["N=13,18,23"]', 'sizes = "N=13,18,23"', "XP412"),
        ('sizes = ["N=13,18,23"]', 'sizes = ["N"]', "XP425"),
        ('sizes = ["N=13,18,23"]\n', "", "XP425"),
        (', "kernels/at23.hlo"]', "]", "XP425"),
    ],
)
def test_a_manifest_whose_sizes_are_none_is_refused(old, new, code, project, xla2py):
    path = Path("src/ours/centred.py")
    assert xla2py("vendor", "add", *dumps(13, 18, 23), "--sizes", "N=13,18,23", "-o", str(path))[0] == 0
    rewrite(Path("pyproject.toml"), old, new)
    exit_code, _, err = xla2py("vendor", "check", str(path))
    assert exit_code == 2 and code in err
