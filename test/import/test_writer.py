"""Artifacts that write() makes can be read: with our reader they give the same tables, with jaxlib the same program."""

import os
import subprocess
from pathlib import Path

import pytest

BUILD = Path(os.environ["TILEWRIGHT_BUILD_DIR"])
CONFORMANCE = Path(os.environ["TILEWRIGHT_CONFORMANCE_DIR"])
CORPUS = sorted((Path(__file__).parent.parent / "fuzz/corpus").glob("*.mlirbc"))
TOOL = BUILD / "test/import/ArtifactTables"


def verdicts(files):
    """The tool's line for each file: whether reading the written artifact gives the same tables."""
    lines = []
    for first in range(0, len(files), 500):
        run = [TOOL, "--again", *files[first : first + 500]]
        lines += subprocess.run(run, check=True, capture_output=True, text=True).stdout.splitlines()
    return lines


@pytest.mark.parametrize("folder, count", [("compat", 33), ("stablehlo", 2713)])
def test_conformance_data_reads_back(folder, count):
    files = sorted((CONFORMANCE / folder).glob("*.mlir*bc"))
    if not files:
        pytest.skip(f"no conformance data in {CONFORMANCE}; set -DTILEWRIGHT_CONFORMANCE_DIR")
    assert verdicts(files) == [f"{file} same" for file in files]
    assert len(files) == count


def test_corpus_reads_back():
    assert CORPUS
    assert verdicts(CORPUS) == [f"{file} same" for file in CORPUS]


def test_jaxlib_reads_the_same_program(tmp_path):
    mlir = pytest.importorskip("jax._src.interpreters.mlir")
    stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")

    def text(artifact):
        with mlir.make_ir_context() as context:
            module = stablehlo.deserialize_portable_artifact(context, artifact)
            return module.operation.get_asm(enable_debug_info=True)

    for file in CORPUS:
        written = tmp_path / file.name
        subprocess.run([TOOL, "--write", file, written], check=True)
        assert text(written.read_bytes()) == text(file.read_bytes()), file.name
