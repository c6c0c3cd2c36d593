"""Counts and sizes as people read them."""

UNITS = ("", "k", "M", "G", "T", "P", "E")


def count_text(count: int) -> str:
    """A count with three digits and a prefix: ``1.23 G``."""
    return _scaled(count, 1000, "")


def size_text(size: int) -> str:
    """A size in bytes with three digits and a binary prefix: ``1.50 KiB``."""
    return _scaled(size, 1024, "iB") if size >= 1024 else f"{size} B"


def _scaled(number: int, base: int, unit: str) -> str:
    scaled, steps = float(number), 0
    while scaled >= base and steps < len(UNITS) - 1:
        scaled, steps = scaled / base, steps + 1
    if not steps:
        return str(number)
    prefix = UNITS[steps].upper() if unit else UNITS[steps]
    return f"{scaled:.3g} {prefix}{unit}"
