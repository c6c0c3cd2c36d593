"""``xla2py vendor update``, ``diff`` and ``eject``: edits are kept whatever happens."""

import random
import signal
import subprocess
import sys
import time
import tomllib

import pytest

from xla2py.tests.vendoring.conftest import rewrite
from xla2py.tests.whole import much
from xla2py.transpile.emission import body_sha256

NUMPY = "import numpy as np"
KILLS = much(3, 50)


@pytest.fixture
def module(project):
    return project / "src/ours/scale.py"


def test_without_edits_the_module_is_what_emit_writes(project, module, xla2py):
    rewrite(project / "kernels/scale.hlo", "constant(2)", "constant(3)")
    assert xla2py("vendor", "update") == (0, "src/ours/scale.py: updated\n", "")
    assert "x * 3 + 1" in module.read_text(encoding="utf-8")
    assert xla2py("vendor", "update") == (0, "src/ours/scale.py: unchanged\n", "")


def test_edits_and_a_new_source_are_merged(project, module, xla2py):
    rewrite(module, NUMPY, f"{NUMPY}  # double")
    module.write_text(module.read_text(encoding="utf-8") + "\n\ndouble = main\n", encoding="utf-8")
    rewrite(project / "kernels/scale.hlo", "constant(2)", "constant(3)")
    assert xla2py("vendor", "update") == (0, "src/ours/scale.py: merged with your edits\n", "")
    text = module.read_text(encoding="utf-8")
    assert "# double" in text and "double = main" in text and "x * 3 + 1" in text
    # and once more, from the merged file
    rewrite(project / "kernels/scale.hlo", "constant(3)", "constant(4)")
    assert xla2py("vendor", "update")[0] == 0
    text = module.read_text(encoding="utf-8")
    assert "double = main" in text and "x * 4 + 1" in text
    assert len(list((project / ".xla2py").iterdir())) == 1


def test_a_conflict_is_marked_and_told_until_it_is_resolved(project, module, xla2py):
    rewrite(module, "x * 2 + 1", "1 + 2 * x")
    rewrite(project / "kernels/scale.hlo", "constant(2)", "constant(3)")
    code, out, _ = xla2py("vendor", "update")
    assert (code, out) == (1, "src/ours/scale.py: merged, with conflicts to resolve\n")
    text = module.read_text(encoding="utf-8")
    assert "1 + 2 * x" in text and "x * 3 + 1" in text
    assert "conflict" in xla2py("vendor", "check")[1]
    code, _, err = xla2py("vendor", "update")
    assert code == 2 and "XP704" in err and module.read_text(encoding="utf-8") == text
    lines = [line for line in text.splitlines(keepends=True) if "x * 3" not in line and line[:7] not in MARKS]
    module.write_text("".join(lines), encoding="utf-8")
    assert xla2py("vendor", "update") == (0, "src/ours/scale.py: unchanged\n", "")
    assert "1 + 2 * x" in module.read_text(encoding="utf-8")


MARKS = ("<" * 7, "=" * 7, ">" * 7)


def test_a_merge_keeps_line_ends_and_the_mark(project, module, xla2py):
    text = rewrite(module, NUMPY, f"{NUMPY}  # ours")
    module.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    rewrite(project / "kernels/scale.hlo", "constant(2)", "constant(3)")
    assert xla2py("vendor", "update")[0] == 0
    content = module.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf") and content.count(b"\n") == content.count(b"\r\n")
    assert b"# ours" in content and b"x * 3" in content


def test_without_the_ancestor_edits_stay_as_they_are(project, module, xla2py):
    text = rewrite(module, "x * 2", "2 * x")
    for path in (project / ".xla2py").iterdir():
        path.unlink()
    assert xla2py("vendor", "update")[0] == 0  # the source still gives the ancestor
    assert module.read_text(encoding="utf-8") == text
    for path in (project / ".xla2py").iterdir():
        path.write_text("x = 1", encoding="utf-8")  # not what its name says
    rewrite(project / "kernels/scale.hlo", "constant(2)", "constant(3)")
    code, _, err = xla2py("vendor", "update")
    assert code == 2 and "XP705" in err
    assert module.read_text(encoding="utf-8") == text
    assert xla2py("vendor", "update", "--discard-edits")[0] == 0
    assert "x * 3 + 1" in module.read_text(encoding="utf-8")


def test_a_module_that_lost_its_header_is_not_overwritten(project, module, xla2py):
    text = "# all mine\n"
    module.write_text(text, encoding="utf-8")
    code, _, err = xla2py("vendor", "update")
    assert code == 2 and "XP705" in err and module.read_text(encoding="utf-8") == text


def test_diff_shows_and_writes_nothing(project, module, xla2py):
    assert xla2py("vendor", "diff") == (0, "", "")
    text = rewrite(module, NUMPY, f"{NUMPY}  # ours")
    rewrite(project / "kernels/scale.hlo", "constant(2)", "constant(3)")
    code, out, _ = xla2py("vendor", "diff")
    assert code == 1
    assert "-    return x * 2 + 1\n+    return x * 3 + 1\n" in out and NUMPY not in out.replace(f" {NUMPY}", "")
    code, out, _ = xla2py("vendor", "diff", "--edits")
    assert code == 1
    assert f"-{NUMPY}\n+{NUMPY}  # ours\n" in out and "* 3" not in out
    assert module.read_text(encoding="utf-8") == text


def test_eject_hands_the_file_over(project, module, xla2py):
    text = rewrite(module, "x * 2", "2 * x")
    assert xla2py("vendor", "eject", "src/ours/scale.py")[0] == 0
    ejected = module.read_text(encoding="utf-8")
    assert "sha256" not in ejected and "xla2py" not in ejected and "2 * x" in ejected
    assert body_sha256(ejected) == body_sha256(text)
    assert "xla2py" not in tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8")).get("tool", {})
    assert not list((project / ".xla2py").iterdir())
    code, _, err = xla2py("vendor", "update", "src/ours/scale.py")
    assert code == 2 and "XP701" in err


def test_killed_at_any_moment_an_update_leaves_the_old_module_or_the_new(project, module, xla2py):
    """SIGKILL at random moments; what is there is whole, and the next update makes it right, edits included."""
    hlo = project / "kernels/scale.hlo"
    rewrite(module, NUMPY, f"{NUMPY}  # kept")
    versions = {module.read_text(encoding="utf-8")}
    command = [sys.executable, "-c", "from xla2py.transpile.cli import main; main()", "vendor", "update"]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    duration = time.perf_counter() - start
    moments = random.Random(0)
    killed = 0
    for number in range(3, 3 + KILLS):
        rewrite(hlo, f"constant({number - 1})", f"constant({number})")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The run that was timed may be the slowest; the first that is killed is, while it still starts.
        time.sleep(duration * (moments.uniform(0.3, 1.0) if number > 3 else 0.1))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        text = module.read_text(encoding="utf-8")
        compile(text, str(module), "exec")
        assert "# kept" in text
        assert text in versions or f"x * {number}" in text
        assert xla2py("vendor", "update")[0] == 0
        text = module.read_text(encoding="utf-8")
        assert "# kept" in text and f"x * {number}" in text
        versions = {text}
    assert killed
