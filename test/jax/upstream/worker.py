"""Runs tests of one of JAX's test files, one after the other, as it is told: run.py starts these.

    python worker.py FOLDER FILE        FOLDER/FILE.py; the environment says for which backend

First says the names of all tests as one line of JSON on descriptor 3, then reads names from standard input, a line
of JSON each, and answers each with a line of JSON on descriptor 3: outcome and message. What tests print goes elsewhere. It
keeps what JAX needs seconds to load; when a test ends the process or never ends, run.py starts another one.
"""
import gc
import glob
import importlib
import json
import os
import sys
import traceback
import types
import unittest


class Outcome(unittest.TestResult):
    """The outcome of one test: its first failure counts."""

    def __init__(self):
        super().__init__()
        self.outcome, self.message = "passed", ""

    def _is(self, outcome, message):
        if self.outcome in ("passed", "skipped"):
            self.outcome, self.message = outcome, message

    def _fails(self, error):
        text = "".join(traceback.format_exception(*error))
        self._is("failed", text if len(text) < 12000 else text[:2000] + "\n[…]\n" + text[-10000:])

    def addError(self, test, err):  # noqa: N802, as unittest calls it
        self._fails(err)

    def addFailure(self, test, err):  # noqa: N802
        self._fails(err)

    def addSubTest(self, test, subtest, err):  # noqa: N802
        if err is not None:
            self._fails(err)

    def addSkip(self, test, reason):  # noqa: N802
        self._is("skipped", reason)

    def addUnexpectedSuccess(self, test):  # noqa: N802
        self._is("failed", "passes, which it should not")


def names_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from names_of(test)
        else:
            # Not the test's id(): absl puts the arguments into that.
            yield f"{type(test).__name__}.{test._testMethodName}"


def replace_missing_helper():
    """Replaces a module that JAX's wheel lacks and some test files import, for hypothesis's settings only."""
    try:
        importlib.import_module("jax._src.hypothesis_test_util")
        return
    except ImportError:
        pass
    import hypothesis
    import jax._src

    def set_up(max_examples=30):
        hypothesis.settings.register_profile("fixed", database=None, derandomize=True, deadline=None, max_examples=max_examples,
                                             suppress_health_check=[hypothesis.HealthCheck.differing_executors])  # fmt: skip
        hypothesis.settings.load_profile("fixed")

    helper = types.ModuleType("jax._src.hypothesis_test_util")
    helper.setup_hypothesis, helper.hypothesis_is_thread_safe = set_up, lambda: True
    jax._src.hypothesis_test_util = sys.modules[helper.__name__] = helper


def fail_if_reported(outcome):
    """Findings of the virtual GPU do not fail a program: they are in a file, written as soon as there are some."""
    for path in glob.glob(os.environ.get("TILEWRIGHT_VGPU_REPORT", "/none/") + "*"):
        with open(path) as report:
            text = report.read()
        os.unlink(path)
        if "no findings" not in text:
            outcome._is("failed", "the virtual GPU reports:\n" + text[:8000])


def main():
    folder, file = sys.argv[1:]
    sys.argv = [file]
    sys.path.insert(0, folder)
    # absl's tests read their settings in the file's main(), which does not run here.
    if "tilewright" in os.environ["JAX_PLATFORMS"]:
        from tilewright import jax_plugin

        jax_plugin.initialize()
    replace_missing_helper()
    module = importlib.import_module(file)
    loader = unittest.TestLoader()
    with os.fdopen(3, "w") as answers:
        print(json.dumps(sorted(names_of(loader.loadTestsFromModule(module)))), file=answers, flush=True)
        for line in sys.stdin:
            outcome = Outcome()
            # Not with the loader's own method: names of tests contain dots (numpy.float64).
            kind, method = json.loads(line).split(".", 1)
            unittest.TestSuite([getattr(module, kind)(method)]).run(outcome)
            fail_if_reported(outcome)
            gc.collect()
            print(json.dumps([outcome.outcome, outcome.message]), file=answers, flush=True)


if __name__ == "__main__":
    main()
