"""Follows docs/how-to/first-day.md literally in a checkout: every edit where its sentence says, every command in order.

    python test/repository/first_day.py FOLDER             edits and commands
    python test/repository/first_day.py FOLDER --edits     only the edits

An instruction is a sentence of one of these forms, with its block below it:

    In `FILE`, below `TEXT`:        the block goes below the only line with that text; `above` likewise
    In `FILE`, delete `TEXT`.       the only line with that text goes
    In `FILE`, replace `A` by `B`.  `A` is in only one line
    A new file `FILE`:              the block is its content

and each block of `sh` is executed. The table at the end of the output has the seconds of each block: of the clock, and of the processors.
"""
import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

PAGE = "docs/how-to/first-day.md"
STEP = re.compile(
    r"^In `(?P<file>[^`]+)`, (?P<where>below|above) `(?P<text>[^`\n]+)`:\n\n```\w+\n(?P<lines>.*?)^```$"
    r"|^In `(?P<cut_file>[^`]+)`, (?:delete `(?P<cut>[^`\n]+)`|replace `(?P<old>[^`\n]+)` by `(?P<new_text>[^`\n]+)`)\.$"
    r"|^A new file `(?P<new>[^`]+)`:\n\n```\w+\n(?P<content>.*?)^```$"
    r"|^```sh\n(?P<commands>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclasses.dataclass
class Step:
    line: int  # of the page
    match: re.Match

    def is_command(self):
        return self.match["commands"] is not None


def steps(page):
    """All steps of the page's text. Every block belongs to one."""
    # A block of Markdown or TableGen may have a block of its own, indented.
    found = [Step(page.count("\n", 0, match.start()) + 1, match) for match in STEP.finditer(page)]
    fences = len(re.findall(r"^```", page, re.MULTILINE))
    blocks = sum(step.match["cut_file"] is None for step in found)
    assert fences == 2 * blocks, f"{PAGE} has {fences // 2} blocks, and {blocks} of them belong to an instruction"
    return found


def only_line(lines, text, place):
    numbers = [number for number, line in enumerate(lines) if text in line]
    assert len(numbers) == 1, f"{place}: {len(numbers)} lines contain {text}, instead of one"
    return numbers[0]


def edit(root, step):
    """Changes the file that an instruction names."""
    match = step.match
    place = f"{PAGE}:{step.line}"
    if match["new"]:
        path = root / match["new"]
        assert not path.exists(), f"{place}: {match['new']} exists already"
        path.write_text(match["content"], encoding="utf-8")
        return
    path = root / (match["file"] or match["cut_file"])
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    number = only_line(lines, match["text"] or match["cut"] or match["old"], place)
    if match["cut"]:
        del lines[number]
    elif match["old"]:
        lines[number] = lines[number].replace(match["old"], match["new_text"])
    else:
        number += match["where"] == "below"
        lines[number:number] = [match["lines"]]
    path.write_text("".join(lines), encoding="utf-8")


def run(root, step):
    """Runs a block; returns its seconds of the clock and of the processors."""
    before = os.times()
    subprocess.run(["bash", "-euo", "pipefail", "-c", step.match["commands"]], cwd=root, stdin=subprocess.DEVNULL, check=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return after.elapsed - before.elapsed, used


def follow(root, only_edits=False):
    began = time.monotonic()
    table = []
    for step in steps((root / PAGE).read_text(encoding="utf-8")):
        if not step.is_command():
            edit(root, step)
        elif not only_edits:
            print(f"\n=== {PAGE}:{step.line}", flush=True)
            table.append((step.line, *run(root, step)))
    for line, clock, processors in table:
        print(f"{PAGE}:{line}: {clock:7.1f} s, {processors:7.1f} s of processors")
    if table:
        print(f"together {time.monotonic() - began:.1f} s, {sum(row[2] for row in table):.1f} s of processors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--edits", action="store_true", help="leave the commands out")
    arguments = parser.parse_args()
    try:
        follow(arguments.folder.resolve(), arguments.edits)
    except (AssertionError, subprocess.CalledProcessError) as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
