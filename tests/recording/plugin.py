"""The plugin of pytest that answers tests' questions to XLA from the recordings, and writes these."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any
from zlib import crc32

# Before NumPy is imported: threads of BLAS within threads of Dask, within workers of pytest, wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from xla2py.tests import whole
from xla2py.tests.recording.answers import ANSWERS
from xla2py.tests.recording.modules import recorded_modules
from xla2py.tests.recording.numbers import IMPORTED, RUN, restart
from xla2py.tests.recording.questions import Question, program, title
from xla2py.transpile.equivalence.reference import xla as xla_reference
from xla2py.transpile.equivalence.reference.participants import REFERENCES, Workers
from xla2py.transpile.equivalence.reference.worker import Answer
from xla2py.transpile.equivalence.reference.xla_process import DEVICES, ReferenceWorker

TESTS = Path(__file__).resolve().parents[1]
_DEVICES = "--xla_force_host_platform_device_count"
MODES = ("recorded", "record", "live")
_BEGAN = time.monotonic()
_LEFT = pytest.StashKey[Counter[str]]()  # the tests of each file that only make prove runs


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-jax", action="store_true", help="as where JAX is not installed")
    parser.addoption("--answers", choices=MODES, default=MODES[0], help="whether answers of XLA are believed")
    parser.addoption("--whole", action="store_true", help="prove everything, not samples")
    parser.addoption("--part", default="1/1", help="which part of the tests runs, such as 3/10: by their names")
    parser.addoption("--minutes", type=float, default=float("inf"), help="tests that begin later are skipped")


def pytest_configure(config: pytest.Config) -> None:
    ANSWERS.mode = config.getoption("--answers")
    if config.getoption("--without-jax"):
        sys.meta_path.insert(0, _NoJax())
        ANSWERS.version = ""
    if config.getoption("--whole"):
        os.environ[whole.VARIABLE] = "1"
    # How long a machine takes that does other work, too, says nothing about a strategy.
    examples = whole.much(30, 100)
    settings.register_profile("any", max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any")
    config.addinivalue_line("markers", "live_xla: asks XLA itself, and is skipped where JAX is not installed")
    config.addinivalue_line("markers", "texts_of(version): is about what that version of JAX writes")
    config.addinivalue_line("markers", "whole: is left to make prove")
    config.addinivalue_line("markers", "long: stands in a file that takes a minute, which begins first")
    config.addinivalue_line("markers", "compiled: functions of Numba are compiled, which else run as plain Python")
    config.pluginmanager.register(_Run(), "recorded answers")


class _NoJax(MetaPathFinder):
    """JAX cannot be imported in this process."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname.partition(".")[0] in ("jax", "jaxlib"):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


class _Run:
    """The test that asks, and what is written when all have."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.failed: set[str] = set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        if isinstance(collector, pytest.Module):
            _asking(collector.path)
            restart(None, IMPORTED)
        outcome = yield
        if isinstance(collector, pytest.Directory) and hasattr(collector.config, "workerinput"):
            _begin_elsewhere(outcome.get_result().result, collector.config.workerinput)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        _asking(item.path, item.name)
        mark = item.get_closest_marker("texts_of")
        ANSWERS.texts_of = mark.args[0] if mark else ""
        self.modules.add(ANSWERS.module)
        restart(getattr(item, "module", None), RUN)
        yield

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(_module(TESTS.parent / report.location[0]))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        gc.freeze()  # pytest collects garbage several times at its end
        if ANSWERS.mode == "record":
            words = [session.config.option.keyword, session.config.option.markexpr, *session.config.args]
            is_whole = not any(words[:2]) and not any("::" in word for word in words[2:])
            is_whole &= session.config.option.part == "1/1"
            ANSWERS.write(self.modules, self.modules - self.failed if is_whole else set())
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["disagreements"] = ANSWERS.disagreements
            session.config.workeroutput["unrecorded"] = dict(ANSWERS.unrecorded)
            session.config.workeroutput["left"] = dict(session.config.stash[_LEFT])

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        told = getattr(node, "workeroutput", {})
        ANSWERS.disagreements += told.get("disagreements", [])
        ANSWERS.unrecorded.update(told.get("unrecorded", {}))
        node.config.stash[_LEFT] = Counter(told.get("left", {}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        counts = {
            "left to make prove": terminalreporter.config.stash.get(_LEFT, {}),
            "asked anew, which make record would save": ANSWERS.unrecorded,
        }
        for said, files in counts.items():
            if files:
                listed = ", ".join(f"{name} {count}" for name, count in Counter(files).most_common(20))
                terminalreporter.line(f"{said}: {listed}{', ..' * (len(files) > 20)}")
        if ANSWERS.disagreements:
            terminalreporter.section("recordings that the installed XLA does not agree with")
            for line in ANSWERS.disagreements:
                terminalreporter.line(line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave what is not of the part that runs, and what only ``make prove`` does."""
    chosen = config.getoption("--part")
    number, count = map(int, chosen.split("/"))
    part = [item for item in items if crc32(item.nodeid.encode()) % count == number - 1]
    # Other files come first in each part, since its time is short. Workers share the files that make a process grow.
    if count > 1 or hasattr(config, "workerinput"):
        part.sort(key=lambda item: (crc32(f"{chosen} {_module(item.path)}".encode()), item.path))
    if hasattr(config, "workerinput"):
        part = _long_first(part, config.workerinput["workercount"])
    left = [] if whole.is_whole() else [item for item in part if item.get_closest_marker("whole")]
    config.stash[_LEFT] = Counter(_module(item.path) for item in left)
    items[:] = [item for item in part if item not in set(left)]
    config.hook.pytest_deselected(items=left)


