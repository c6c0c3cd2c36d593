"""Each call builds its HLO: ``forms.txt`` has the calls, a line of Python and its parameters, with the HLO below.

The values are those of the HLO: of the worked examples in ``tests/seeds``, and of an example of each operation here.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xla2py.transpile.hlo.builder.examples import BuilderExample
from xla2py.transpile.hlo.printer import print_module

_FORM = re.compile(r"^(\S.*?)(?:  (.*))?\n((?:    .*\n)+)", re.MULTILINE)
FORMS = _FORM.findall(Path(__file__).with_name("forms.txt").read_text(encoding="utf-8"))


def written(code: str, parameters: str) -> str:
    """The instructions of a module, by number and without layouts; callees come first."""
    computations = []
    for text in print_module(BuilderExample("form", code, parameters).build()).split("\n\n")[1:]:
        heading, *body, _ = re.sub(r"(?<=\])\{[\d,]*\}|ROOT ", "", text.strip()).splitlines()
        lines = [line.strip() for line in body if " parameter(" not in line]
        for name in [line.partition(" = ")[0] for line in lines]:
            lines = [re.sub(rf"{re.escape(name)}\b", name.rpartition(".")[2], line) for line in lines]
        callee = [] if heading.startswith("ENTRY") else [heading.removesuffix(" {")]
        computations.append("; ".join([*callee, *(line.replace(" = ", ": ", 1) for line in lines)]))
    return "; ".join(computations) or "nothing"


@pytest.mark.parametrize(("code", "parameters", "hlo"), FORMS, ids=[code for code, *_ in FORMS])
def test_a_form_is_written_as(code: str, parameters: str, hlo: str) -> None:
    assert written(code, parameters) == " ".join(hlo.split())
