"""StableHLO of any form as a module of HLO."""

from __future__ import annotations

from ..collection import collection_paused
from ..hlo.ir import HloModule
from ..hlo.source import SourceText
from .forms import check_forms
from .origins import Locations, Origins
from .portable import read_artifact
from .preparation import choose_platform, left_out, main_function, require_sizes
from .program import UNKNOWN, Location, Program
from .rules import RULES
from .simplification import simplified
from .text import TextReader
from .translation import Translator


@collection_paused()
def read_text(source: SourceText, function: str | None = None, platform: int | None = None) -> HloModule:
    """The module that a text of MLIR says.

    ``function`` names the one of several that is the program, ``platform`` is the number of the one, of several, that
    the program is for; None leaves that to an argument. Raises ``HloSyntaxError`` (XP1xx) with a place in the text, and
    ``UsageError`` (XP425) where the size of an argument is left open.
    """
    reader = TextReader(source)
    program = reader.read()
    origins = Origins(Locations(source.text, reader.aliases).__getitem__, source)
    return _translated(program, origins, source, function, platform)


@collection_paused()
def read_bytecode(content: bytes, name: str, function: str | None = None, platform: int | None = None) -> HloModule:
    """The module in a portable artefact; ``name`` is what errors call it.

    Raises ``UsageError`` (XP431) with the number of a byte, and what :func:`read_text` raises, without a place.
    """
    source = SourceText("", name)
    program = read_artifact(content, name)
    origins = Origins(lambda location: location if isinstance(location, Location) else UNKNOWN, None)
    return _translated(program, origins, source, function, platform)


def _translated(
    program: Program, origins: Origins, source: SourceText, function: str | None, platform: int | None
) -> HloModule:
    main = main_function(program, function, source)
    require_sizes(main, source)
    choose_platform(main, platform)
    program.notes += left_out(program, source)
    check_forms(program, source)
    simplified(program)
    return Translator(program, origins, source, RULES).module(main)
