"""``xla2py layout SHAPE``."""

from __future__ import annotations

import click

from .options import Command


@click.command(cls=Command)
@click.argument("shape")
def command(shape: str) -> None:
    """Draw how SHAPE lies in memory: order of the dimensions, tiles, padding, linear indices.

    For example: xla2py layout 'f32[3,5]{1,0:T(2,2)}'
    """
    from ..hlo.layout_drawing import draw_layout
    from ..hlo.lexer import Cursor
    from ..hlo.shape_parser import parse_shape
    from ..hlo.source import SourceText

    cursor = Cursor(SourceText(shape, "<shape>"))
    parsed = parse_shape(cursor)
    if not cursor.at_end():
        cursor.unexpected("the end of the shape")
    click.echo(draw_layout(parsed))
