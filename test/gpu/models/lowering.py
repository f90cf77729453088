"""Lowers a model as JAX would for a platform, compiles it for a chip, and lists what the compiler refuses."""

import collections
import os
import pathlib
import re
import subprocess
import time

import catalog
import jax
import numpy as np
from jax import export

ROOT = pathlib.Path(__file__).parents[3]
TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "bin/tilewright"
# `cuda` is what jax.export writes for GPUs, `cpu` what JAX lowers for the plugin, which reports that name (except for
# ragged_dot, which the plugin has as for `cuda`).
PLATFORMS = ("cuda", "cpu")
CHIPS = ("sm_80", "sm_90a")
# JAX exports calls of libraries only on request.
_LIBRARIES = [*(f"cusolver_{name}_ffi" for name in ("potrf", "geqrf", "orgqr", "syevd", "gesvdj", "getrf")), "cu_lu_pivots_to_permutation"]


def artifact(name, dtype, platform):
    """The model's step as a portable artifact, and the number of its ops."""
    model = catalog.MODELS[name](dtype)
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x), np.asarray(x).dtype), (model.state, *model.batch(0)))
    allowed = [export.DisabledSafetyCheck.custom_call(library) for library in _LIBRARIES]
    exported = export.export(jax.jit(model.step), platforms=[platform], disabled_checks=allowed)(*shapes)
    ops = len(re.findall(r"^\s+%.* = \"?(?:stablehlo|chlo)\.", exported.mlir_module(), re.MULTILINE))
    return exported.mlir_module_serialized, ops


def compile(program, folder, chip, *options):
    """The ops that the compiler refuses, counted by name, the seconds it took, and its output."""
    file = folder / "program.mlirbc"
    file.write_bytes(program)
    began = time.monotonic()
    ended = subprocess.run([TOOL, "compile", file, f"--target={chip}", f"--output={folder / 'program.twx'}", *options],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
    seconds = time.monotonic() - began
    refused = collections.Counter(refusals(ended.stderr))
    if ended.returncode and not refused:
        refused["failed: " + (ended.stderr.strip().splitlines() or ["no message"])[0]] += 1
    return refused, seconds, ended.stderr


def refusals(text):
    """The names of the refused ops: of the composite or custom call, where the op is one."""
    # Only the first error of a compilation has its number.
    line = r"^(?:E4070 target: )?'([\w.]+)'(?: \"([\w.]+)\"| @([\w.$]+))? is not supported on the GPU yet"
    for op, composite, call in re.findall(line, text, re.MULTILINE):
        yield composite or call or op.removeprefix("stablehlo.")


def describe(refused):
    return ", ".join(f"{name} {count}" for name, count in sorted(refused.items())) or "nothing"
