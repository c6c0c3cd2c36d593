"""Three-way merge: laws for all texts, and cases a person would check by eye."""

from hypothesis import given, strategies as st

from xla2py.transpile.vendoring.merge import has_conflicts, merge

texts = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n"]), max_size=12).map("".join)


@given(texts, texts)
def test_a_change_on_one_side_is_taken(base, changed):
    for merged in (merge(base, changed, base), merge(base, base, changed), merge(base, changed, changed)):
        assert (merged.text, merged.conflicts) == (changed, 0)


@given(texts, texts, texts)
def test_every_line_of_either_side_is_in_the_merge_of_additions(base, first, second):
    """Where people only add lines, whatever comes out has all of them."""
    ours, theirs = first + base, base + second
    merged = merge(base, ours, theirs)
    lines = merged.text.splitlines()
    for line in {*first.splitlines(), *second.splitlines()}:
        assert line in lines
    assert has_conflicts(merged.text) == bool(merged.conflicts)


def test_changes_in_different_places_are_both_taken():
    base = "one\ntwo\nthree\nfour\nfive\n"
    merged = merge(base, base.replace("two", "TWO"), base.replace("five", "5") + "six\n")
    assert (merged.text, merged.conflicts) == ("one\nTWO\nthree\nfour\n5\nsix\n", 0)


def test_changes_of_one_line_are_left_to_a_person():
    merged = merge("one\ntwo\nthree\n", "one\nmine\nthree\n", "one\ntheirs\nthree\n")
    marks = "<<<<<<< edited\nmine\n=======\ntheirs\n>>>>>>> generated\n"
    assert (merged.text, merged.conflicts) == (f"one\n{marks}three\n", 1)


def test_marks_stand_on_lines_of_their_own_even_where_a_text_ends_without_one():
    merged = merge("a", "b", "c")
    assert merged.text == "<<<<<<< edited\nb\n=======\nc\n>>>>>>> generated\n"
