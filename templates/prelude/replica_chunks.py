"""Dask arrays as arguments and results of replicas: chunks stay on the workers."""

import asyncio
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

import dask.array as da
import distributed


def futures_of(
    client: Any, replica_args: Sequence[Sequence[Any]]
) -> tuple[list[list[Any]], list[Counter[str]]]:
    """Return the arguments of each device, with futures in place of dask arrays, and
    how many of their bytes each worker has, by device. The arrays are computed.
    """
    lazy = {
        array.name: array
        for arguments in replica_args
        for array in arguments
        if isinstance(array, da.Array)
    }
    computing = client.compute(list(lazy.values()))
    futures = dict(zip(lazy, computing, strict=True))
    for future in computing:
        error = future.exception()  # waits for it
        if error is not None:
            client.cancel(computing)
            raise error
    places = client.who_has(computing) if computing else {}
    given, held = [], []
    for arguments in replica_args:
        own: Counter[str] = Counter()
        own_given = []
        for argument in arguments:
            if isinstance(argument, da.Array):
                future = futures[argument.name]
                for address in places.get(future.key, ()):
                    own[address] += argument.nbytes
                argument = future
            own_given.append(argument)
        given.append(own_given)
        held.append(own)
    return given, held


def nearest(addresses: Sequence[str], held: Sequence[Counter[str]]) -> list[str]:
    """Give each device one of as many addresses, those first who have most of its
    bytes.
    """
    free = Counter(addresses)
    chosen: dict[int, str] = {}
    wishes = [
        (size, device, address)
        for device, own in enumerate(held)
        for address, size in own.items()
    ]
    for _, device, address in sorted(wishes, key=lambda wish: (-wish[0], wish[1])):
        if device not in chosen and free[address]:
            chosen[device] = address
            free[address] -= 1
    rest = free.elements()
    return [chosen.get(d) or next(rest) for d in range(len(held))]


def left_on_worker(end: Sequence[Any], client_id: str) -> tuple[Any, ...]:
    """A task behind that of a replica: hand its results over to the cluster, which
    keeps them on this worker for a client.

    Return what ``results_of`` takes: results are told there by their keys, shapes and
    dtypes.
    """
    result, *counts = end
    arrays = result if isinstance(result, tuple) else (result,)
    data = {f"replica-result-{uuid.uuid4().hex}": array for array in arrays}
    worker = distributed.get_worker()

    async def hand_over() -> None:
        worker.update_data(data=data)
        who_has = {key: [worker.address] for key in data}
        sizes = {key: array.nbytes for key, array in data.items()}
        await worker.scheduler.update_data(
            who_has=who_has, nbytes=sizes, client=client_id
        )

    loop = worker.loop.asyncio_loop
    asyncio.run_coroutine_threadsafe(hand_over(), loop).result()
    told = [(key, array.shape, array.dtype) for key, array in data.items()]
    return (told, isinstance(result, tuple)), *counts


def arrays_left(client: Any, told: Sequence[Any], is_tuple: bool) -> Any:
    """Return the results that a replica has left on its worker as dask arrays of one
    chunk: one, or a tuple of several.
    """
    arrays = []
    for key, shape, dtype in told:
        future = distributed.Future(key, client, state="memory")
        graph = {(key, *(0 for _ in shape)): future}
        chunks = tuple((size,) for size in shape)
        arrays.append(da.Array(graph, key, chunks, dtype=dtype))
    return tuple(arrays) if is_tuple else arrays[0]
