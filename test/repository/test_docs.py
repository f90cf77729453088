"""What the pages say is so: links lead somewhere, names exist, marked commands run.

Fenced blocks whose info string is `sh run` are executed from the root, those of
one page one after the other in one folder. `tilewright` and `python` are those of a
fresh environment into which the wheel was installed; `build/dev` stands for the build
under test, for pages that are about the source. Places in a page's samples, such as
`smooth.py:24`, must be in what its commands print. In any other `sh` block the files and presets that it names
must exist; on docs/getting-started.md, its commands are those of .ci/run. A block whose info string is `cpp of FILE`
is an excerpt of that file.
"""

import json
import re
import shlex
import subprocess
import sys

import pytest
import tree

sys.path.insert(0, str(tree.ROOT / "test/wheel"))
import installation  # noqa: E402

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(sh[^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXCERPT = re.compile(r"^ *```(?:cpp|py) of (\S+)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)
PAGES = tree.files(".md")


def blocks():
    """Every fenced sh block of every page, named page:line."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield pytest.param(match[1].strip(), match[2], id=f"{tree.name(page)}:{line}")


BLOCKS = list(blocks())


def anchor(heading):
    """The fragment that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=tree.name)
def test_relative_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"dead link {link}"
        if fragment and target.suffix == ".md":
            anchors = [anchor(heading) for heading in HEADING.findall(target.read_text(encoding="utf-8"))]
            assert fragment in anchors, f"{link}: no such heading"


def test_excerpts_are_in_their_files():
    squeeze = " ".join
    found = 0
    for page in PAGES:
        for file, excerpt in EXCERPT.findall(page.read_text(encoding="utf-8")):
            source = squeeze((tree.ROOT / file).read_text(encoding="utf-8").split())
            assert squeeze(excerpt.split()) in source, f"{tree.name(page)}: this is not in {file}:\n{excerpt}"
            found += 1
    assert found


def commands(body):
    """The commands of a block, continuation lines joined, comments dropped."""
    for line in body.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield words


@pytest.mark.parametrize("info, body", BLOCKS)
def test_commands_name_what_exists(info, body):
    presets = json.loads((tree.ROOT / "CMakePresets.json").read_text())
    names = {preset["name"] for preset in presets["configurePresets"]}
    for words in commands(body):
        for before, word in zip([""] + words, words):
            if before == "--preset":
                assert word in names, f"no preset is called {word}"
            # A path into the tree; what is under build/ comes from the build.
            top = word.split("/")[0]
            if "/" in word and top != "build" and re.fullmatch(r"[\w./-]+", word) and (tree.ROOT / top).is_dir():
                assert (tree.ROOT / word).exists(), f"{word} does not exist"


def runnable(page):
    return [match[2] for match in BLOCK.finditer(page.read_text(encoding="utf-8")) if match[1].strip() == "sh run"]


def samples(page):
    """Places, as file:line, in the indented blocks of a page: what a command printed when it was written."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    lines = "\n".join(line for line in text.splitlines() if line.startswith("    "))
    return set(re.findall(r"[\w./-]+\.(?:py|mlir):\d+(?::\d+)?", lines))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    return installation.environment(installation.install(folder, installation.wheel_of_build(folder)))


@pytest.mark.parametrize("page", [page for page in PAGES if runnable(page)], ids=tree.name)
def test_marked_commands_run(page, tmp_path, installed):
    # A tree of links, so that what a command writes does not land in the source.
    for entry in tree.ROOT.iterdir():
        if entry.name != "build":
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "build").mkdir()
    (tmp_path / "build/dev").symlink_to(installation.BUILD)
    printed = ""
    for body in runnable(page):
        run = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", body],
            cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, env=installed,
        )  # fmt: skip
        assert run.returncode == 0, f"{body}\n{run.stdout}\n{run.stderr}"
        printed += run.stdout + run.stderr
    for place in sorted(samples(page)):
        assert place in printed, f"the page shows {place}, and its commands printed\n{printed}"


def test_getting_started_builds_as_ci_does():
    """What is too long to run again here, .ci/run has run before."""
    page = (tree.ROOT / "docs/getting-started.md").read_text(encoding="utf-8")
    steps = (tree.ROOT / ".ci/run").read_text()
    for match in BLOCK.finditer(page):
        if match[1].strip() != "sh run":
            for words in commands(match[2]):
                known = {
                    "tools/setup": "phase setup tools/setup",
                    "cmake --preset dev": 'phase "configure dev" configure dev',
                    "cmake --build --preset dev": 'phase "build dev" build dev',
                }
                assert known[" ".join(words)] in steps


def test_the_map_shows_what_is_here_and_what_is_planned():
    text = (tree.ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`tilewright/.*?) \|.*\| (here|planned) \|$", text, re.MULTILINE)
    states = {folder: state for cell, state in rows for folder in re.findall(r"`(tilewright/[\w/-]+)/`", cell)}
    sources = {tree.name(path.parent) for path in tree.files(".h", ".cpp", ".td")}
    for folder, state in states.items():
        here = any(f"{name}/".startswith(f"{folder}/") for name in sources)
        assert state == ("here" if here else "planned"), folder
    top = {"/".join(name.split("/")[:2]) for name in sources if name.startswith("tilewright/")}
    assert top <= set(states)
