"""Lower the example programs to HLO: ``python examples/lower.py [NAME ..] [--stage before|after] [--check]``.

Each ``examples/NAME.py`` defines ``program()``, which returns a JAX function and example arguments. This writes
``examples/hlo/NAME.before.hlo``, what JAX hands to XLA, and ``examples/hlo/NAME.after.hlo``, what XLA makes of it
for the CPU at hand. Source paths in them are relative to the repository.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
TOOLS = {"any_size", "gallery", "lower"}
NAMES = sorted({path.stem for path in FOLDER.glob("*.py")} - TOOLS)
STAGES, WRITTEN_BY = ("before", "after"), "0.10.2"  # the JAX that writes the texts; others trace otherwise
_FILE_NAME = re.compile(r'^(\d+ )"([^"\n]+)"$', re.MULTILINE)


def load_program(name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function and the example arguments of ``examples/NAME.py``."""
    spec = importlib.util.spec_from_file_location(f"examples_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function, arguments = module.program()
    return function, arguments


def hlo_file(name: str, stage: str) -> Path:
    """Return where the HLO of an example lies; ``stage`` is ``before`` or ``after`` optimisation."""
    return FOLDER / "hlo" / f"{name}.{stage}.hlo"


def lower(name: str, stages: Sequence[str] = STAGES) -> dict[Path, str]:
    """The texts of an example's HLO files, by path."""
    import jax

    from xla2py.transpile.frontends.jaxlib_conversion import compiled_text

    function, arguments = load_program(name)
    lowered = jax.jit(function).lower(*arguments)
    texts = {}
    if "before" in stages:
        texts[hlo_file(name, "before")] = relative_paths(lowered.as_text("hlo", debug_info=True))
    if "after" in stages:
        texts[hlo_file(name, "after")] = relative_paths(compiled_text(lowered.compile()))
    return texts


def relative_paths(text: str) -> str:
    """HLO text whose source file names start at the repository, or at the folder a library is installed in."""
    roots = sorted({str(FOLDER.parent), *sys.path} - {*map(str, FOLDER.parent.iterdir()), ""}, key=len, reverse=True)

    def shorten(match: re.Match[str]) -> str:
        number, name = match.groups()
        root = next((root for root in roots if name.startswith(f"{root}/")), None)
        return f'{number}"{name[len(root) + 1 :] if root else Path(name).name}"'

    return _FILE_NAME.sub(shorten, text.rstrip()) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Lower the example programs to HLO.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"examples to lower; all by default: {', '.join(NAMES)}"
    )
    parser.add_argument("--stage", choices=STAGES, help="only the HLO before or after optimisation; both by default")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"no such example: {', '.join(unknown)}")
    stale = 0
    for name in options.names or NAMES:
        for path, text in lower(name, [options.stage] if options.stage else STAGES).items():
            if path.exists() and path.read_text() == text:
                continue
            stale += 1
            print(f"{'stale' if options.check else 'wrote'} {path.relative_to(FOLDER.parent)}")
            if not options.check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
