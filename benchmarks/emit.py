"""How long reading, lowering and writing a program takes: ``python benchmarks/emit.py [INSTRUCTIONS ..]``."""

import random
import sys
from itertools import pairwise
from time import process_time

from xla2py.targets.base import load_target
from xla2py.transpile.compilation import compile
from xla2py.transpile.emission import emit
from xla2py.transpile.emission.module import Settings, write_module
from xla2py.transpile.hlo.parser import parse_module
from xla2py.transpile.hlo.verifier import verify

BINARY = ("add", "multiply", "subtract", "maximum")
UNARY = ("tanh", "negate")


def program(count: int) -> str:
    """A module of ``count`` instructions that read recent ones, with metadata as JAX writes it."""
    draw = random.Random(0)
    names = ["p0", "p1"]
    lines = [f"  p{k} = f32[64,64]{{1,0}} parameter({k})" for k in range(2)]
    for k in range(count):
        opcode = draw.choice((*BINARY, *UNARY, "dot"))
        left, right = draw.choice(names[-20:]), draw.choice(names[-20:])
        operands = left if opcode in UNARY else f"{left}, {right}"
        dims = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}" if opcode == "dot" else ""
        place = f'metadata={{op_name="jit(f)/{opcode}" source_file="model.py" source_line={k // 3 + 1}}}'
        root = "ROOT " if k == count - 1 else ""
        lines.append(f"  {root}v{k} = f32[64,64]{{1,0}} {opcode}({operands}){dims}, {place}")
        names.append(f"v{k}")
    return "HloModule generated\n\nENTRY main {\n" + "\n".join(lines) + "\n}\n"


def stages(text: str) -> list[float]:
    """CPU seconds of parse, verify, lower, write, and of all of ``emit`` with black."""
    marks = [process_time()]
    module = parse_module(text)
    marks.append(process_time())
    verify(module)
    marks.append(process_time())
    lowered = compile(module, load_target("numpy")).program
    marks.append(process_time())
    write_module(lowered, load_target("numpy"), Settings())
    marks.append(process_time())
    emit(module)
    marks.append(process_time())
    return [after - before for before, after in pairwise(marks)]


def main(arguments: list[str]) -> None:
    stages(program(100))  # imports and templates
    columns = ("parse", "verify", "lower", "write", "emit with black")
    print("CPU seconds")
    print("instructions", *(f"{column:>8}" for column in columns))
    for count in map(int, arguments or ["1000", "5000", "20000"]):
        print(f"{count:12}" + "".join(f" {seconds:8.2f}" for seconds in stages(program(count))))


if __name__ == "__main__":
    main(sys.argv[1:])
