"""All prelude functions end up in one module: what they are called must not clash."""

import ast
from collections import Counter
from pathlib import Path

import xla2py.templates.prelude

PRELUDE = Path(xla2py.templates.prelude.__file__).parent
OF_NUMPY = PRELUDE.parent / "numpy" / "prelude"  # goes into the same modules


def test_no_two_definitions_share_a_name():
    names = Counter(
        name
        for path in (*PRELUDE.glob("*.py"), *OF_NUMPY.glob("*.py"))
        for statement in ast.parse(path.read_text("utf-8")).body
        for name in (
            [statement.name]
            if isinstance(statement, ast.FunctionDef | ast.ClassDef)
            else [target.id for target in getattr(statement, "targets", []) if isinstance(target, ast.Name)]
        )
    )
    assert len(names) > 50
    assert [name for name, count in names.items() if count > 1] == []
