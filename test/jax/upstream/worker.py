"""Runs tests of one of JAX's test files, one after the other, as it is told: run.py starts these.

    python worker.py FOLDER FILE        FOLDER/FILE.py; the environment says for which backend

First says the names of all tests as one line of JSON on descriptor 3, then reads names from standard input, a line
each, and answers each with a line of JSON on descriptor 3: outcome and message. What tests print goes elsewhere. It
keeps what JAX needs seconds to load; when a test ends the process or never ends, run.py starts another one.
"""
import gc
import importlib
import json
import os
import sys
import traceback
import unittest


class Outcome(unittest.TestResult):
    """What became of one test: the first that went wrong counts."""

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
            # Not its id(): absl puts the arguments into that.
            yield f"{type(test).__name__}.{test._testMethodName}"


def main():
    folder, file = sys.argv[1:]
    sys.argv = [file]
    sys.path.insert(0, folder)
    # absl's tests put their settings on when the file's main() runs, which it does not here.
    if "tilewright" in os.environ["JAX_PLATFORMS"]:
        from tilewright import jax_plugin

        jax_plugin.initialize()
    module = importlib.import_module(file)
    loader = unittest.TestLoader()
    with os.fdopen(3, "w") as answers:
        print(json.dumps(sorted(names_of(loader.loadTestsFromModule(module)))), file=answers, flush=True)
        for line in sys.stdin:
            outcome = Outcome()
            unittest.TestSuite([loader.loadTestsFromName(line.strip(), module)]).run(outcome)
            gc.collect()
            print(json.dumps([outcome.outcome, outcome.message]), file=answers, flush=True)


if __name__ == "__main__":
    main()
