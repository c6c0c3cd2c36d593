"""Snapshots of devices that are not at the same place."""

import numpy as np
import pytest

import xla2py
from xla2py.tests.replicas import programs
from xla2py.tests.replicas.programs import SeveralDevices


@pytest.fixture(scope="module")
def module():
    return xla2py.emit(SeveralDevices("", programs.COUNTED).module()).load()


def devices(module, folder, begin=None):
    """Four devices in their first loop, which save each iteration."""
    made = [module.Group(device, 4, 1, None) for device in range(4)]
    for g in made:
        g.snapshots = folder, 1, begin or {}
        g.carried = g.resume(np.float32([g.device]))
    return made


def saved(folder, device) -> list[int]:
    """The iterations of which a device has snapshots."""
    return sorted(int(path.stem.split("-")[1]) for path in folder.glob(f"1-*-{device}.snapshot"))


def test_a_device_keeps_what_slower_ones_need_and_takes_no_longer_for_it(module, tmp_path, monkeypatch):
    """It reads no folder, where files of faster ones may be many."""
    for method in ("iterdir", "glob"):
        monkeypatch.setattr(f"pathlib.Path.{method}", None)
    fast, *slow = devices(module, tmp_path)
    for k in range(10):
        fast.snapshot(np.float32([k]))
        if k < 3:
            for g in slow:
                g.snapshot(np.float32([k]))
    monkeypatch.undo()
    assert saved(tmp_path, 0) == [3, 4, 5, 6, 7, 8, 9, 10]
    assert saved(tmp_path, 3) == [3]
    newest = module.Group.newest(tmp_path.iterdir(), 4)
    assert newest == {1: f"{tmp_path}/1-3"}
    assert [g.carried for g in devices(module, tmp_path, newest)] == [[2]] * 4
    for k in range(3, 11):
        for g in slow if k < 10 else [fast, *slow]:
            g.snapshot(np.float32([k]))
    assert [saved(tmp_path, device) for device in range(4)] == [[10, 11], [10, 11], [10, 11], [11]]


def test_a_device_that_resumes_removes_what_it_resumed_from(module, tmp_path):
    for g in devices(module, tmp_path):
        g.snapshot(np.float32([7]))
    resumed = devices(module, tmp_path, module.Group.newest(tmp_path.iterdir(), 4))
    for g in [*resumed, *resumed]:
        g.snapshot(np.float32([8]))
    assert [saved(tmp_path, device) for device in range(4)] == [[2, 3], [2, 3], [2, 3], [3]]
