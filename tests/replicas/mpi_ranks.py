"""What each rank does: ``mpirun -n 4 python mpi_ranks.py FOLDER`` runs all modules of a folder on their inputs."""

import importlib.util
import pickle
import sys
from pathlib import Path

from mpi4py import MPI


def imported(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    rank = MPI.COMM_WORLD.Get_rank()
    for path in sorted(Path(sys.argv[1]).glob("program_*.py")):
        inputs = pickle.loads(path.with_suffix(".inputs").read_bytes())
        try:
            told = imported(path).run_mpi(inputs[rank], timeout=20)
        except Exception as error:
            told = error
        path.with_suffix(f".{rank}").write_bytes(pickle.dumps(told))


if __name__ == "__main__":
    main()
