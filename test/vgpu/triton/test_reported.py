"""What the checks rightly report of Triton's kernels is reported, and nothing else of them.

Run by itself: it starts the virtual GPU.
"""

import json
import os
import subprocess
import sys

TOOL = os.environ["TILEWRIGHT_VGPU_TOOL"]
HERE = os.path.dirname(__file__)


def test_f16_accumulators_are_unpacked_before_the_wait(tmp_path):
    """Triton 3.9 on Hopper; ptxas repairs it with a wait of its own (C7517), PTX has none."""
    report = tmp_path / "report.json"
    command = [TOOL, "run", "--chip=sm_90a", "--threads=1", "--check=all", f"--report={report}", "--quiet", "--", sys.executable,
               "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(HERE, "test_programs.py") + "::test_program",
               "--reported"]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    # The result is right, so pytest passes; the findings make it 1.
    assert ran.returncode == 1 and " passed" in ran.stdout and "failed" not in ran.stdout, ran.stdout + ran.stderr
    findings = json.loads(report.read_text())["findings"]
    assert findings
    for finding in findings:
        assert (finding["kernel"], finding["kind"]) == ("matmul_kernel", "register-in-flight"), finding
        assert "wgmma.wait_group" in finding["fix"]
