"""A cache of the code that jinja2 compiles templates to, for all renderers of a process."""

from __future__ import annotations

from types import CodeType

import jinja2


class CompiledTemplates(jinja2.BytecodeCache):
    """Templates compiled once for all renderers: these differ in globals, not in code."""

    def __init__(self) -> None:
        self._codes: dict[str, CodeType | None] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        bucket.code = self._codes.get(bucket.key + bucket.checksum)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        self._codes[bucket.key + bucket.checksum] = bucket.code

    def template(self, environment: jinja2.Environment, source: str) -> jinja2.Template:
        """Return the template of a text that is not in a file of its own."""
        code = self._codes.get(source) or environment.compile(source)
        self._codes[source] = code
        return environment.template_class.from_code(environment, code, environment.make_globals(None))


COMPILED = CompiledTemplates()
