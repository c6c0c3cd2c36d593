"""``mpirun -n N python MODULE.py IN.npz -o OUT.npz``: replicas on arrays in files."""

import argparse
import inspect
import io
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .replica import ReplicaStopped, on_host, tag_of
from .replica_mpi import Ranks


def run_files(
    program: Any, split: Any = None, join: Any = None, dtypes: Any = None
) -> None:
    """Run the replica of this rank on arrays of a file, by their names; rank 0 writes
    the results, ``arr_0`` and so on. Arrays are whole with ``split`` or ``join``, else
    they have the devices as an additional axis in front. ``dtypes`` are those that
    files lack: they have int8 or float32 instead. An error of any rank ends all.
    """
    from mpi4py import MPI

    comm, rank, fault = MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank(), None
    names = list(inspect.signature(program.body).parameters)[1:]  # behind the group
    parser = argparse.ArgumentParser(description=run_files.__doc__)
    parser.add_argument("arrays", metavar="IN.npz", help=", ".join(names))
    parser.add_argument("-o", "--output", metavar="OUT.npz", required=True)
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS")
    if hasattr(program.group, "resume"):
        parser.add_argument("--snapshot", metavar="FOLDER", help="go on from there")
    if "cuda_aware" in inspect.signature(program.run_mpi).parameters:
        parser.add_argument("--cuda-aware", action=argparse.BooleanOptionalAction)
    with redirect_stderr(io.StringIO() if rank else sys.stderr):  # one rank tells
        options = vars(parser.parse_args())
    path, output = options.pop("arrays"), options.pop("output")
    try:
        program.require_ranks(comm)
        if rank == 0 and not Path(output).absolute().parent.is_dir():
            raise FileNotFoundError(f"there is no folder for {output}")
        arrays = stored_arrays(path, names, dtypes or {})
        if split is None:
            program.require_one_each(**arrays)
        whole = [*arrays.values()]
        args = [x[rank] for x in whole] if split is None else split(whole)[rank]
    except (BadZipFile, EOFError, OSError, TypeError, ValueError) as error:
        fault = f"{path}: {error}"
    if faults := {*comm.allgather(fault)} - {None}:
        sys.exit("\n".join(faults) if rank == 0 else 1)
    try:
        results = program.run_mpi(args, **options)
        network = Ranks(comm, options["timeout"])
        own = results if isinstance(results, tuple) else (results,)
        whole = [gather_results(network, np.array(on_host(x), order="C")) for x in own]
        if rank == 0:
            whole = whole if join is None else join([*zip(*whole, strict=True)])
            with open(output, "wb") as file:
                np.savez(file, *map(storable, whole))
    except BaseException as error:
        # One rank tells what all meet, and what others only hear of.
        time.sleep(3 if isinstance(error, ReplicaStopped) else min(rank, 1))
        traceback.print_exc()
        time.sleep(0.5)  # for mpirun to show what was printed, before all is over
        comm.Abort(1)
        raise SystemExit(1) from error


def stored_arrays(path: str, names: Sequence[str], types: Mapping[str, Any]) -> Any:
    """Return the arrays of a file, in the types that the program takes."""
    stored = np.load(path, allow_pickle=False)
    if missing := [name for name in names if name not in getattr(stored, "files", ())]:
        raise ValueError(f"has no {', '.join(missing)}")
    arrays = {}
    for name in names:
        array = stored[name]
        dtype = np.dtype(types.get(name, array.dtype))
        is_bits = array.dtype.kind in "Vu" and array.itemsize == dtype.itemsize
        arrays[name] = array.view(dtype) if is_bits else array.astype(dtype, copy=False)
    return arrays


def gather_results(network: Any, array: np.ndarray) -> np.ndarray:
    """Return the arrays of all ranks, stacked, on rank 0."""
    tag = tag_of("result", array.dtype, array.shape, None)
    each = np.stack([array] * (1 if network.device else network.comm.Get_size()))
    into = {rank: each[rank, ...] for rank in range(1, len(each))}
    network.prepared({0: array} if network.device else {}, into, tag, False)()
    return each


def storable(x: Any) -> Any:
    """Return an array in a type that files have a name for."""
    plain = np.int8 if "int" in x.dtype.name else np.float32
    return x if x.dtype.isbuiltin == 1 else x.astype(plain)
