"""`tilewright comm` on files that are missing, damaged or foreign. test_hang.py has jobs that hang."""

from conftest import tilewright


def test_where_there_is_nothing(tmp_path):
    for what in (["explain"], ["timeline", f"--output={tmp_path}/t.json"]):
        assert "E6052" in tilewright("comm", *what, tmp_path, code=3)
    assert "does not exist" in tilewright("comm", "explain", tmp_path / "none", code=3)
    assert not (tmp_path / "t.json").exists()


def test_what_is_no_recording(tmp_path):
    (tmp_path / "x.flight").write_bytes(b"TWFLIGHT" + bytes(100))
    text = tilewright("comm", "explain", tmp_path, code=3)
    assert "E6050" in text and "x.flight has 108 bytes" in text


def test_wrong_use(tmp_path):
    assert "did you mean 'explain'?" in tilewright("comm", "expalin", code=2)
    assert "--output" in tilewright("comm", "timeline", tmp_path, code=2)
    assert "--patience expects a number of seconds" in tilewright("comm", "explain", tmp_path, "--patience=long", code=2)
    assert "tilewright comm explain" in tilewright("comm", "--help")
