"""The code that jinja2 makes of templates, kept for other renderers and other processes."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import jinja2

from ..target import TEMPLATES


class CompiledTemplates(jinja2.FileSystemBytecodeCache):
    """Templates compiled once for all renderers: globals differ from one to the next, code does not.

    As Python does with its modules, the code is kept in ``__pycache__`` for other processes where that can be written.
    """

    def __init__(self) -> None:
        super().__init__(str(TEMPLATES / "__pycache__"), "%s.jinja")
        self.codes: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        bucket.code = self.codes.get((bucket.key, bucket.checksum))
        if bucket.code is None:
            with suppress(OSError):
                super().load_bytecode(bucket)
            if bucket.code is not None:
                self.codes[bucket.key, bucket.checksum] = bucket.code

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        self.codes[bucket.key, bucket.checksum] = bucket.code
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)


COMPILED = CompiledTemplates()
