"""Options of these tests, and a summary at their end."""

import pytest

# Lines that a test wants below the results, whether it passes or not.
SUMMARY = pytest.StashKey[list[str]]()


def pytest_addoption(parser):
    parser.addoption(
        "--shard", default="1/1", help="N/M runs tests N, N+M, N+2M …, so that CTest can use several cores"
    )
    parser.addoption("--programs", type=int, default=200, help="how many random programs")
    parser.addoption("--chip", default="", help="run on this chip of the virtual GPU instead of the CPU")
    parser.addoption("--seed", type=int, default=20, help="from which they are drawn")


def pytest_collection_modifyitems(config, items):
    number, count = map(int, config.getoption("--shard").split("/"))
    items[:] = items[number - 1 :: count]


def pytest_terminal_summary(terminalreporter, config):
    for line in config.stash.get(SUMMARY, []):
        terminalreporter.line(line)
