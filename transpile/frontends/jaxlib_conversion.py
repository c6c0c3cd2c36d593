"""Protos and StableHLO to HLO text, by jaxlib, in a child process: malformed input may abort XLA, not the caller.

Run as a module it is that child: bytes on stdin, HLO text on stdout. These are jaxlib's private names; a test says
which of them a new jaxlib lacks.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

from ..errors import Diagnostic, UsageError
from ..hlo.source import SourceText
from .sniffing import Kind, module_in_hlo_proto

JAXLIB_NAMES = {
    "HloModule": "jaxlib._hlo",
    "HloPrintOptions": "jaxlib._hlo",
    "mlir": "jaxlib._jax",  # mlir.mlir_module_to_xla_computation
}
_SECONDS = 300
_NO_JAXLIB = 3
_REFUSED = 4
_INSTALL = "pip install 'xla2py[xla]'"


def hlo_text(content: bytes, kind: Kind, name: str) -> str:
    """The HLO text of a serialized module or of StableHLO.

    ``name`` is what errors call the input. Raises ``UsageError``: XP430 without jaxlib, XP431 where jaxlib refuses the
    input, crashes on it or does not answer.
    """
    if kind is Kind.HLO_PROTO:
        content = module_in_hlo_proto(content) or content
    command = [sys.executable, "-P", "-m", __name__, kind.name]
    try:
        answer = subprocess.run(command, input=content, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise _error("XP431", f"jaxlib did not read {kind.value} within {_SECONDS} seconds", name) from None
    if answer.returncode == _NO_JAXLIB:
        raise _error("XP430", f"reading {kind.value} needs jaxlib", name, _INSTALL)
    if answer.returncode != 0:
        said = answer.stderr.decode(errors="replace").strip().splitlines()
        reason = said[-1] if answer.returncode == _REFUSED and said else "it crashed"
        raise _error("XP431", f"jaxlib cannot read this as {kind.value}: {reason}", name)
    return answer.stdout.decode()


def _error(code: str, message: str, name: str, hint: str | None = None) -> UsageError:
    return UsageError(Diagnostic(code, message, None, SourceText("", name), hint))


def missing_names() -> list[str]:
    """The private names of jaxlib that this module needs and the installed jaxlib lacks."""
    return [name for name, module in JAXLIB_NAMES.items() if not hasattr(importlib.import_module(module), name)]


def _name(name: str) -> Any:
    return getattr(importlib.import_module(JAXLIB_NAMES[name]), name)


def _convert(content: bytes, kind: Kind) -> str:
    if kind in (Kind.STABLEHLO_TEXT, Kind.STABLEHLO_BYTECODE):
        module = _name("mlir").mlir_module_to_xla_computation(content, False, False).get_hlo_module()
    else:
        module = _name("HloModule").from_serialized_hlo_module_proto(content)
    options = _name("HloPrintOptions")()
    options.print_large_constants = True
    return str(module.to_string(options))


def main(kind: Kind) -> int:
    """The child: its exit status says what happened, its last line on stderr why."""
    content = sys.stdin.buffer.read()
    try:
        text = _convert(content, kind)
    except ImportError:
        return _NO_JAXLIB
    except Exception as error:  # whatever jaxlib raises: the input is not what it should be
        print(str(error).splitlines()[0] if str(error) else type(error).__name__, file=sys.stderr)
        return _REFUSED
    sys.stdout.buffer.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(Kind[sys.argv[1]]))
