"""pytest on the virtual GPU: a test that caused a finding fails, and its report shows the finding.

`tilewright vgpu run --check=… -- pytest` loads it by itself.
"""

import collections
import json
import os

import pytest

from . import libcuda


class FindingsError(AssertionError):
    """The checks of the virtual GPU found something while the test ran."""


def _findings():
    """Maps key and text of each finding to how often it was seen."""
    text = libcuda.report()
    counts = collections.Counter()
    for one in json.loads(text)["findings"] if text else []:
        counts[_described(one)] += one["count"]
    return counts


def _described(finding):
    lines = [f"{finding['kind']}: {finding['message']}"]
    for access in finding["accesses"]:
        place = access["place"]
        source = f"{place['file']}:{place['line']}" if "file" in place else f"line {place['ptxLine']} of the PTX"
        lines.append(f"  {access['what']} {access['who']}")
        lines.append(f"    at {place['function']} ({source})")
    lines.append(f"  in kernel {finding['kernel']}" + (f", in {finding['where']}" if finding["where"] else ""))
    if finding["fix"]:
        lines.append(f"  note: {finding['fix']}")
    return "\n".join(lines)


def pytest_configure(config):
    # A failed kernel must not fail the tests after its own.
    os.environ.setdefault("TILEWRIGHT_VGPU_STICKY", "0")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    before = _findings()
    outcome = yield
    if driver := libcuda.loaded():
        driver.cuCtxSynchronize()  # a kernel that a test did not wait for still counts for that test
    new = [text for text, count in _findings().items() if count > before[text]]
    if not new:
        return
    if outcome.excinfo is not None:
        item.add_report_section("call", "virtual GPU", "\n\n".join(new))
    else:
        _fail(outcome, FindingsError("\n\n".join(new)))


def _fail(outcome, error):
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(error)
    else:  # pluggy before 1.1
        outcome._excinfo = type(error), error, None
