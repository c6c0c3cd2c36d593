"""StableHLO of any form as a module of HLO."""

from __future__ import annotations

from collections.abc import Mapping

from ..collection import collection_paused
from ..hlo.ir import HloModule
from ..hlo.source import SourceText
from .forms import check_forms
from .origins import Locations, Origins
from .portable import read_artifact
from .preparation import choose_platform, left_out, main_function
from .program import UNKNOWN, Location, Program, inside
from .rules import RULES
from .simplification import at_sizes, simplified
from .sizes import put_sizes
from .text import TextReader
from .translation import Translator

Sizes = Mapping[str, int] | None


@collection_paused(lives_on=True)
def read_text(
    source: SourceText, function: str | None = None, platform: int | None = None, sizes: Sizes = None
) -> HloModule:
    """The module that a text of MLIR says.

    ``function`` names the one of several that is the program, ``platform`` is the number of the one, of several, that
    the program is for; None leaves that to an argument. ``sizes`` are numbers for the axes of arguments that are left
    open, by the names that its assertions give them. Raises ``HloSyntaxError`` (XP1xx) with a place in the text, and
    ``UsageError`` (XP425) where an axis is left open, ``OpenSizes`` where numbers are all that is missing.
    """
    reader = TextReader(source)
    program = reader.read()
    origins = Origins(Locations(source.text, reader.attributes.aliases).__getitem__, source)
    return _translated(program, origins, source, function, platform, sizes)


@collection_paused(lives_on=True)
def read_bytecode(
    content: bytes, name: str, function: str | None = None, platform: int | None = None, sizes: Sizes = None
) -> HloModule:
    """The module in a portable artefact; ``name`` is what errors call it.

    Raises ``UsageError`` (XP431) with the number of a byte, and what :func:`read_text` raises, without a place.
    """
    source = SourceText("", name, is_text=False)
    program = read_artifact(content, name)
    origins = Origins(lambda location: location if isinstance(location, Location) else UNKNOWN, None)
    return _translated(program, origins, source, function, platform, sizes)


def _translated(
    program: Program, origins: Origins, source: SourceText, function: str | None, platform: int | None, sizes: Sizes
) -> HloModule:
    main = main_function(program, function, source)
    is_open = put_sizes(main, sizes, source)
    choose_platform(main, platform)
    operations = list(inside(program.functions))
    alike = {id(each.attributes): each for each in operations}  # lines that are alike share their attributes
    program.notes += left_out(program, alike.values(), source)
    check_forms(program, operations, alike.values(), source)
    if is_open:
        at_sizes(program, main, source)
    else:
        simplified(program, source)
    return Translator(program, origins, source, RULES).module(main)
