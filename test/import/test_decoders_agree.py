"""Two decoders that share no code see the same tables in every artifact."""

import os
import subprocess
import zlib
from pathlib import Path

import pytest

import decode

CONFORMANCE = Path(os.environ["TILEWRIGHT_CONFORMANCE_DIR"])
TOOL = Path(os.environ["TILEWRIGHT_BUILD_DIR"], "test/import/ArtifactTables")


def text_of(path):
    return ("\n".join(decode.tables(path.read_bytes())) + "\n").encode()



def compare(files):
    seen = {}
    for first in range(0, len(files), 500):
        batch = files[first : first + 500]
        output = subprocess.run([TOOL, "--sum", *batch], check=True, capture_output=True, text=True).stdout
        for line in output.splitlines():
            name, _, rest = line.partition(" ")
            seen[name] = rest.split(" ")[0]
    operations = 0
    for file in files:
        text = text_of(file)
        operations += sum(1 for line in text.splitlines() if b" loc " in line)
        if seen[str(file)] != f"{len(text)}:{zlib.crc32(text):08x}":
            ours = subprocess.run([TOOL, file], check=True, capture_output=True).stdout
            assert ours.decode() == text.decode(), file
    return operations


@pytest.mark.parametrize("folder, count", [("compat", 33), ("stablehlo", 2713)])
def test_conformance_data(folder, count):
    files = sorted((CONFORMANCE / folder).glob("*.mlir*bc"))
    if not files:
        pytest.skip(f"no conformance data in {CONFORMANCE}; set -DTILEWRIGHT_CONFORMANCE_DIR")
    assert len(files) == count
    operations = compare(files)
    print(f"{len(files)} artifacts, {operations} operations")


def test_corpus():
    files = sorted((Path(__file__).parent.parent / "fuzz/corpus").glob("*.mlirbc"))
    assert files
    compare(files)
