"""pytest plugin of run.py: selects the tests of a plan, reports their start and end, and adds names to an old torch that tests import."""

import json
import os

import pytest

import with_torch

with_torch.complete()


def _tell(*entry):
    if path := os.environ.get("UPSTREAM_LOG"):
        with open(path, "a", encoding="utf-8") as log:
            log.write(json.dumps(entry) + "\n")


def _name(item):
    return item.nodeid.partition("::")[2]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if path := os.environ.get("UPSTREAM_IDS"):
        with open(path, "w", encoding="utf-8") as file:
            json.dump([_name(item) for item in items], file)
    if path := os.environ.get("UPSTREAM_PLAN"):
        with open(path, encoding="utf-8") as file:
            wanted = set(json.load(file))
        items[:] = [item for item in items if _name(item) in wanted]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    item.reports = []
    _tell("start", _name(item))
    yield
    outcomes = [report.outcome for report in item.reports]
    worst = "failed" if "failed" in outcomes else "skipped" if "skipped" in outcomes else "passed"
    text = "\n".join(str(report.longrepr) for report in item.reports if report.outcome == worst and report.longrepr)
    _tell("end", _name(item), worst, text[-4000:])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    item.reports.append(outcome.get_result())
