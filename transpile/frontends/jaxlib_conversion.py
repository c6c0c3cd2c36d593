"""Conversion of protos to HLO text by jaxlib in a child process: malformed input may abort XLA, but not the caller.

Run as a module, this file is that child: a proto on stdin, HLO text on stdout. It uses jaxlib's private names; a test
reports which of them a new jaxlib lacks.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError
from ..hlo.source import SourceText
from .hlo_proto import without_large_literals
from .sniffing import Kind, module_in

JAXLIB_NAMES = {"HloModule": "jaxlib._hlo", "HloPrintOptions": "jaxlib._hlo"}
_SECONDS = 300
_NO_JAXLIB = 3
_REFUSED = 4
_INSTALL = "pip install 'xla2py[xla]'"


@dataclass(frozen=True, slots=True)
class ConvertedModule:
    """HLO text, and the LiteralProtos of the constants that it elides (``{...}``), by instruction name."""

    text: str
    literals: Mapping[str, memoryview]


def to_hlo(content: bytes, kind: Kind, name: str) -> ConvertedModule:
    """Return a serialized module as HLO text. Large literals are views of ``content``.

    ``name`` is the name of the input in errors. Raises ``UsageError``: XP430 without jaxlib, XP431 if jaxlib refuses
    the input, crashes on it or does not answer.
    """
    import subprocess  # imported here, because most programs need no jaxlib

    sent, literals = without_large_literals(module_in(memoryview(content), kind))
    command = [sys.executable, "-P", "-m", __name__]
    try:
        answer = subprocess.run(command, input=sent, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise _error("XP431", f"jaxlib did not read {kind.value} within {_SECONDS} seconds", name) from None
    except OSError as error:  # in a browser there are neither processes nor jaxlib
        raise _error("XP430", f"reading {kind.value} needs jaxlib: {error}", name, _INSTALL) from None
    if answer.returncode == _NO_JAXLIB:
        raise _error("XP430", f"reading {kind.value} needs jaxlib", name, _INSTALL)
    if answer.returncode != 0:
        said = answer.stderr.decode(errors="replace").strip().splitlines()
        reason = said[-1] if answer.returncode == _REFUSED and said else "it crashed"
        raise _error("XP431", f"jaxlib cannot read this as {kind.value}: {reason.removeprefix('UNKNOWN: ')}", name)
    return ConvertedModule(answer.stdout.decode(), literals)


def _error(code: str, message: str, name: str, hint: str | None = None) -> UsageError:
    return UsageError(Diagnostic(code, message, None, SourceText("", name), hint))


def missing_names() -> list[str]:
    """Return the private names of jaxlib that this module needs and the installed jaxlib lacks."""
    return [name for name, module in JAXLIB_NAMES.items() if not hasattr(importlib.import_module(module), name)]


def _name(name: str) -> Any:
    return getattr(importlib.import_module(JAXLIB_NAMES[name]), name)


def module_text(proto: bytes | memoryview) -> str:
    """Return the text of a HloModuleProto with all of its literals, by the jaxlib of this process."""
    return _in_full(_name("HloModule").from_serialized_hlo_module_proto(bytes(proto)))


def compiled_text(compiled: Any) -> str:
    """Return the text of a ``jax.stages.Compiled`` with its long constants, which its own ``as_text`` elides."""
    return "\n".join(map(_in_full, compiled.runtime_executable().hlo_modules()))


def _in_full(module: Any) -> str:
    options = _name("HloPrintOptions")()
    options.print_large_constants = True
    return str(module.to_string(options))


def main() -> int:
    """Run the child process; the exit status tells the outcome, the last line on stderr the reason."""
    content = sys.stdin.buffer.read()
    try:
        text = module_text(content)
    except ImportError:
        return _NO_JAXLIB
    except Exception as error:  # jaxlib may raise anything for invalid input
        print(_first_complaint(str(error)) or type(error).__name__, file=sys.stderr)
        return _REFUSED
    sys.stdout.buffer.write(text.encode())
    return 0


def _first_complaint(said: str) -> str:
    """Return the first line that is an error, or else the first line."""
    lines = said.splitlines() or [""]
    return next((line for line in lines if "error: " in line), lines[0]).strip()


if __name__ == "__main__":
    sys.exit(main())