def _begin_elsewhere(collected: list[Any], worker: dict[str, Any]) -> None:
    """Each worker reads the files of a folder from another one on: the next then finds what it compiled."""
    begin = len(collected) * int(worker["workerid"].removeprefix("gw")) // int(worker["workercount"])
    collected[:] = collected[begin:] + collected[:begin]


def _long_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Each worker's share begins with some of the files that take long: else all wait for one that begins late."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("long"):
            files.setdefault(item.path, []).append(item)
    rest = [item for item in items if not item.get_closest_marker("long")]
    shares = [[item for file in list(files.values())[k::workers] for item in file] for k in range(workers)]
    for k, share in enumerate(shares):  # as the scheduler shares out
        count = max(0, (len(items) - sum(map(len, shares[:k]))) // (workers - k) - len(share))
        share += rest[:count]
        rest = rest[count:]
    return [item for share in shares for item in share] + rest


def _module(path: Path) -> str:
    return path.relative_to(TESTS).with_suffix("").as_posix() if path.is_relative_to(TESTS) else path.stem


def _asking(path: Path, test: str = "") -> None:
    ANSWERS.module, ANSWERS.test = _module(path), test


def _skip_late_or_without_xla(item: pytest.Item) -> None:
    if time.monotonic() - _BEGAN > 60 * item.config.getoption("--minutes"):
        pytest.skip("the time is up")
    if item.get_closest_marker("live_xla") and not ANSWERS.version:
        pytest.skip("asks XLA itself, and JAX is not installed")


def pytest_runtest_setup(item: pytest.Item) -> None:
    _skip_late_or_without_xla(item)


@pytest.fixture(autouse=True, scope="session")
def recorded_xla() -> Iterator[None]:
    """XLA, in this process and in others, answers from the recordings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xla_reference, "compile_hlo", _compiled(xla_reference.compile_hlo))
        patch.setattr(ReferenceWorker, "ask", _asked(ReferenceWorker.ask))
        patch.setattr(Workers, "ask", _checked(Workers.ask))
        with recorded_modules():
            yield


@pytest.fixture
def live_xla(recorded_xla: None) -> Iterator[None]:
    """XLA answers itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ANSWERS, "ask", lambda question, live, *_: live())
        yield


def _compiled(live: Callable[..., Any]) -> Callable[..., Any]:
    def compile_hlo(text: str) -> Callable[..., list[Any]]:
        def run(*arrays: Any) -> list[Any]:
            question = _question("run_xla", text, *arrays, flags=sorted(xla_reference.OPTIONS.items()))
            return ANSWERS.ask(question, lambda: live(text)(*arrays))

        return run

    return compile_hlo


def _asked(live: Callable[..., Any]) -> Callable[..., Any]:
    def ask(self: ReferenceWorker, function: Callable[..., Any], text: str, *given: Any, timeout: float) -> Any:
        flags = " ".join(["", *vars(self).get("flags", ()), f"{_DEVICES}={DEVICES}"])
        question = _question(function.__name__, text, *given, flags=flags)
        return ANSWERS.ask(question, lambda: live(self, function, text, *given, timeout=timeout))

    return ask


def _checked(live: Callable[..., Any]) -> Callable[..., Any]:
    def ask(self: Workers, participant: str, function: Callable[..., Any], *given: Any) -> Answer:
        if participant not in REFERENCES:
            return live(self, participant, function, *given)
        question = _question(function.__name__, *given, flags=())
        value = ANSWERS.ask(question, lambda: list(live(self, participant, function, *given).value))
        return Answer(value, seconds=0.0, peak_bytes=0)

    return ask


def _question(what: str, text: str, *given: Any, flags: Any) -> Question:
    arrays = [_array(each) for each in given]
    return Question(title(text), (what, program(text), arrays, flags))


def _array(given: Any) -> Any:
    """Return an argument as it counts: arrays of JAX and lists of numbers are arrays, too."""
    if isinstance(given, tuple | list):
        return [_array(each) for each in given]
    return given if isinstance(given, int | str | np.ndarray) else np.asarray(given)
