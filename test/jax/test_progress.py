"""Rewriting terminates: every rewrite of simplify makes progress by the measure of its rule (tilewright/transform/simplify/Rules.def).

The subjects are the JAX programs of programs/ and the texts of the lit tests. All programs go through one tilewright-opt, which measures
the function before and after each rewrite.

pytest test/jax/test_progress.py --shard 1/4          every fourth program
"""

import os
import pathlib
import re
import subprocess

import artifacts  # noqa: F401 (settings of jax)
import catalog
import jax
import pytest
from jax import export

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev"))
PROGRAMS = catalog.load()
OPTIONS = [(), ("max-fold-elements=0",)]


def check(folder, texts, options):
    """Fails with the rule and the measures if a rewrite of one of the texts makes no progress."""
    path = folder / "all.mlir"
    path.write_text("\n// -----\n".join(texts))
    pipeline = f"--simplify={' '.join(('check-progress=true', *options))}"
    done = subprocess.run(
        [BUILD / "bin/tilewright-opt", path, pipeline, "--split-input-file", "--allow-unregistered-dialect"],
        capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    # The corpus also contains texts that simplify rejects for other reasons.
    found = re.findall(r"error: (E2003 .*)", done.stderr)
    assert not found, "\n".join(found)
    assert len(done.stdout) > 1000, done.stderr[-2000:]


def exported(name, folder):
    program = PROGRAMS[name]
    with jax.enable_x64(program.x64):
        made = export.export(jax.jit(program.function), platforms=[program.platform])(
            *artifacts._specs(program, program.arguments())
        )
    (folder / f"{name}.mlirbc").write_bytes(made.mlir_module_serialized)
    done = subprocess.run([BUILD / "bin/tilewright", "print", folder / f"{name}.mlirbc"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("options", OPTIONS)
def test_programs_of_lit(tmp_path, options):
    files = sorted((ROOT / "test/lit/transform/simplify").glob("*.mlir")) + sorted((ROOT / "test/exec").glob("*/*.mlir"))
    texts = [file.read_text() for file in files + sorted((ROOT / "docs/examples").glob("*.mlir"))]
    assert len(texts) >= 15
    check(tmp_path, texts, options)


@pytest.mark.parametrize("subject", sorted({program.function.__module__ for program in PROGRAMS.values()}))
def test_programs_of_jax(tmp_path, subject):
    names = [name for name, program in PROGRAMS.items() if program.function.__module__ == subject]
    texts = [exported(name, tmp_path) for name in names]
    for options in OPTIONS:
        check(tmp_path, texts, options)
