"""Memory of results that are gone, and is used again."""

import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.tiles import Memory


def place(array):
    return array.__array_interface__["data"][0]


VIEWS = {
    "whole": lambda x: x,
    "part": lambda x: x[1:, ::2],
    "transposed": lambda x: x.T,
    "as bytes": lambda x: x.view(np.uint8)[2:],
    "buffer": lambda x: np.asarray(memoryview(x)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_memory_is_used_again_when_the_last_view_is_gone(name):
    memory = Memory()
    room = memory.room((4, 6), np.dtype(np.float32))
    where, view = place(room), VIEWS[name](room)
    del room
    assert place(memory.room((4, 6), np.dtype(np.float32))) != where
    memory.free.clear()
    del view
    assert place(memory.room((2, 3), np.dtype(np.float64))) == where


def test_too_little_memory_is_replaced():
    memory = Memory()
    memory.room((3,), np.dtype(np.int8))
    large = memory.room((100, 3), np.dtype(np.float64))
    large[...] = 1
    assert large.shape == (100, 3) and not memory.free


def test_what_is_kept_is_little():
    memory = Memory()
    results = [memory.room((8,), np.dtype(np.int64)) for _ in range(10)]
    assert len({place(result) for result in results}) == 10
    results.clear()
    assert len(memory.free) == 2


@pytest.mark.parametrize("dtype", [np.bool_, np.complex64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0), (5,)])
def test_rooms_of_any_shape_and_type(dtype, shape):
    room = Memory().room(shape, np.dtype(dtype))
    assert room.shape == shape and room.dtype == dtype and room.flags.writeable


def test_another_process_has_its_own_memory():
    memory = Memory()
    memory.room((1000,), np.dtype(np.int64))
    assert not pickle.loads(pickle.dumps(memory)).free


def test_threads_have_rooms_of_their_own():
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
