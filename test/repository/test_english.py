"""No file gets more of the habits that english.py lists, and a new file has none."""

import english
import pytest
import tree


@pytest.fixture(scope="module")
def found():
    """The places of each file: reading the whole tree takes seconds."""
    return {tree.name(path): list(english.places(path)) for path in english.all_files()}


def test_no_file_has_more_than_before(found):
    allowed = english.allowed()
    worse = [
        f"{name}:{number}: {text}\n    {rule}"
        for name, places in found.items()
        if len(places) > allowed.get(name, 0)
        for number, text, rule in places
    ]
    assert not worse, "one of these is new (python test/repository/english.py FILE lists them):\n" + "\n".join(worse)


def test_files_that_are_gone_or_mended_are_not_listed(found):
    left = {name: len(found.get(name, [])) for name in english.allowed()}
    stale = {name: (count, left[name]) for name, count in english.allowed().items() if left[name] < count}
    assert not stale, f"python test/repository/english.py --bless lowers these (listed, left): {stale}"


@pytest.mark.parametrize(
    "text, count",
    [
        ("// Who waits gives way to a rank on the same core.", 1),
        ("// Whoever asks gets it.", 2),
        ("// It is no message.", 1),
        ("// There is no message. It is no longer there.", 0),
        ("// What is a message? A rank sends it.", 0),
        ("// The dimension does not come out even.", 1),
        ("int mostRecords = 3;", 1),
        ('fail("nobody is here"); // says "nobody"', 0),
    ],
)
def test_habits_are_seen(tmp_path, text, count):
    file = tmp_path / "a.cpp"
    file.write_text(text + "\n")
    assert len(list(english.places(file))) == count
