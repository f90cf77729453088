"""Products beside collectives that are sent in pieces, on virtual GPUs, with the values of whole collectives.

    pytest test/gpu/test_pieces.py -k 2
"""

import pytest
from test_collectives import ROOT, start

SCRIPT = ROOT / "test/jax/plugin/pieces.py"


@pytest.mark.parametrize("devices", [2, 4])
def test_pieces(devices, tmp_path):
    script = tmp_path / "run.py"
    script.write_text(f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r}); import pieces; print('well', pieces.check_all({devices}))")
    out, error = start("tilewright", devices, script=script, TILEWRIGHT_COMPILE_REMARKS="communicate").communicate(timeout=600)
    assert "well 12" in out, error[-4000:]
    assert error.count("is sent in") >= 13, "two collectives of mlp and one of the others are sent in pieces"
