"""Memory of results that are gone, and is used again."""

import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.memory import Memory
from xla2py.templates.prelude.tiles import Tiled


def place(array):
    return array.__array_interface__["data"][0]


def held(array):
    """The bytes that live as long as a view of them."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return memoryview(array).nbytes


VIEWS = {
    "whole": lambda x: x,
    "part": lambda x: x[1:, ::2],
    "transposed": lambda x: x.T,
    "as bytes": lambda x: x.view(np.uint8)[2:],
    "buffer": lambda x: np.asarray(memoryview(x)),
}


@pytest.fixture
def is_for_all(monkeypatch):
    """Results of any size lie in memory that is used again."""
    monkeypatch.setattr("xla2py.templates.prelude.memory.REUSED_BYTES", 0)


@pytest.mark.parametrize("name", VIEWS)
def test_memory_is_used_again_when_the_last_view_is_gone(name, is_for_all):
    memory = Memory()
    room = memory.room((4, 6), np.dtype(np.float32))
    where, view = place(room), VIEWS[name](room)
    del room
    assert place(memory.room((4, 6), np.dtype(np.float32))) != where
    memory.free.clear()
    del view
    assert place(memory.room((2, 3), np.dtype(np.float64))) == where


def test_too_little_memory_is_replaced(is_for_all):
    memory = Memory()
    memory.room((3,), np.dtype(np.int8))
    large = memory.room((100, 3), np.dtype(np.float64))
    large[...] = 1
    assert large.shape == (100, 3) and not memory.free


def test_little_does_not_keep_the_memory_of_much(is_for_all):
    memory = Memory()
    memory.room((1000,), np.dtype(np.float64))
    few = memory.room((5, 2), np.dtype(np.int32))
    assert held(few) == few.nbytes


def test_a_small_result_does_not_hold_the_memory_of_a_large_one():
    """Of each block the sums stay until all are there, and the block itself goes; two tasks run at a time."""
    doubled_and_summed = Tiled(lambda x: (x * 2, x.sum(axis=1)), (0,), (0, 0))
    x, sums = np.ones((1 << 12, 256), np.float32), []
    for _ in range(3):
        both = [doubled_and_summed(x) for _ in range(2)]
        sums += [total for _, total in both]
        del both
    assert sum(map(held, sums)) == sum(total.nbytes for total in sums)


def test_what_is_kept_is_what_eight_threads_return(is_for_all):
    memory = Memory()
    results = [memory.room((8,), np.dtype(np.int64)) for _ in range(10)]
    assert len({place(result) for result in results}) == 10
    results.clear()
    assert len(memory.free) == 8


@pytest.mark.parametrize("dtype", [np.bool_, np.complex64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0), (5,)])
def test_rooms_of_any_shape_and_type(dtype, shape, is_for_all):
    room = Memory().room(shape, np.dtype(dtype))
    assert room.shape == shape and room.dtype == dtype and room.flags.writeable


def test_another_process_has_its_own_memory(is_for_all):
    memory = Memory()
    memory.room((1000,), np.dtype(np.int64))
    assert not pickle.loads(pickle.dumps(memory)).free


def test_threads_have_rooms_of_their_own(is_for_all):
    memory, wrong = Memory(), []

    def work(value):
        for size in range(1, 500):
            room = memory.room((size,), np.dtype(np.int64))
            room[...] = value
            if (room != value).any():
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
