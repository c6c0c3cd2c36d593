"""Protos to HLO text, by jaxlib, in a child process: malformed input may abort XLA, not the caller.

Run as a module it is that child: bytes on stdin, HLO text on stdout, the kind as its argument. These are jaxlib's
private names; a test says which of them a new jaxlib lacks. StableHLO has a reader of its own; what jaxlib makes of it
is here for operations that the reader lacks, for programs whose sizes jaxlib works out, and for tests that compare.
"""

from __future__ import annotations

import importlib
import io
import sys
from collections.abc import Mapping
from typing import Any

from ..dataclass import dataclass
from ..errors import Diagnostic, UsageError
from ..hlo.source import SourceText
from .hlo_proto import without_large_literals
from .sniffing import Kind, module_in

JAXLIB_NAMES = {
    "HloModule": "jaxlib._hlo",
    "HloPrintOptions": "jaxlib._hlo",
    "mlir": "jaxlib._jax",  # mlir.mlir_module_to_xla_computation
    "register_dialects": "jaxlib.mlir._mlir_libs._jax_mlir_ext",
}
_SECONDS = 300
_NO_JAXLIB = 3
_REFUSED = 4
_STABLEHLO = (Kind.STABLEHLO_TEXT, Kind.STABLEHLO_BYTECODE)
_INSTALL = "pip install 'xla2py[xla]'"


@dataclass(frozen=True, slots=True)
class ConvertedModule:
    """HLO text, and the LiteralProtos of the constants that it leaves out (``{...}``), by instruction."""

    text: str
    literals: Mapping[str, memoryview]


def to_hlo(content: bytes, kind: Kind, name: str) -> ConvertedModule:
    """A serialized module as HLO text. Large literals are views of ``content``.

    ``name`` is what errors call the input. Raises ``UsageError``: XP430 without jaxlib, XP431 where jaxlib refuses the
    input, crashes on it or does not answer.
    """
    import subprocess  # most programs need no jaxlib

    literals: dict[str, memoryview] = {}
    sent: bytes | memoryview = content
    if kind not in _STABLEHLO:
        sent, literals = without_large_literals(module_in(memoryview(content), kind))
    command = [sys.executable, "-P", "-m", __name__, kind.name]
    try:
        answer = subprocess.run(command, input=sent, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise _error("XP431", f"jaxlib did not read {kind.value} within {_SECONDS} seconds", name) from None
    except OSError as error:  # in a browser there are no processes, and there is no jaxlib
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
    """The private names of jaxlib that this module needs and the installed jaxlib lacks."""
    return [name for name, module in JAXLIB_NAMES.items() if not hasattr(importlib.import_module(module), name)]


def _name(name: str) -> Any:
    return getattr(importlib.import_module(JAXLIB_NAMES[name]), name)


def module_text(proto: bytes | memoryview) -> str:
    """The text of a HloModuleProto, by the jaxlib of this process; all literals that it has are printed."""
    return _in_full(_name("HloModule").from_serialized_hlo_module_proto(bytes(proto)))


def compiled_text(compiled: Any) -> str:
    """The text of a ``jax.stages.Compiled`` with its long constants, which its own ``as_text`` leaves out."""
    return "\n".join(map(_in_full, compiled.runtime_executable().hlo_modules()))


def _in_full(module: Any) -> str:
    options = _name("HloPrintOptions")()
    options.print_large_constants = True
    return str(module.to_string(options))


def converted_stablehlo(content: bytes) -> ConvertedModule:
    """StableHLO of any form as HLO text, by the jaxlib of this process. Raises what jaxlib raises."""
    return _converted(_from_artifact(content) if content.startswith(b"ML\xefR") else content)


def _stablehlo_text(content: bytes) -> str:
    """The same with all literals in the text."""
    program = _from_artifact(content) if content.startswith(b"ML\xefR") else content
    return module_text(_proto(program))


def _from_artifact(content: bytes) -> bytes:
    """A portable artefact as bytecode of StableHLO."""
    stablehlo = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
    return bytecode(stablehlo.deserialize_portable_artifact(mlir_context(), content))


def mlir_context() -> Any:
    """A context of jaxlib's MLIR with the dialects that a program of JAX may use."""
    mlir = importlib.import_module("jaxlib.mlir.ir")
    context, registry = mlir.Context(), mlir.DialectRegistry()
    importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for name in ("sdy", "mpmd", "chlo", "stablehlo"):
        importlib.import_module(f"jaxlib.mlir.dialects.{name}").register_dialect(context)
    return context


def bytecode(module: Any) -> bytes:
    """The bytecode of a module of jaxlib's MLIR."""
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()


def _converted(content: bytes) -> ConvertedModule:
    proto, literals = without_large_literals(memoryview(_proto(content)))
    return ConvertedModule(module_text(proto), literals)


def _proto(content: bytes) -> bytes:
    computation = _name("mlir").mlir_module_to_xla_computation(content, False, False)
    return bytes(computation.as_serialized_hlo_module_proto())


def main(kind: Kind) -> int:
    """The child: its exit status says what happened, its last line on stderr why."""
    content = sys.stdin.buffer.read()
    try:
        text = _stablehlo_text(content) if kind in _STABLEHLO else module_text(content)
    except ImportError:
        return _NO_JAXLIB
    except Exception as error:  # whatever jaxlib raises: the input is not what it should be
        print(_first_complaint(str(error)) or type(error).__name__, file=sys.stderr)
        return _REFUSED
    sys.stdout.buffer.write(text.encode())
    return 0


def _first_complaint(said: str) -> str:
    """The first line that is an error, or else the first line."""
    lines = said.splitlines() or [""]
    return next((line for line in lines if "error: " in line), lines[0]).strip()


if __name__ == "__main__":
    sys.exit(main(Kind[sys.argv[1]]))
