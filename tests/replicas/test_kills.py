"""kill -9 at random moments: never a hang, never a wrong result.

Fifty in ``make prove``, of which ``-s`` prints what became of each; two else. A hang is that no replica ends an
iteration for minutes: how long a run takes depends on the machine.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from xla2py.tests.replicas import programs
from xla2py.tests.replicas.programs import SeveralDevices
from xla2py.tests.replicas.test_cluster import assert_clean, assert_same_bits, imported
from xla2py.tests.whole import much

pytestmark = pytest.mark.long
ITERATIONS = much(3000, 8000)
STALLED = 300  # seconds
WATCHED = """
class Watched(Group):
    def snapshot(self, *carried):
        super().snapshot(*carried)
        if self.iteration % 50 == 0:
            Path(PROGRESS, str(self.device)).write_text(f"{self.iteration}")
"""
LONG = programs.COUNTED.replace("[5,4]", f"[{ITERATIONS},4]").replace("constant(5)", f"constant({ITERATIONS})")


@dataclass
class Killer:
    """Kills a worker after some seconds, and starts another in its place."""

    workers: object
    after: float
    victim: str
    at: float = 0.0
    thread: threading.Thread = field(init=False)

    def __post_init__(self):
        self.thread = threading.Thread(target=self.strike)
        self.thread.start()

    def strike(self):
        time.sleep(self.after)
        self.workers.kill(self.victim)
        self.at = time.monotonic()
        self.workers.add_worker()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The module, its inputs, and the right results."""
    one = SeveralDevices("", LONG)
    module = imported(one, tmp_path_factory.mktemp("kills"))
    expected = module.run_local(one.inputs())
    module.PROGRESS = str(tmp_path_factory.mktemp("progress"))
    exec(WATCHED, module.__dict__)
    module.PROGRAM.group = module.Watched
    return module, one.inputs(), expected


@pytest.fixture
def beginnings(program, monkeypatch):
    """From which snapshots each attempt begins."""
    module, found = program[0], []
    results = module.Run.results

    def noted(run, pickled, arguments):
        found.append(arguments[0][0][2])
        return results(run, pickled, arguments)

    monkeypatch.setattr(module.Run, "results", noted)
    return found


def test_a_run_goes_on_from_its_snapshots(workers, program, beginnings, tmp_path):
    """Killed when there are snapshots: the run that ends is not the one that began, and the bits are the same."""
    module, inputs, expected = program
    victim = workers.workers()[2]

    def strike():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not any(
            int(path.name.split("-")[1]) >= 100 for path in tmp_path.glob("*/*/1-*.snapshot")
        ):
            time.sleep(0.001)
        workers.kill(victim)
        workers.add_worker()

    striking = threading.Thread(target=strike)
    striking.start()
    results = module.run_replicas(workers.client, inputs, timeout=60, snapshot=tmp_path, every=5, rejoin=60)
    striking.join()
    assert_same_bits(results, expected)
    first, second = beginnings
    assert not first
    assert int(second[1].split("-")[-1]) >= 5
    assert not list(tmp_path.iterdir())


def test_replicas_that_connect_to_one_that_is_gone_are_given_up(workers, program, monkeypatch, tmp_path):
    """Killed before the others reach it, a worker takes none of them along: the run begins again at once."""
    module, inputs, expected = program
    submit, killed = module.Run.submit, []

    def strike(run, name, function, arguments):
        if name == "replica" and not killed:
            killed.append(run.addresses[0])
            workers.kill(next(known for known in workers.workers() if workers.address(known) == killed[0]))
            workers.add_worker()
        return submit(run, name, function, arguments)

    monkeypatch.setattr(module.Run, "submit", strike)
    began = time.monotonic()
    results = module.run_replicas(workers.client, inputs, timeout=60, snapshot=tmp_path, every=5, rejoin=60)
    assert time.monotonic() - began < 50
    assert killed
    assert_same_bits(results, expected)
    assert_clean(workers)


def run_without_hanging(module, *arguments, **options):
    """Return what ``run_replicas`` returns or raises, and when."""
    ended = []

    def run():
        try:
            told = module.run_replicas(*arguments, **options)
        except Exception as error:
            told = error
        ended.append((told, time.monotonic()))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seen, since = None, time.monotonic()
    while thread.is_alive():
        thread.join(1)
        progress = [path.read_text() for path in sorted(Path(module.PROGRESS).iterdir())]
        if progress != seen:
            seen, since = progress, time.monotonic()
        assert time.monotonic() - since < STALLED, "no replica goes on"
    return ended[0]


@pytest.mark.parametrize("number", range(much(2, 50)))
def test_a_kill_at_a_random_moment(workers, program, beginnings, tmp_path, number):
    """Without snapshots the run is right or lost; with them it is right."""
    module, inputs, expected = program
    chance = random.Random(number)
    killer = Killer(workers, chance.uniform(0.0, much(1.0, 2.5)), chance.choice(workers.workers()))
    folder = tmp_path if number % 2 else None
    told, ended = run_without_hanging(
        module, workers.client, inputs, timeout=60, snapshot=folder, every=5, rejoin=STALLED
    )
    killer.thread.join()
    if isinstance(told, Exception):
        assert type(told).__name__ == "ReplicaLost", repr(told)
        assert folder is None
        print(f"lost, noticed after {ended - killer.at:.2f} s")
    else:
        assert_same_bits(told, expected)
        print("right, of a second run" if any(beginnings) else "right")
    assert_clean(workers)


def test_replicas_that_go_on_after_a_loss_take_nothing_from_the_next_run(workers, monkeypatch, tmp_path):
    """One that has not noticed yet neither deletes the snapshots that the run goes on from nor leaves new ones."""
    one = SeveralDevices("", programs.COUNTED)
    module = imported(one, tmp_path)
    results, folders = module.Run.results, []

    def first_lost(run, pickled, arguments):
        folders.append(arguments[0][0][0])
        for path in folders[0].glob("*") if len(folders) > 1 else ():
            path.unlink()
        found = results(run, pickled, arguments)
        if len(folders) == 1:
            raise module.ReplicaLost("replica 2 was lost")
        return found

    monkeypatch.setattr(module.Run, "results", first_lost)
    (tmp_path / "snapshots").mkdir()
    found = module.run_replicas(workers.client, one.inputs(), snapshot=tmp_path / "snapshots", every=2)
    assert_same_bits(found, module.run_local(one.inputs()))
    assert not folders[0].parent.exists()
