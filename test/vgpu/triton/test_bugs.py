"""The checks find every bug of bugs/kernels.py, and report nothing on its correct kernels.

Run by itself: it starts the virtual GPU.
"""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

TOOL = os.environ["TILEWRIGHT_VGPU_TOOL"]
KERNELS = os.path.join(os.path.dirname(__file__), "bugs", "kernels.py")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """{name: text of the failure, or None}, and the findings."""
    path = tmp_path_factory.mktemp("bugs") / "results.xml"
    report = path.with_name("report.json")
    command = [TOOL, "run", "--chip=sm_90a", "--threads=1", "--check=all", "--sticky=0", "--timeout=60", f"--report={report}", "--quiet", "--",
               sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={path}", KERNELS]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert path.exists(), ran.stdout + ran.stderr
    found = {}
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        failure = next((part for part in case if part.tag in ("failure", "error")), None)
        found[case.get("name")] = None if failure is None else failure.get("message") + "\n" + (failure.text or "")
    return found, json.loads(report.read_text())["findings"]


def test_every_bug_is_found(results):
    bugs = {name: text for name, text in results[0].items() if name.startswith("test_bug_")}
    assert len(bugs) == 15
    assert [name for name, text in bugs.items() if text is None] == []
    # Reported by the checks, or as a launch that cannot end.
    told = re.compile("race:|missing-fence:|uninitialised-read:|out-of-bounds:|unfinished-operation:|barrier-misuse:|E7107|error: 702|Triton Error")
    assert [name for name, text in bugs.items() if not told.search(text)] == []


def test_nothing_is_found_in_right_kernels(results):
    right = {name: text for name, text in results[0].items() if name.startswith("test_right_")}
    assert len(right) == 16
    assert {name: text for name, text in right.items() if text is not None} == {}


def test_findings_name_the_line(results):
    """Also for inline assembly of several lines, and with Triton's own names."""
    with open(KERNELS, encoding="utf-8") as file:
        lines = [line.split("  #")[0] + "\n" for line in file.read().splitlines()]  # code alone: comments may change

    def line_of(code):
        (line,) = (i for i, line in enumerate(lines, 1) if code in line)
        return line

    def found(kernel, kind):
        return [finding for finding in results[1] if (finding["kernel"], finding["kind"]) == (kernel, kind)]

    def places(kernel, kind):
        return {access["place"]["line"] for finding in found(kernel, kind) for access in finding["accesses"]}

    assert places("negate", "out-of-bounds") == {line_of("tl.store(target + at, values)\n")}
    assert places("exchange", "race") == {line_of("inline_asm_elementwise")}
    assert places("rotate", "race") == {line_of("values = tl.load(data + (at + 3)"), line_of("tl.store(data + at, values, mask=at < count)\n")}
    assert all("blocks run in any order" in finding["fix"] for finding in found("rotate", "race"))
    assert len(found("rotate", "race")) == 1
    assert any("tma.store_wait" in finding["fix"] for finding in found("double_tiles", "race"))
    assert any("async_copy.wait_group" in finding["fix"] for finding in found("through_shared", "race"))
