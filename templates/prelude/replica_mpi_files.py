"""``mpirun -n N python MODULE.py IN.npz -o OUT.npz``: replicas on arrays in files."""

import argparse
import inspect
import time
import traceback
from typing import Any

import numpy as np


def run_files(
    program: Any, split: Any = None, join: Any = None, dtypes: Any = None
) -> None:
    """Run the replica of this rank on arrays of a file, by their names; rank 0 writes
    the results, ``arr_0`` and so on.

    The file has whole arrays if there is ``split``, else arrays with the devices as an
    additional first axis; results are whole if there is ``join``, else stacked in the
    same way. ``dtypes`` are types that files have no name for, such as bfloat16: files
    have them as bytes, or in float32. An error of any rank ends all.
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
        own = results if isinstance(results, tuple) else (results,)
        if rank:
            comm.send(own, 0)
        else:
            each = [own, *(comm.recv(source=k) for k in range(1, comm.Get_size()))]
            stacked = map(np.stack, zip(*each, strict=True))
            whole = stacked if join is None else join(each)
            plain = [x if x.dtype.isbuiltin == 1 else np.float32(x) for x in whole]
            with open(output, "wb") as file:
                np.savez(file, *plain)
    except BaseException:
        traceback.print_exc()
        time.sleep(0.5)  # for mpirun to show what was printed, before all is over
        comm.Abort(1)
        raise


def from_file_type(array: Any, dtype: str | None) -> Any:
    """Return an array of a file in the type that the program takes."""
    if array.dtype.kind == "V":
        return array.view(dtype)
    return array if dtype is None else array.astype(dtype)
