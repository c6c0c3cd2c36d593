"""Links between replicas: what goes into one end comes out of the other, whatever the pieces in which it travels."""

from __future__ import annotations

import asyncio
import select
import selectors
import socket

import ml_dtypes
import numpy as np
import pytest

from xla2py.templates.prelude.replica_links import ROOM, Link
from xla2py.templates.prelude.replica_transport import Seat


@pytest.fixture
def ends():
    pair = [Link(end, asyncio.Event().wait) for end in socket.socketpair()]
    yield pair
    for link in pair:
        link.socket.close()


def put(link: Link, number: int, array: np.ndarray) -> None:
    link.put((None, number), "t", array)


def carried(sender: Link, receiver: Link, count: int) -> list:
    """Send and receive in turn until so many messages have come."""
    found = []
    while len(found) < count:
        sender.send()
        found += receiver.receive()
    assert not sender.outgoing
    return found


ARRAYS = [
    np.float32(3),
    np.zeros((0, 4), np.int8),
    np.arange(12.0).reshape(3, 4),
    np.arange(ROOM - 30, dtype=np.uint8),
    np.arange(ROOM, dtype=np.uint8),
    np.arange(ROOM + 1, dtype=np.uint8),
    np.arange(3 * ROOM, dtype=np.complex64),
    np.arange(5).astype(ml_dtypes.bfloat16),
    np.arange(2_000_003, dtype=np.int32),
    np.array([True, False]),
]


@pytest.mark.parametrize("seed", range(3))
def test_arrays_arrive_as_they_were_sent(ends, seed):
    order = np.random.default_rng(seed).integers(len(ARRAYS), size=30)
    for number, k in enumerate(order):
        put(ends[0], number, np.asarray(ARRAYS[k]))
    found = carried(*ends, len(order))
    assert [key for key, _, _ in found] == [(None, number) for number in range(len(order))]
    assert {head["tag"] for _, head, _ in found} == {"t"}
    for k, (_, _, array) in zip(order, found, strict=True):
        np.testing.assert_array_equal(array, ARRAYS[k], strict=True)


def test_messages_arrive_byte_by_byte(ends):
    sender, receiver = ends
    for number, array in enumerate(ARRAYS[:5]):
        put(sender, number, np.asarray(array))
    data = b"".join(bytes(part) for part in sender.outgoing)
    found = []
    for k in range(len(data)):
        sender.socket.send(data[k : k + 1])
        found += receiver.receive()
    for array, (_, _, arrived) in zip(ARRAYS[:5], found, strict=True):
        np.testing.assert_array_equal(arrived, array, strict=True)


@pytest.mark.parametrize("offered", [np.zeros(40_000, np.float32), np.zeros(40_000, np.int32), np.zeros(9, np.float32)])
def test_memory_that_is_offered_is_used_where_it_fits(ends, offered):
    array = np.arange(40_000, dtype=np.float32)
    ends[1].offered[None, 0] = offered
    put(ends[0], 0, array)
    ((_, _, arrived),) = carried(*ends, 1)
    np.testing.assert_array_equal(arrived, array, strict=True)
    assert (arrived is offered) == (offered.shape == array.shape and offered.dtype == array.dtype)


def test_what_waits_may_be_written_after_it_is_owned(ends):
    array = np.arange(3_000_000, dtype=np.float32)
    given = array.copy()
    put(ends[0], 0, given)
    ends[0].send()
    assert ends[0].outgoing  # not all of it has room in the socket
    ends[0].own()
    given[:] = 0
    ((_, _, arrived),) = carried(*ends, 1)
    np.testing.assert_array_equal(arrived, array)


def test_a_closed_end_is_an_error_behind_what_has_been_sent(ends):
    put(ends[0], 0, np.arange(4))
    ends[0].send()
    ends[0].socket.close()
    ((_, _, arrived),) = ends[1].receive()
    np.testing.assert_array_equal(arrived, np.arange(4))
    with pytest.raises(OSError, match="closed"):
        ends[1].receive()


def test_the_event_loop_watches_no_link_that_is_closed(ends):
    """Its number may be that of the next connection, which the loop could not watch then."""
    link = ends[0]

    async def close() -> None:
        link.socket.close()

    async def leave() -> None:
        seat = Seat.__new__(Seat)
        seat.loop, seat.end, seat.closed = asyncio.get_running_loop(), None, asyncio.Event()
        seat.links, seat.selector = {1: link}, selectors.DefaultSelector()
        link.close, number = close, link.socket.fileno()
        while select.select([], [link.socket], [], 0)[1]:  # there is room left, too little to be told of it
            link.socket.send(bytes(1024))
        seat.send_later(1)
        await seat.leave("well")
        pairs = [socket.socketpair() for _ in range(3)]
        assert number in [end.fileno() for pair in pairs for end in pair]
        seat.loop.add_reader(number, print)
        seat.loop.remove_reader(number)
        for end in [end for pair in pairs for end in pair]:
            end.close()

    asyncio.run(leave())
