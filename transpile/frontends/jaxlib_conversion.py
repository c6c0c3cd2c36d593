"""Protos and StableHLO to HLO text, by jaxlib, in a child process: malformed input may abort XLA, not the caller.

Run as a module it is that child: bytes on stdin, HLO text on stdout, and for StableHLO the literals that are too large
for a text. These are jaxlib's private names; a test says which of them a new jaxlib lacks.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import Diagnostic, UsageError
from ..hlo.source import SourceText
from . import stablehlo
from .hlo_proto import without_large_literals
from .sniffing import STABLEHLO, Kind, module_in

JAXLIB_NAMES = {
    "HloModule": "jaxlib._hlo",
    "HloPrintOptions": "jaxlib._hlo",
    "mlir": "jaxlib._jax",  # mlir.mlir_module_to_xla_computation, mlir.refine_polymorphic_shapes
    "register_dialects": "jaxlib.mlir._mlir_libs._jax_mlir_ext",
}
_SECONDS = 300
_NO_JAXLIB = 3
_REFUSED = 4
_FREE_SIZES = 5
_INSTALL = "pip install 'xla2py[xla]'"
_ANY_SIZE = (
    "xla2py.from_jax(exported), of the jax.export.Exported that this came from, is a program for any size; "
    "or write it again with numbers"
)
# What jaxlib complains of, behind the place in a text that has no file name.
_COMPLAINT = re.compile(r'(?:UNKNOWN: )?(?:error: )?"?-"?:(?P<line>\d+):(?P<column>\d+): (?:error: )?(?P<what>.*)')


@dataclass(frozen=True, slots=True)
class ConvertedModule:
    """HLO text, and the LiteralProtos of the constants that it leaves out (``{...}``), by instruction.

    ``left_out`` names the attributes of StableHLO that no dialect of jaxlib reads.
    """

    text: str
    literals: Mapping[str, memoryview]
    left_out: Sequence[str] = ()


def to_hlo(content: bytes, kind: Kind, name: str, platform: int | None = None) -> ConvertedModule:
    """A serialized module or StableHLO as HLO text. Large literals are views of ``content`` where they stand in it.

    ``name`` is what errors call the input, ``platform`` the number of the platform, of several, that StableHLO is for.
    Raises ``UsageError``: XP425 for arguments of any size, XP430 without jaxlib, XP431 where jaxlib refuses the input,
    crashes on it or does not answer.
    """
    literals: dict[str, memoryview] = {}
    sent: bytes | memoryview = content
    if kind not in STABLEHLO:
        sent, literals = without_large_literals(module_in(memoryview(content), kind))
    chosen = [] if platform is None else [str(platform)]
    command = [sys.executable, "-P", "-m", __name__, kind.name, *chosen]
    try:
        answer = subprocess.run(command, input=sent, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise _error("XP431", f"jaxlib did not read {kind.value} within {_SECONDS} seconds", name) from None
    if answer.returncode == _NO_JAXLIB:
        raise _error("XP430", f"reading {kind.value} needs jaxlib", name, _INSTALL)
    if answer.returncode != 0:
        said = answer.stderr.decode(errors="replace").strip().splitlines()
        raise _refusal(answer.returncode, said[-1] if said else "", content, kind, name)
    sizes, _, _ = answer.stdout.partition(b"\n")
    text_size, literal_sizes, left_out = json.loads(sizes)
    start = len(sizes) + 1 + text_size
    for instruction, size in literal_sizes.items():
        literals[instruction] = memoryview(answer.stdout)[start : start + size]
        start += size
    return ConvertedModule(answer.stdout[len(sizes) + 1 :][:text_size].decode(), literals, left_out)


def _refusal(status: int, said: str, content: bytes, kind: Kind, name: str) -> UsageError:
    """The error for what the child said last, with the user's own line where it names one."""
    if status == _FREE_SIZES:
        return _error("XP425", f"the sizes of arguments are left open: {said}", name, _ANY_SIZE)
    reason = said if status == _REFUSED and said else "it crashed"
    complaint = _COMPLAINT.match(reason)
    source, span = SourceText("", name), None
    if kind is Kind.STABLEHLO_TEXT and complaint is not None:
        source, reason = SourceText(content.decode(errors="replace"), name), complaint["what"]
        span = source.span_from(int(complaint["line"]), int(complaint["column"]))
    message = f"jaxlib cannot read this as {kind.value}: {reason.removeprefix('UNKNOWN: ')}"
    return UsageError(Diagnostic("XP431", message, span, source))


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


def refined_to_hlo(content: bytes) -> ConvertedModule:
    """StableHLO of this process whose arguments have sizes, and nothing else need have, as HLO text.

    Raises what jaxlib raises where sizes do not follow from those of the arguments.
    """
    return _convert(_name("mlir").refine_polymorphic_shapes(content), Kind.STABLEHLO_BYTECODE)


def _convert(content: bytes, kind: Kind, platform: int | None = None) -> ConvertedModule:
    if kind not in STABLEHLO:
        return ConvertedModule(module_text(content), {})
    content, left_out = stablehlo.prepared(content, platform)
    computation = _name("mlir").mlir_module_to_xla_computation(content, False, False)
    proto, literals = without_large_literals(memoryview(computation.as_serialized_hlo_module_proto()))
    return ConvertedModule(module_text(proto), literals, left_out)


def main(kind: Kind, platform: int | None = None) -> int:
    """The child: its exit status says what happened, its last line on stderr why."""
    content = sys.stdin.buffer.read()
    try:
        converted = _convert(content, kind, platform)
    except ImportError:
        return _NO_JAXLIB
    except stablehlo.FreeSizesError as error:
        print(error, file=sys.stderr)
        return _FREE_SIZES
    except Exception as error:  # whatever jaxlib raises: the input is not what it should be
        print(_first_complaint(str(error)) or type(error).__name__, file=sys.stderr)
        return _REFUSED
    text = converted.text.encode()
    literals = {name: len(literal) for name, literal in converted.literals.items()}
    sizes = (len(text), literals, list(converted.left_out))
    parts: list[bytes | memoryview] = [json.dumps(sizes).encode(), b"\n", text, *converted.literals.values()]
    for part in parts:
        sys.stdout.buffer.write(part)
    return 0


def _first_complaint(said: str) -> str:
    """The first line that is an error, or else the first line; MLIR puts what it was doing before it."""
    lines = said.splitlines() or [""]
    return next((line for line in lines if "error: " in line), lines[0]).strip()


if __name__ == "__main__":
    sys.exit(main(Kind[sys.argv[1]], *map(int, sys.argv[2:])))
