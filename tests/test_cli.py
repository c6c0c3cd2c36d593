"""What the command does with arguments, failures and the terminal, whichever subcommand runs."""

import gc
import os
import re
import runpy
import signal
import subprocess
import sys

import pytest

from xla2py.tests.whole import much
from xla2py.transpile import cli
from xla2py.transpile.commands import modules


def process(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from xla2py.transpile.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)


def test_an_error_points_at_the_place(xla2py):
    code, out, err = xla2py("broken.hlo")
    assert (code, out) == (2, "")
    assert "error[XP112]" in err
    assert " --> broken.hlo:2:23\n" in err
    assert "\n2 |   ROOT z = f32[3] add(x, x)\n  |                       ^" in err


def test_unsupported_operations_are_reported_together(xla2py):
    code, out, err = xla2py("unsupported.hlo")
    assert (code, out) == (3, "")
    assert err.count("error[XP305]") == 2  # two kernels
    assert all(f" --> unsupported.hlo:{line}:" in err for line in (4, 5, 6))


def test_more_about_errors_is_said_once_a_run(xla2py):
    code, _, err = xla2py("emit", "broken.hlo", "unsupported.hlo", "-o", "out")
    assert code == 3
    assert err.count("error[XP112]") == 1 and err.count("error[XP305]") == 2
    assert err.endswith("\nFor more about these errors: xla2py explain XP112, xla2py explain XP305\n")
    assert err.count("For more about") == 1


VERBS = [[name] for name in cli.COMMANDS] + [["vendor", name] for name in ("add", "check", "diff", "eject", "update")]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_help_is_in_sentences(xla2py, verb):
    code, out, err = xla2py(*verb, "--help")
    assert (code, err) == (0, "")
    assert not re.search(r"<=|\[default|\[required|RANGE|TEXT|Default: none|[a-z]\.\.\.$", out, re.MULTILINE), out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.hlo"], "XP401", "cannot read missing.hlo: No such file"),
        (["run", "."], "XP401", "Is a directory"),
        (["emitt", "model.hlo"], "XP404", "did you mean 'xla2py emit'?"),
        (["emit"], "XP400", "Missing argument 'FILE...'"),
        (["emit", "model.hlo", "--colour"], "XP400", "No such option"),
        (["emit", "model.hlo", "--annotate", "all"], "XP400", "'all' is not one of"),
        (["emit", "model.hlo", "-t", "numpi"], "XP406", "did you mean 'numpy'?"),
        (["emit", "model.hlo", "-t", ","], "XP406", "no target is named"),
        (["emit", "model.hlo", "-o", "model.hlo/x.py"], "XP401", "cannot write"),
        (["explain", "XP999"], "XP405", "no error code 'XP999'"),
        (["layout", "f32[4"], "XP103", "the text ends"),
        (["layout", "f32[4] add"], "XP102", "found `add`"),
        (["completion", "tcsh"], "XP400", "'tcsh' is not one of"),
        (["model.hlo", "--custom-call", "f"], "XP413", "'f' is not of the form"),
        (["model.hlo", "--custom-call", "f=kernels.f"], "XP413", "not of the form module:function"),
        (["run", "model.hlo", "--args", "model.hlo"], "XP407", "not an .npz file"),
        (["run", "infeed.hlo"], "XP409", "infeed"),
    ],
)
def test_bad_usage_ends_with_code_2(xla2py, arguments, code, message):
    exit_code, out, err = xla2py(*arguments)
    assert (exit_code, out) == (2, "")
    assert f"error[{code}]" in err
    assert message in err


def fail(*_):
    raise RuntimeError("boom")


def test_a_bug_of_ours_is_short_and_says_how_to_report_it(xla2py, monkeypatch):
    monkeypatch.setattr(modules, "shown_name", fail)
    monkeypatch.setattr("xla2py.transpile.commands.emit.shown_name", fail)
    code, out, err = xla2py("model.hlo")
    assert (code, out) == (4, "")
    assert "internal error: RuntimeError" in err and "--debug" in err
    assert "Traceback" not in err
    for arguments in (("--debug", "model.hlo"), ("emit", "model.hlo", "--debug")):
        code, _, err = xla2py(*arguments)
        assert code == 4
        assert "Traceback" in err and "boom" in err


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (MemoryError, 2), (RecursionError, 4)])
def test_other_ways_to_fail_have_their_exit_codes(xla2py, monkeypatch, error, code):
    def raise_it(*_, **options):
        raise error

    monkeypatch.setattr("xla2py.transpile.commands.modules.read_module", raise_it)
    exit_code, out, err = xla2py("model.hlo")
    assert (exit_code, out) == (code, "")
    assert "Traceback" not in err


def test_completion_completes_commands():
    environment = {**os.environ, "_XLA2PY_COMPLETE": "bash_complete", "COMP_WORDS": "xla2py in", "COMP_CWORD": "1"}
    assert process(env=environment).stdout == "plain,inspect\n"


