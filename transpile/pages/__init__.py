"""Self-contained HTML pages: HLO, emitted Python and the program's own source side by side."""

from .page import write_page
from .panes import module_page

__all__ = ["module_page", "write_page"]
