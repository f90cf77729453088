"""Our side of the comparison: many artifacts through one `tilewright run --batch`."""

import os
import pathlib
import subprocess

import numpy as np

TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "bin/tilewright"


def evaluate(cases, folder, *options, log=None):
    """The outputs of each case, by name; the tool's output instead if it failed. Evaluates, unless `options` select another way to run.

    Appends what the tool prints, such as remarks, to the list `log`."""
    for case in cases:
        case.artifact_file(folder).write_bytes(case.artifact)
        for index, array in enumerate(case.inputs):
            np.save(folder / f"{case.name}.in{index}.npy", _raw(array))
    for ranks in sorted({case.ranks for case in cases}):
        manifest = folder / f"manifest-{ranks}.txt"
        lines = [" ".join(_arguments(case, folder)) for case in cases if case.ranks == ranks]
        manifest.write_text("\n".join(lines) + "\n")
        done = _run(f"--partitions={ranks}", f"--batch={manifest}", *options)
        if log is not None:
            log.append(done.stdout + done.stderr)
    return {case.name: _outputs(case, folder, options) for case in cases}


def _arguments(case, folder):
    """One line of a batch: artifact inputs -> prefix of the outputs."""
    inputs = [str(folder / f"{case.name}.in{i}.npy") for i in range(len(case.inputs))]
    return [str(case.artifact_file(folder)), *inputs, "->", str(folder / f"{case.name}.out")]


def _outputs(case, folder, options):
    # Every rank has the replicated result; all ranks must agree.
    ranks = [f"rank{rank}-" for rank in range(case.ranks)] if case.ranks > 1 else [""]
    files = [folder / f"{case.name}.out{rank}{i}.npy" for rank in ranks for i in range(len(case.expected))]
    if not all(file.exists() for file in files):
        # Run it again alone, to get its own error message.
        artifact, *inputs, _, prefix = _arguments(case, folder)
        alone = _run(f"--partitions={case.ranks}", artifact, *(f"--input={i}" for i in inputs), f"--output={prefix}",
                     *options)  # fmt: skip
        if alone.returncode or not all(file.exists() for file in files):
            return (alone.stdout + alone.stderr)[-2000:] or f"no output, exit status {alone.returncode}"
    count = len(case.expected)
    for index, file in enumerate(files[count:], start=count):
        if file.read_bytes() != files[index % count].read_bytes():
            return f"{file.name} differs from {files[index % count].name}"
    return [_typed(np.load(file), expected.dtype) for file, expected in zip(files, case.expected)]


def _raw(array):
    """ml_dtypes saves its types as raw bytes, except f8E5M2: that as '<f1', which NumPy cannot read back."""
    return array.view("V1") if array.dtype.name == "float8_e5m2" else array


def _typed(array, dtype):
    """NumPy does not know ml_dtypes' types by name; they are raw bytes of the same size."""
    return array.view(dtype) if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize else array


def _run(*arguments):
    return subprocess.run([TOOL, "run", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
