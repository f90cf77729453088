"""How far correct results of a program may be from the evaluator's: `program-bounds` computes it from the terms of each sum."""

import os
import pathlib
import subprocess

import numpy as np

TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")) / "test/gpu/program-bounds"


def of_cases(made, folder, *options):
    """Bounds of each result, by the name of the case; the tool's output if it failed. evaluator.py has written the files of the cases."""
    lines = [" ".join([str(case.artifact_file(folder)), *(str(folder / f"{case.name}.in{i}.npy") for i in range(len(case.inputs))),
                       "->", str(folder / f"{case.name}.within")]) for case in made]  # fmt: skip
    manifest = folder / "bounds.txt"
    manifest.write_text("\n".join(lines) + "\n")
    ended = subprocess.run([TOOL, manifest, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    result = {}
    for case in made:
        files = [folder / f"{case.name}.within{i}.bound.npy" for i in range(len(case.expected))]
        result[case.name] = [np.load(file) for file in files] if all(file.exists() for file in files) else (ended.stdout + ended.stderr)[-2000:]
    return result


def difference(actual, expected, bounds):
    """Why one result is wrong, in words, or None."""
    a, e = (x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (actual, expected))
    known = np.isfinite(bounds)
    apart = np.abs(a - e)
    right = ~known | (a == e) | (np.isnan(a) & np.isnan(e)) | (apart <= bounds)
    if np.all(right):
        return None
    worst = np.unravel_index(np.argmax(np.where(right, -np.inf, np.where(np.isnan(apart), np.inf, apart - bounds))), e.shape)
    return f"at {worst}: {actual[worst]} and not {expected[worst]}, {apart[worst]:.3g} apart, allowed {bounds[worst]:.3g}; {np.sum(~right)} of {e.size} wrong"
