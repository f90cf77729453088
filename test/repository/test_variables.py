"""Variables.def names every environment variable that the product reads, or a right one would be called misspelt."""

import re

import tree

LIST = tree.ROOT / "tilewright/support/Variables.def"


def test_every_variable_that_is_read_is_listed():
    text = LIST.read_text()
    listed = set(re.findall(r'^TILEWRIGHT_VARIABLE\("(\w+)", "', text, re.MULTILINE))
    assert len(listed) == len(re.findall(r"^TILEWRIGHT_VARIABLE\(", text, re.MULTILINE)), "a row this test cannot read"
    options = (tree.ROOT / "docs/reference/options.md").read_text()
    options = set(re.findall(r"variable `(\w+)`", options))
    read = {}
    for path in tree.files(".cpp", ".h", ".py"):
        name = tree.name(path)
        if name.startswith(("tilewright/", "tools/", "python/")) and not path.stem.endswith("Test"):
            # Those of tests are set by tests.
            for variable in re.findall(r"""["'](TILEWRIGHT_[A-Z0-9_]*[A-Z0-9])["']""", path.read_text(encoding="utf-8")):
                if not variable.startswith("TILEWRIGHT_TEST_"):
                    read[variable] = name
    assert "TILEWRIGHT_VGPU_CHECK" in read and "TILEWRIGHT_TARGET" in read
    assert {name: where for name, where in read.items() if name not in listed | options} == {}
    assert listed <= set(read), "listed and not read"
