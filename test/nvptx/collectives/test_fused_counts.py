"""The all_gather fused with a product reads each row that arrives once, counted on virtual GPUs."""

import json
import os
import pathlib
import re
import subprocess

import pytest

BUILD = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", "build/dev")).resolve()
RANKS, POINTS, ROWS, COLUMNS = 4, 2, 32, 32
# Rows are read by whole vectors; elements of the right operand, parameters and words of flags are not.
ROW_LOADS = re.compile(r"\bld\.global\.v4\.b32")


@pytest.mark.parametrize("depth", [64, 128])
def test_each_row_is_read_once(tmp_path, depth):
    runner = BUILD / "test/nvptx/collectives/CollectiveRunner"
    environment = dict(
        os.environ,
        TILEWRIGHT_VGPU_CHIP="sm_90a",
        TILEWRIGHT_VGPU_DEVICES=str(RANKS),
        TILEWRIGHT_VGPU_CHECK="count",
        TILEWRIGHT_VGPU_COUNTS=str(tmp_path),
        TILEWRIGHT_VGPU_ORDER="eager",
        TILEWRIGHT_VGPU_TIMEOUT="300",
    )
    sizes = map(str, (ROWS, depth, COLUMNS, RANKS, POINTS))
    done = subprocess.run([runner, "all_gather_product", *sizes], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    read = 0
    for path in tmp_path.rglob("*.counts.json"):
        report = json.loads(path.read_text(encoding="utf-8"))
        if report.get("kernel") == "copy":
            continue
        for line in report["lines"]:
            text = lines[line["line"] - 1] if not line["file"] and line["line"] <= len(lines) else ""
            if ROW_LOADS.search(text):
                read += line["global_read_bytes"]
    own = POINTS * ROWS * depth * 2
    arriving = (RANKS - 1) * own
    assert read == RANKS * (own + arriving)
