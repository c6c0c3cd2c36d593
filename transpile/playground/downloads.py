"""A module as a file to download: Python, or an archive where it needs files beside it."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

from ..emission import GeneratedModule

_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # of archives: the same module gives the same bytes


def packed(generated: GeneratedModule) -> tuple[str, bytes]:
    """The name and the content of the file."""
    with tempfile.TemporaryDirectory() as folder:
        files = generated.save(Path(folder, f"{generated.name}.py"))
        if len(files) == 1:
            return files[0].name, files[0].read_bytes()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                archive.writestr(zipfile.ZipInfo(file.name, _FIRST_DAY), file.read_bytes())
        return f"{generated.name}.zip", buffer.getvalue()