def test_help_lists_the_commands_and_loads_no_array_library(xla2py):
    code, out, _ = xla2py("--help")
    assert code == 0
    assert all(re.search(rf"^  {name} +\w", out, re.MULTILINE) for name in cli.COMMANDS)
    script = "import sys; from xla2py.transpile.cli import run; run(['--help']); print('numpy' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("False\n")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_that_begins_with_a_sentence(xla2py, name):
    code, out, _ = xla2py(name, "--help")
    assert code == 0
    assert re.match(rf"Usage: xla2py {name} .*\n\n  [A-Z]", out)
    assert "--debug" in out


def test_version(xla2py):
    import xla2py as package

    assert xla2py("--version") == (0, f"xla2py {package.__version__}\n", "")


def test_the_package_runs_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["xla2py", "--version"])
    monkeypatch.setattr(gc, "freeze", lambda: None)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("xla2py", run_name="__main__")
    assert ended.value.code == 0 and capsys.readouterr().out.startswith("xla2py ")


def test_what_the_command_made_is_not_looked_through_for_cycles_once_more():
    script = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0, gc.isenabled()))\n"
    script += "from xla2py.transpile.cli import main; main()"
    command = [sys.executable, "-c", script, "layout", "f32[2]"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.endswith("True True\n")


def test_colour_only_where_it_is_wanted(folder):
    assert "\x1b[" not in process("broken.hlo").stderr
    assert "\x1b[" in process("broken.hlo", env={**os.environ, "FORCE_COLOR": "1"}).stderr
    forced_off = {**os.environ, "FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert "\x1b[31m" not in process("broken.hlo", env=forced_off).stderr


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="needs pipes that break")
def test_a_reader_that_goes_away_is_no_error():
    command = [sys.executable, "-c", "from xla2py.transpile.cli import main; main()", "ops"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None and child.stderr is not None
    child.stdout.close()
    assert child.stderr.read() == b""
    assert child.wait() == 141


@pytest.mark.parametrize(
    "arguments",
    [
        *([name, "model.hlo", "--seed", "-1"] for name in ("run", "check", "lockstep", "reduce")),
        *(["check", "model.hlo", "--timeout", seconds] for seconds in ("-1", "0", "nan", "inf", "1e300")),
        *(["check", "model.hlo", "--memory-limit", size] for size in ("-5", "0", "99999999999999999")),
        ["fuzz", "--seeds", "-1"],
        ["fuzz", "--seeds", "0"],
        ["fuzz", "--first-seed", "-3"],
        ["fuzz", "--timeout", "-1"],
        ["fuzz", "--memory-limit", "-5"],
        ["reduce", "model.hlo", "--retries", "-1"],
    ],
)
def test_numbers_out_of_range_are_bad_usage(xla2py, arguments):
    code, out, err = xla2py(*arguments)
    assert (code, out) == (2, "")
    assert "error[XP400]" in err and "is not in the range" in err and arguments[-2] in err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        *((["emit", "model.hlo", "-t", "dask", "--chunks", size], "XP741") for size in ("0", "-1", "²", "9" * 400)),
        (["emit", "model.hlo", "-t", "dask", "--memory", "9" * 400 + "GiB"], "XP741"),
        (["inspect", "model.hlo", "-t", "dask", "--chunks", "0"], "XP741"),
        (["check", "model.hlo", "--campaigns", ","], "XP600"),
        (["check", "model.hlo", "--reference", ","], "XP600"),
        (["fuzz", "--campaigns", ","], "XP600"),
        (["a" * 3000 + ".hlo"], "XP401"),
        (["lockstep", "model.hlo", "--edited", sys.executable], "XP401"),
        (["emit", "model.hlo", "-o", "a" * 3000 + ".py"], "XP401"),
    ],
)
def test_other_values_that_mean_nothing_are_bad_usage(xla2py, arguments, code):
    exit_code, _, err = xla2py(*arguments)
    assert exit_code == 2 and f"error[{code}]" in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("arguments", much([["ops"]], [["model.hlo"], ["ops"], ["run", "model.hlo"], ["--help"]]))
def test_a_full_disk_is_no_bug(folder, arguments):
    command = [sys.executable, "-c", "from xla2py.transpile.cli import main; main()", *arguments]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        silent = subprocess.run([*command[:3], "--nonsense"], stderr=full, timeout=120, check=False)
    assert done.returncode == 2 and "error[XP401]: cannot write stdout: No space left" in done.stderr
    assert silent.returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_closed_streams_are_no_bugs(folder):
    def shell(line: str) -> subprocess.CompletedProcess[str]:
        script = f'run() {{ "{sys.executable}" -c "from xla2py.transpile.cli import main; main()" "$@"; }}; run {line}'
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=120, check=False)

    closed = shell("model.hlo >&-")
    assert closed.returncode == 2 and "error[XP401]: cannot write stdout: it is closed" in closed.stderr
    assert shell("model.hlo -o closed.py >&-").returncode == 0 and os.path.exists("closed.py")
    assert shell("ops 2>&-").returncode == 0
    unread = shell("emit - <&-")
    assert unread.returncode == 2 and "error[XP401]: cannot read stdin: it is closed" in unread.stderr
