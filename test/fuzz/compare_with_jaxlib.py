"""Sends the same damaged artifacts through our reader and through jaxlib's, and
counts how many end in the death or the silence of the process.

    python test/fuzz/compare_with_jaxlib.py BUILD_DIR [--files=2000] [--seed=1] [--seconds=10] [FOLDER…]

Each file is one process for each reader, so that one death hides no other.
jaxlib's processes are forked from one that has already loaded it.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("folders", nargs="*", type=Path, default=[Path(__file__).parent / "corpus"])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10, help="longer than this counts as a hang")
    return parser.parse_args()


def in_child(work, seconds):
    """Runs `work` in a forked process: 'read', 'refused', 'hang' or the signal that killed it."""
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            work()
            os._exit(0)
        except BaseException:
            os._exit(1)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return signal.Signals(os.WTERMSIG(status)).name
            return "read" if os.WEXITSTATUS(status) == 0 else "refused"
        time.sleep(0.0005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hang"


def with_jaxlib():
    from jax._src.interpreters import mlir
    from jaxlib.mlir.dialects import stablehlo

    def read(path):
        with mlir.make_ir_context() as context:
            stablehlo.deserialize_portable_artifact(context, path.read_bytes())

    return read


def with_ours(tool):
    def read(path):
        result = subprocess.run([tool, "--sum", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if result.returncode < 0:
            os.kill(os.getpid(), -result.returncode)
        if b" import: " in result.stdout:
            raise ValueError("refused")

    return read


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        driver = options.build / "test/fuzz/ReadDriver"
        command = [driver, f"--write={folder}", f"--runs={options.files}", f"--seed={options.seed}", *options.folders]
        subprocess.run(command, check=True)
        files = sorted(Path(folder).iterdir())
        readers = {"tilewright": with_ours(options.build / "test/import/ArtifactTables"), "jaxlib": with_jaxlib()}
        for name, read in readers.items():
            start = time.monotonic()
            ends = Counter(in_child(lambda: read(file), options.seconds) for file in files)
            deaths = sum(count for end, count in ends.items() if end.startswith("SIG"))
            print(
                f"{name}: {len(files)} files, {ends['read']} read, {ends['refused']} refused, {deaths} deaths, "
                f"{ends['hang']} hangs, {time.monotonic() - start:.0f} s  {dict(ends)}"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
