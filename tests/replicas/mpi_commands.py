"""Runs several commands on each rank, one after the other: ``mpirun -n 4 python mpi_commands.py COMMANDS.json``.

Each is a list of words behind ``python``. To start ranks takes longer than most commands. Rank 0 writes which codes the
ranks end with, in a list for each command, to COMMANDS.codes: lines that ranks print may run into each other.
"""

import json
import runpy
import sys
from pathlib import Path

from mpi4py import MPI


def code_of(words: list[str]) -> int:
    """Run a script; return the code that its process would end with. Others have modules of the same names."""
    path, before = str(Path(words[0]).parent), set(sys.modules)
    sys.argv = words
    sys.path.insert(0, path)
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr, flush=True)
            return 1
        return ended.code or 0
    finally:
        sys.path.remove(path)
        for name in sys.modules.keys() - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(path):
                del sys.modules[name]
    return 0


def read_and_run(path: str) -> None:
    """Run the commands of a file; all ranks begin each together."""
    codes = [MPI.COMM_WORLD.allgather(code_of(words)) for words in json.loads(Path(path).read_text("utf-8"))]
    if MPI.COMM_WORLD.Get_rank() == 0:
        Path(path).with_suffix(".codes").write_text(json.dumps(codes), encoding="utf-8")


if __name__ == "__main__":
    read_and_run(sys.argv[1])
