"""Write ``coverage.json``, from which the table of operations in the documentation is made."""

import json
from pathlib import Path

from xla2py.tests.operations.tables import summary

if __name__ == "__main__":
    lines = [f"  {json.dumps(opcode)}: {json.dumps(row)}" for opcode, row in summary().items()]
    Path(__file__).with_name("coverage.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
