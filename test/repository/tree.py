"""The files of the repository, for the tests that read them."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files(*suffixes):
    """Every file under version control (plus new ones not ignored), optionally only with these suffixes.

    A source archive has no .git; there, every file outside build/ counts.
    """
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode == 0:
        found = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        found = [p for p in ROOT.rglob("*") if p.is_file() and p.relative_to(ROOT).parts[0] != "build"]
    return sorted(p for p in found if p.is_file() and (not suffixes or p.suffix in suffixes))


def name(path):
    """The path as a person would type it from the root."""
    return path.relative_to(ROOT).as_posix()
