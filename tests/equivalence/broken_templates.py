"""Templates with a mistake in them: what emits a sum as a difference."""

import shutil
from contextlib import contextmanager

import pytest

from xla2py.transpile.emission import expression


@contextmanager
def broken_addition(folder):
    """While this lasts, ``a + b`` is emitted as ``a - b``; ``folder`` is an empty one."""
    templates = folder / "templates"
    shutil.copytree(expression.TEMPLATES, templates, dirs_exist_ok=True)
    macros = templates / "array" / "elementwise.j2"
    macros.write_text(macros.read_text().replace("}} + {{", "}} - {{"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expression, "TEMPLATES", templates)
        yield
