"""The findings that the checks rightly report on Triton's kernels are reported, and no others.

Run by itself: it starts the virtual GPU.
"""

import json
import os
import subprocess
import sys

TOOL = os.environ["TILEWRIGHT_VGPU_TOOL"]
HERE = os.path.dirname(__file__)


def test_f16_accumulators_are_unpacked_before_the_wait(tmp_path):
    """Triton 3.9 on Hopper: ptxas inserts the missing wait (C7517), PTX has none."""
    report = tmp_path / "report.json"
    command = [TOOL, "run", "--chip=sm_90a", "--threads=1", "--check=all", f"--report={report}", "--quiet", "--", sys.executable,
               "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(HERE, "test_programs.py") + "::test_program",
               "--reported"]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600)
    # The result is right: only the findings make the test fail, which they do only if nothing else has failed.
    assert ran.returncode == 1 and "FindingsError" in ran.stdout, ran.stdout + ran.stderr
    findings = json.loads(report.read_text())["findings"]
    assert findings
    for finding in findings:
        assert (finding["kernel"], finding["kind"]) == ("matmul_kernel", "register-in-flight"), finding
        assert "wgmma.wait_group" in finding["fix"]
