"""tools/setup: complete after an interruption, safe to run twice at once, instant when there is nothing to do."""

import shutil
import subprocess

import pytest
import tree


@pytest.fixture
def setup(tmp_path):
    """Starts a copy of tools/setup beside an empty requirements.txt, with a cache of its own."""
    (tmp_path / "tools").mkdir()
    shutil.copy(tree.ROOT / "tools/setup", tmp_path / "tools/setup")
    (tmp_path / "requirements.txt").write_text("")

    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def start(*arguments):
        return subprocess.Popen(
            [tmp_path / "tools/setup", *arguments], env={**environment, "HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return start


def test_two_at_once_finish_what_was_interrupted(setup, tmp_path):
    before = setup("--print-python")
    assert "run tools/setup" in before.communicate()[1] and before.returncode == 1

    # The hash of the empty file names the environment; leave half of one there.
    half = tmp_path / "cache/tilewright/venv-e3b0c44298fc"
    (half / "bin").mkdir(parents=True)
    (half / "bin/python").write_text("not a program")

    both = [setup("--python-only"), setup("--python-only")]
    assert [(run.communicate()[1], run.returncode) for run in both] == [("", 0), ("", 0)]

    python = setup("--print-python").communicate()[0].strip()
    assert python == str(half / "bin/python")
    subprocess.run([python, "-m", "pip", "--version"], check=True, capture_output=True)


def test_unknown_argument_points_to_help(setup):
    run = setup("--prnt-python")
    assert "see tools/setup --help" in run.communicate()[1]
    assert run.returncode == 2
