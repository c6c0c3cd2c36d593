"""Self-contained HTML pages: HLO, emitted Python and the program's own source side by side."""

from .module_page import module_page
from .page import write_page

__all__ = ["module_page", "write_page"]
