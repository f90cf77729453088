"""docs/reference/findings.md: each test that the page names exists, and so does each case."""

import os
import re
import subprocess

import tree

PAGE = tree.ROOT / "docs/reference/findings.md"
CASES = re.compile(r"^def (test_\w+)|^(?:TEST|TEST_F|TEST_P)\(\w+,\s*(\w+)\)", re.MULTILINE)


def rows():
    """Of each finding: its number, and the tests as pairs of a name and a case, or None."""
    for line in PAGE.read_text().splitlines():
        if match := re.match(r"\| (\d+\w?) \| .* \| (.*) \|$", line):
            named = (re.fullmatch(r"(.+?): `(\w+)`", test) for test in match[2].split("; "))
            yield match[1], [(one[1], one[2]) if one else (test, None) for one, test in zip(named, match[2].split("; "))]


def test_every_finding_has_a_row():
    numbers = [number for number, _ in rows()]
    assert numbers == [str(i) for i in range(23)] + [f"23{letter}" for letter in "abcdefg"] + [str(i) for i in range(23, 43)]


def test_every_test_and_case_exists():
    listed = subprocess.run(["ctest", "-N"], cwd=os.environ["TILEWRIGHT_BUILD_DIR"], capture_output=True, text=True, check=True).stdout
    tests = set(re.findall(r"^ *Test +#\d+: (\S+)", listed, re.MULTILINE))
    has_torch = any(test.startswith("vgpu-torch") for test in tests)
    cases = {a or b for file in tree.files(".py", ".cpp") if "test" in file.name.lower() for a, b in CASES.findall(file.read_text())}
    for number, row in rows():
        assert row, number
        for test, case in row:
            if test.startswith("by hand: ") or (test.startswith("vgpu-torch") and not has_torch):
                continue
            assert test in tests, f"finding {number}: CTest has no test {test}"
            assert case is None or case in cases, f"finding {number}: no test has a case {case}"
