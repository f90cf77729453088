""".ci/nightly: every slow test is in exactly one shard, no shard is longer than an hour, and failures are on the page."""

import importlib.machinery
import importlib.util
import subprocess
import sys

import pytest
import tree


def load():
    loader = importlib.machinery.SourceFileLoader("nightly", str(tree.ROOT / ".ci/nightly"))
    spec = importlib.util.spec_from_loader("nightly", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["nightly"] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


nightly = load()
TIMES = {f"test-{i}": 60.0 * (i * 7 % 41 + 1) for i in range(40)}


@pytest.mark.parametrize("count", [None, 20, 30, 60])
def test_every_test_is_in_one_shard_of_less_than_an_hour(count):
    shards = nightly.planned_shards(TIMES, count)
    assert sorted(test for shard in shards for test in shard) == sorted(TIMES)
    assert len(shards) == (count or len(shards))
    assert max(sum(TIMES[test] for test in shard) for shard in shards) <= nightly.HOUR
    assert shards == nightly.planned_shards(dict(reversed(TIMES.items())), count), "the same on every machine"


def test_shards_are_even():
    lengths = [sum(TIMES[test] for test in shard) for shard in nightly.planned_shards(TIMES)]
    assert max(lengths) <= 1.2 * min(lengths)
    # As few as will do.
    assert len(lengths) <= sum(TIMES.values()) / nightly.PLANNED + 2


def test_what_cannot_be_done_in_an_hour_is_refused():
    with pytest.raises(SystemExit, match="split it in CMake.*long"):
        nightly.planned_shards({"long": 3601.0})
    with pytest.raises(SystemExit, match="use more of them"):
        nightly.planned_shards(TIMES, 2)


def test_no_tests_are_one_empty_shard():
    assert nightly.planned_shards({}) == [[]]


def test_figures_are_what_tests_printed_last():
    output = """collecting
.. [100%]
==== PASSES ====
____ test_a ____
---------- Captured stdout call ----------
noise
sm_90a, eager: 548 cases, 0 wrong
____ test_b ____
---------- Captured stdout call ----------
three of three
==== 2 passed in 3.5s ====
"""
    assert nightly.figures(output) == "sm_90a, eager: 548 cases, 0 wrong; three of three; 2 passed"
    assert nightly.figures("checking\n1200 forms, 0 wrong\n\n") == "1200 forms, 0 wrong"


def test_the_page_shows_failures_first_and_can_be_read_again():
    outcomes = [nightly.Outcome("a", "passed", 1234.4, "5 of 5", "abc", "2030-01-01"), nightly.Outcome("b", "failed", 7, "1 | 2", "def", "2030-01-03"),
                nightly.Outcome("c", "stopped at the hour", 3600, "", "abc", "2030-01-02")]  # fmt: skip
    page = nightly.rendered(outcomes, ["d"], "2 cores")
    assert "2 cores, 2030-01-01 to 2030-01-03, 2 commits: 1 of 4 tests passed" in page
    assert page.index("`b`") < page.index("`c`") < page.index("`a`") < page.index("`d`")
    again = nightly.table_of(page)
    assert again["a"].seconds == 1234 and again["b"].result == "failed" and "d" not in again
    assert (again["a"].commit, again["a"].date) == ("abc", "2030-01-01")
    assert again["c"].result == "stopped at the hour"


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A build tree with four tests, three of which are slow."""
    (tmp_path / "CTestTestfile.cmake").write_text(
        "add_test(good sh -c \"echo 3 of 3\")\nadd_test(bad sh -c \"echo wrong; exit 1\")\n"
        "add_test(endless sleep 100)\nadd_test(quick true)\n"
        "set_tests_properties(good bad endless PROPERTIES LABELS slow)\n")  # fmt: skip
    monkeypatch.setattr(nightly, "RESULTS", tmp_path / "nightly")
    monkeypatch.setattr(nightly, "PAGE", tmp_path / "page.md")
    return str(tmp_path)


def test_a_shard_runs_its_tests_and_stops_at_its_end(build, monkeypatch):
    assert sorted(nightly.slow_tests(build)) == ["bad", "endless", "good"]
    monkeypatch.setattr(nightly, "HOUR", 3)
    assert [o.result for o in nightly.run_shard(build, "1/2", ["bad", "endless"], "abc")] == ["failed", "stopped at the hour"]
    assert [o.result for o in nightly.run_shard(build, "2/2", ["good"], "abc")] == ["passed"]
    outcomes = nightly.kept()
    assert {test: o.result for test, o in outcomes.items()} == {"bad": "failed", "endless": "stopped at the hour", "good": "passed"}
    assert outcomes["good"].figures == "3 of 3" and outcomes["bad"].figures == "wrong"
    assert outcomes["good"].commit == "abc"
    nightly.write_page(["good", "bad", "endless", "other"])
    page = nightly.PAGE.read_text()
    assert "| `other` | not run |" in page and "1 of 4 tests passed" in page
    # A row stays until its test runs again, and what ran longest ago comes first.
    for shard in nightly.RESULTS.glob("*.json"):
        shard.unlink()
    nightly.run_shard(build, "1/1", ["good"], "def")
    nightly.write_page(["good", "bad", "endless", "other"])
    assert {test: o.commit for test, o in nightly.kept().items()} == {"good": "def", "bad": "abc", "endless": "abc"}
    assert nightly.PAGE.read_text().count("`abc`") == 2


def test_what_ran_longest_ago_comes_first():
    before = {"a": nightly.Outcome("a", "passed", 100, "", "x", "2030-01-02"), "b": nightly.Outcome("b", "passed", 50, "", "x", "2030-01-01")}
    expected = {"a": 100, "b": 50, "new": 30, "long": 900}
    assert nightly.oldest_first(expected, before) == ["new", "long", "b", "a"]


def test_tests_are_begun_until_the_minutes_are_over(build):
    known = {"bad": 100, "good": 0.1}
    assert [o.test for o in nightly.run_for(build, 0.05, ["bad", "good"], "abc", known)] == ["good"], "'bad' took longer than is left"
    assert [o.test for o in nightly.run_for(build, 0.05, ["bad", "good"], "abc", {})] == ["bad", "good"]
    assert nightly.run_for(build, 0, ["bad", "good"], "abc", {}) == []


def test_a_test_that_does_not_exist_is_a_failure(build):
    nightly.RESULTS.mkdir()
    assert nightly.run_test(build, "nothing", 10).result == "failed"


@pytest.mark.parametrize("shard", ["0/3", "4/3", "x", "1"])
def test_a_wrong_shard_is_refused_in_words(shard):
    run = subprocess.run([tree.ROOT / ".ci/nightly", shard, "--list"], capture_output=True, text=True)
    assert run.returncode == 2 and "a shard is K/N with K from 1 to N" in run.stderr
