"""``mpirun -n N python MODULE.py IN.npz -o OUT.npz``: replicas on arrays in files."""

import argparse
import inspect
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


def run_files(
    program: Any,
    split: Callable[..., Any] | None = None,
    join: Callable[..., Any] | None = None,
    dtypes: Mapping[str, str] | None = None,
) -> None:
    """Run the replica of this rank on arrays of a file, by their names; rank 0 writes
    the results, ``arr_0`` and so on.

    The file has whole arrays if there is ``split``, else arrays with the devices as an
    additional first axis; results are whole if there is ``join``, else stacked in the
    same way. ``dtypes`` are types that files have no name for, such as bfloat16: the
    file has these arrays as bytes or in a wider type. An error of any rank ends all.
    """
    from mpi4py import MPI

    comm, types = MPI.COMM_WORLD, dtypes or {}
    names = list(inspect.signature(program.body).parameters)[1:]  # behind the group
    parser = argparse.ArgumentParser(description=run_files.__doc__)
    parser.add_argument("arrays", metavar="IN.npz", help=", ".join(names))
    parser.add_argument("-o", "--output", metavar="OUT.npz", required=True)
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS")
    if hasattr(program.group, "resume"):
        parser.add_argument("--snapshot", metavar="FOLDER", help="go on from there")
    options = vars(parser.parse_args())
    path, output = options.pop("arrays"), options.pop("output")
    try:
        with np.load(path, allow_pickle=False) as stored:
            if missing := [name for name in names if name not in stored]:
                raise KeyError(f"{path} has no {', '.join(missing)}")
            arrays = [from_file_type(stored[name], types.get(name)) for name in names]
        rank = comm.Get_rank()
        args = [x[rank] for x in arrays] if split is None else split(arrays)[rank]
        results = program.run_mpi(args, **options)
        is_tuple = isinstance(results, tuple)
        several = results if is_tuple else (results,)
        parts = [gathered_at_first(comm, np.asarray(x, order="C")) for x in several]
        if rank == 0:
            whole: Sequence[Any] = parts
            if join is not None:
                whole = join([*zip(*parts, strict=True)] if is_tuple else parts[0])
                whole = whole if is_tuple else [whole]
            with open(output, "wb") as file:
                np.savez(file, *map(to_file_type, whole), allow_pickle=False)
    except BaseException:
        traceback.print_exc()
        time.sleep(0.5)  # for mpirun to show what was printed, before all is over
        comm.Abort(1)
        raise


def from_file_type(array: Any, dtype: str | None) -> Any:
    """Return an array of a file in the type that the program takes."""
    if dtype is None:
        return array
    return array.view(dtype) if array.dtype.kind == "V" else array.astype(dtype)


def to_file_type(array: Any) -> Any:
    """Return an array in a type that files have a name for."""
    if array.dtype.isbuiltin == 1:
        return array
    return array.astype(np.int8 if "int" in array.dtype.name else np.float32)


def gathered_at_first(comm: Any, array: Any) -> Any:
    """Return the arrays of all ranks, stacked, on rank 0, and nothing on the others."""
    is_first = comm.Get_rank() == 0
    room = np.empty((comm.Get_size() if is_first else 0, *array.shape), array.dtype)
    octets = [x.reshape(-1).view(np.uint8) for x in (array, room)]
    comm.Gather(octets[0], octets[1] if is_first else None)
    return room
