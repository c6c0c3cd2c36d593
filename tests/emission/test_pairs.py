"""The emitted text of small programs, topic by topic, in ``pairs/``."""

import pytest

from xla2py.tests.emission.pairs import FOLDER, read_pairs

PAIRS = [pair for path in sorted(FOLDER.glob("*.hlo")) for pair in read_pairs(path)]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_pair(pair):
    assert pair.emitted() == pair.expected


def test_titles_are_different():
    assert len({str(pair) for pair in PAIRS}) == len(PAIRS) > 0
