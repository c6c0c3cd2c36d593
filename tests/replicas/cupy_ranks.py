"""Runs tests of CuPy without a GPU on each rank: ``mpirun -n 4 python cupy_ranks.py HOW FOLDER [COMMANDS.json]``.

All modules of a folder run on the twin, and then commands, as ``mpi_commands.py`` has them. ``HOW`` says whether MPI
takes the memory of GPUs: ``aware`` or ``unaware``. MPI gets the twin's memory by its ``__cuda_array_interface__``.
"""

import pickle
import sys
from pathlib import Path

from mpi4py import MPI

from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.replicas.mpi_commands import read_and_run
from xla2py.tests.replicas.mpi_ranks import imported

how, folder, *commands = sys.argv[1:]
rank = MPI.COMM_WORLD.Get_rank()
with twin():
    for path in sorted(Path(folder).glob("program_*.py")):
        inputs = pickle.loads(path.with_suffix(".inputs").read_bytes())
        try:
            found = imported(path).run_mpi(to_device(inputs[rank]), timeout=20, cuda_aware=how == "aware")
            told = to_host(found)
        except Exception as error:
            told = error
        path.with_suffix(f".{rank}").write_bytes(pickle.dumps(told))
    for each in commands:
        read_and_run(each)
