"""A net of emitted texts: ``python -m pytest --record-emitted=build/net [TESTS]`` keeps what tests emit, and from what;
``make net`` emits all of it anew and shows what differs. For changes that shall change nothing. Some tests patch what
emits: ``python tests/emitted_net.py --forget build/net``, before anything is changed, drops what differs.
"""

import argparse
import difflib
import functools
import hashlib
import inspect
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from xla2py.transpile import emission
from xla2py.transpile.compilation import stages
from xla2py.transpile.frontends import load

_OBSERVERS = ("begin", "observe")
_DEEP = 50_000  # calls: instructions hold their operands


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-emitted", metavar="DIR", type=Path, help="keep what tests emit, and from what, in DIR")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--record-emitted")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        emission.emit = _recorded(emission.emit, folder.resolve())


def _recorded(emit: Any, folder: Path) -> Any:
    signature = inspect.signature(emit)

    @functools.wraps(emit)
    def recording(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        if not isinstance(given["source"], str | bytes | emission.HloModule | emission.Witnesses):
            name = given["source"].name if isinstance(given["source"], Path) else None
            given["source"] = load(given["source"], examples=given.pop("examples", ()))
            given = {"name": name, **given}
        question = _pickled({key: value for key, value in given.items() if key not in _OBSERVERS})
        emitted = emit(**given)
        if question:
            path = folder / hashlib.sha256(question).hexdigest()[:24]
            path.write_bytes(pickle.dumps((question, _text(emitted))))
        return emitted

    return recording


def _pickled(given: Any) -> bytes:
    """What ``emit`` was given as bytes; nothing where it cannot be kept."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(_DEEP)
    try:
        return pickle.dumps(given)
    except (pickle.PicklingError, TypeError, AttributeError, RecursionError):
        return b""
    finally:
        sys.setrecursionlimit(limit)


def _text(emitted: Any) -> str:
    constants = [f"# {name}: {each.tobytes()!r:.200}" for name, each in sorted(emitted.constants.items())]
    return "\n".join([emitted.source, *emitted.helpers.values(), *constants])


def difference(path: Path) -> str:
    """How what is emitted now differs from what is kept in a file; nothing where it does not."""
    sys.setrecursionlimit(_DEEP)
    stages.verifies = lambda draft: False
    question, kept = pickle.loads(path.read_bytes())
    try:
        text = _text(emission.emit(**pickle.loads(question)))
    except Exception as error:
        return f"{path.name}: {type(error).__name__}: {error}"
    return "\n".join(difflib.unified_diff(kept.split("\n"), text.split("\n"), path.name, "now", lineterm="", n=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="take each N-th alone")
    parser.add_argument("--forget", action="store_true", help="drop what differs")
    given = parser.parse_args()
    paths = sorted(given.folder.iterdir())[:: given.every]
    with ProcessPoolExecutor(given.processes) as pool:
        found = {
            path: text for path, text in zip(paths, pool.map(difference, paths, chunksize=20), strict=True) if text
        }
    if given.forget:
        for path in found:
            path.unlink()
    print(*found.values(), f"{len(found)} of {len(paths)} texts differ", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
