"""The figures by which we judge the tree's shape, for one commit or working tree.

    python test/repository/figures.py            of this tree
    python test/repository/figures.py FOLDER     of another checkout

Folders with more than 40 source files, functions of more than 100 lines, exceptions to the include graph, the
includes of targets by other folders, and lines of tests for each line of code. clang-format's indentation tells where a function begins and ends.
"""

import collections
import pathlib
import re
import subprocess
import sys

SOURCES = (".h", ".cpp", ".def", ".td")
IS_TEST = re.compile(r"Test\.cpp$|(^|/)[Tt]est|/conformance/")
# The line before the first one of a statement.
ENDS_BEFORE = re.compile(r"[;{}]\s*(//.*)?$|^\s*$|^\s*(//|#|public:|private:|protected:)")
# Statements that open a brace and are not functions.
NOT_A_FUNCTION = re.compile(r"^\s*(namespace|class|struct|enum|union|extern|if|for|while|switch|else|do|try|case|default|#|\}|//)\b|=\s*\{$|\bdefine\b")


def long_functions(text, limit=100):
    """(first line, number of lines) of each function with more than `limit` lines."""
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.endswith("{"):
            continue
        first = number
        while first > 0 and not ENDS_BEFORE.search(lines[first - 1]):
            first -= 1
        indent = len(lines[first]) - len(lines[first].lstrip())
        # Deeper than a method of a class, it is a lambda or a block.
        if indent > 2 or "(" not in "".join(lines[first : number + 1]) or NOT_A_FUNCTION.search(lines[first]):
            continue
        end = number + 1
        while end < len(lines) and not re.match(rf" {{{indent}}}\}}", lines[end]):
            end += 1
        if end - first + 1 > limit:
            found.append((first + 1, end - first + 1))
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2])
    names = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    texts = {name: (root / name).read_text(errors="replace") for name in names if name.endswith((*SOURCES, ".py")) and (root / name).is_file()}
    ours = {name: text for name, text in texts.items() if name.startswith(("tilewright/", "tools/"))}

    folders = collections.Counter(name.rsplit("/", 1)[0] for name in ours if name.endswith(SOURCES))
    large = {folder: count for folder, count in folders.most_common() if count > 40}
    print(f"folders with more than 40 files: {len(large)}")
    for folder, count in large.items():
        print(f"    {count:3} {folder}")

    long = [(lines, name, first) for name, text in ours.items() if name.endswith(".cpp") for first, lines in long_functions(text)]
    production = [entry for entry in long if not IS_TEST.search(entry[1])]
    print(f"functions of more than 100 lines: {len(production)}, and {len(long) - len(production)} in tests")
    for lines, name, first in sorted(production, reverse=True):
        print(f"    {lines:3} {name}:{first}")

    graph = texts.get("test/repository/include_graph.py", "")
    grants = re.search(r"^GRANTS = \{(.*?)^\}", graph, re.MULTILINE | re.DOTALL)
    granted = re.findall(r"^    \S+: \(", grants[1], re.MULTILINE) if grants else []
    print(f"exceptions to the include graph: {len(granted)}")

    chips = [name for name, text in ours.items() if not name.startswith("tilewright/target/") and re.search(r"tilewright/target/(cpu|nvptx)/", text) and not IS_TEST.search(name)]
    print(f"files outside of target/ that include one target: {len(chips)}")

    tests = sum(text.count("\n") for name, text in texts.items() if IS_TEST.search(name) and name.endswith((".cpp", ".h", ".py")))
    code = sum(text.count("\n") for name, text in texts.items() if not IS_TEST.search(name) and not name.startswith("bench/"))
    # Programs with CHECK lines; those of test/exec, and PTX from other compilers, are data.
    lit = sum((root / name).read_text(errors="replace").count("\n") for name in names if name.startswith("test/lit/") and name.endswith(".mlir"))
    print(f"tests : code: {tests + lit} : {code} lines, {(tests + lit) / code:.2f}; without lit tests {tests / code:.2f}")


if __name__ == "__main__":
    main()
