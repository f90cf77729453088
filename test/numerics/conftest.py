"""Options and fixtures of the numerics tests."""
import os
import secrets
import subprocess
from pathlib import Path

import numpy
import pytest


def pytest_addoption(parser):
    parser.addoption("--samples", type=int, default=1_000_000, help="random values for each pair of types")
    parser.addoption("--seed", type=int, default=None, help="repeat a run with the seed it printed")


def pytest_configure(config):
    if config.option.seed is None:
        config.option.seed = secrets.randbits(32)


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.write_line(f"numerics: --samples={config.option.samples} --seed={config.option.seed}")


@pytest.fixture
def random(request):
    """A random generator; its seed is printed at the end of the run."""
    return numpy.random.default_rng(request.config.option.seed)


class Numerics:
    """tilewright/numerics in a separate process; see NumericsPipe.cpp for the protocol."""

    def __init__(self):
        build = Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev"))
        self.process = subprocess.Popen(
            [build / "test/numerics/numerics-pipe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, command, *arrays, bytes_back):
        """Sends a command with its data and returns `bytes_back` bytes."""
        pipe = self.process.stdin
        pipe.write(command.encode() + b"\n")
        for array in arrays:
            pipe.write(numpy.ascontiguousarray(array).view(numpy.uint8).data)
        pipe.flush()
        data = self.process.stdout.read(bytes_back)
        assert len(data) == bytes_back, f"numerics-pipe ended during '{command}'"
        return numpy.frombuffer(data, numpy.uint8)

    def convert(self, source, values, target):
        """Converts `values`, an array whose bits are of type `source`, to the bits of `target`."""
        count = values.size
        back = self.call(f"convert {source.name} {target.name} {count}", values,
                         bytes_back=count * target.bits_dtype.itemsize)
        return back.view(target.bits_dtype)

    def saturate(self, values, target):
        back = self.call(f"saturate {target.name} {values.size}", values.astype(numpy.float64),
                         bytes_back=values.size * target.bits_dtype.itemsize)
        return back.view(target.bits_dtype)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0, "numerics-pipe failed; its message is on stderr"


@pytest.fixture(scope="session")
def numerics():
    server = Numerics()
    yield server
    server.close()
