"""Replicas as ranks of MPI, each with a GPU."""

import ctypes
from collections.abc import Sequence
from functools import partial
from typing import Any

import cupy as cp
import cupyx
import numpy as np

from ...prelude.replica_mpi import OnRanks, Ranks


def take_device(comm: Any = None) -> None:
    """Make the GPU that has the number of this rank on its machine the current one.
    Ranks share GPUs if there are fewer.
    """
    from mpi4py import MPI

    world = MPI.COMM_WORLD if comm is None else comm
    here = world.Split_type(MPI.COMM_TYPE_SHARED)
    cp.cuda.Device(here.Get_rank() % cp.cuda.runtime.getDeviceCount()).use()
    here.Free()


def knows_devices() -> bool:
    """Return whether MPI says that it reads and writes the memory of GPUs: what MPICH,
    Open MPI and their descendants tell by ``MPIX_Query_cuda_support``.
    """
    from mpi4py import MPI

    asked = getattr(ctypes.CDLL(MPI.__file__), "MPIX_Query_cuda_support", None)
    return asked is not None and asked() == 1


def on_device(array: np.ndarray) -> cp.ndarray:
    """Return a copy on the current GPU. CuPy loses the sign of -0 in an array of no
    dimensions.
    """
    return cp.asarray(array[None])[0]


class DeviceRanks(Ranks):
    """The network of replicas that are ranks with a GPU each. Unless MPI
    ``is_cuda_aware``, arrays go through pinned memory of the host.
    """

    def __init__(self, comm: Any, timeout: float, is_cuda_aware: bool) -> None:
        super().__init__(comm, timeout)
        self.is_cuda_aware = is_cuda_aware

    def room(self, x: Any) -> Any:
        if self.is_cuda_aware:
            return super().room(x)
        empty = cupyx.empty_pinned if x.size else np.empty
        return empty(x.shape, x.dtype)

    def settle(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        """Copy arrays, and wait for the device: MPI knows nothing of its streams."""
        for source, target in pairs:
            if isinstance(target, np.ndarray):
                source.get(out=target, blocking=False)
            elif isinstance(source, np.ndarray):
                target[...] = on_device(source)
            else:
                target[...] = source
        cp.cuda.get_current_stream().synchronize()


class OnDevices(OnRanks):
    def run_mpi(
        self,
        args: Sequence[Any],
        comm: Any = None,
        *,
        cuda_aware: bool | None = None,
        **options: Any,
    ) -> Any:
        """Run the replica of this process on the current GPU, as ``run_mpi`` of modules
        for NumPy does. NumPy arrays among the arguments are copied to the GPU.

        ``cuda_aware`` says whether MPI takes the memory of GPUs, by default as MPI
        itself says; otherwise arrays go through the host.
        """
        is_aware = knows_devices() if cuda_aware is None else cuda_aware
        self.network = partial(DeviceRanks, is_cuda_aware=is_aware)
        args = [on_device(x) if isinstance(x, np.ndarray) else x for x in args]
        return super().run_mpi(args, comm, **options)
