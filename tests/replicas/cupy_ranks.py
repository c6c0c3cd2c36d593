"""What each rank does in tests of CuPy without a GPU: ``mpirun -n 4 python cupy_ranks.py HOW WORDS`` runs on the twin.

``HOW`` says whether MPI takes the memory of GPUs: ``aware`` or ``unaware``, or ``asked`` for what MPI itself says. MPI
gets the twin's memory by its ``__cuda_array_interface__``. With a folder, all of its modules run; with a module and
files, the module is the command.
"""

import pickle
import runpy
import sys
from pathlib import Path

from mpi4py import MPI

from xla2py.targets.cupy.twin.modules import to_device, to_host, twin
from xla2py.tests.replicas.mpi_ranks import imported

how, *words = sys.argv[1:]
options = {} if how == "asked" else {"cuda_aware": how == "aware"}
rank = MPI.COMM_WORLD.Get_rank()
with twin():
    if len(words) > 1:
        sys.argv = words + {"aware": ["--cuda-aware"], "unaware": ["--no-cuda-aware"]}.get(how, [])
        sys.path.insert(0, str(Path(words[0]).parent))
        runpy.run_path(words[0], run_name="__main__")
    else:
        for path in sorted(Path(words[0]).glob("program_*.py")):
            inputs = pickle.loads(path.with_suffix(".inputs").read_bytes())
            try:
                told = to_host(imported(path).run_mpi(to_device(inputs[rank]), timeout=20, **options))
            except Exception as error:
                told = error
            path.with_suffix(f".{rank}").write_bytes(pickle.dumps(told))
