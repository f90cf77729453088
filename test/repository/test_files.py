"""Files are short enough to be read in one sitting. That they are formatted is checked by .ci/run."""

import re

import pytest
import tree

LONGEST = 800
LIST = tree.ROOT / "test/repository/long-files.txt"


def long_files():
    """{name: lines} of every text file over the limit."""
    result = {}
    for path in tree.files():
        content = path.read_bytes()
        if b"\0" not in content[:8192] and content.count(b"\n") > LONGEST:
            result[tree.name(path)] = content.count(b"\n")
    return result


def excuses():
    """{name: reason} of long-files.txt."""
    lines = [line for line in LIST.read_text().splitlines() if line and not line.startswith("#")]
    return {name.strip(): reason.strip() for name, _, reason in (line.partition(":") for line in lines)}


def test_a_long_file_has_a_reason():
    unexcused = {name: lines for name, lines in long_files().items() if name not in excuses()}
    assert not unexcused, f"over {LONGEST} lines: split it, or give the reason in {tree.name(LIST)}"


def test_every_excuse_is_needed_and_gives_a_reason():
    long = long_files()
    for name, reason in excuses().items():
        assert name in long, f"{name} is no longer over {LONGEST} lines; take it off the list"
        assert len(reason.split()) >= 3, f"{name}: say why it is better in one piece"


def test_header_guards_spell_the_path():
    # clang-tidy's own check spells the path of the checkout, too.
    for path in tree.files(".h"):
        guard = re.sub(r"[^A-Z0-9]", "_", tree.name(path).upper())
        text = path.read_text(encoding="utf-8")
        assert f"#ifndef {guard}\n#define {guard}\n" in text and text.endswith(f"#endif // {guard}\n"), tree.name(path)


@pytest.mark.parametrize("word", ["Utils", "Common", "Helpers", "Misc"])
def test_no_file_is_named_after_nothing(word):
    assert [tree.name(p) for p in tree.files(".h", ".cpp", ".td") if word in p.stem] == []
