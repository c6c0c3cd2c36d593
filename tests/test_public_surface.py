"""What is public changes only where it is meant to, and then the changelog says so."""

from difflib import unified_diff

from .public_surface import RECORD, surface

ADVICE = """What is public has changed (docs/stability.md). If that is meant:

    python -m xla2py.tests.public_surface      # and read the diff of tests/public_surface.txt
    a file changelog.d/NAME.KIND.md            # one line for users; KIND added, changed, fixed or removed

"""


def test_the_public_surface_is_as_recorded():
    changes = unified_diff(RECORD.read_text("utf-8").splitlines(), surface().splitlines(), "recorded", "now", n=0)
    text = "\n".join(changes)
    assert not text, ADVICE + text
