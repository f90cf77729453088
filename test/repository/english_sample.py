"""A random sample of comments and of messages, for a reader to judge one by one.

    python test/repository/english_sample.py comments 200 7    200 comment blocks of C++ files, chosen by seed 7
    python test/repository/english_sample.py messages 100 7    100 texts that people see, with the statement around each

The same tree and seed give the same sample. docs/reference/english-sample.md has the verdicts: fine, stilted (clear, but an engineer would not say it
so), or a riddle (must be read twice, or needs the code).
"""
import random
import re
import sys

import tree

# Calls that make a message: a status, a diagnostic, a refusal, or text put together for one.
SAYS = re.compile(r"\b(?:Status\(|emit\w*Error\(|fail\(|refuse\(|concat\(|notifyMatchFailure\(|foreign\()")
TEXT = re.compile(r'"((?:[^"\\]|\\.){12,})"')


def comments(path):
    """(line, text) of each block of comment lines."""
    block, first = [], 0
    for number, line in enumerate([*path.read_text(errors="replace").splitlines(), ""], 1):
        stripped = line.strip()
        if stripped.startswith("//"):
            first = first or number
            block.append(stripped.lstrip("/ ").rstrip())
        elif block:
            text = " ".join(block)
            if len(text.split()) >= 4 and not text.startswith(("namespace", "TILEWRIGHT_")) and "#endif" not in line:
                yield first, text
            block, first = [], 0


def messages(path):
    """(line, statement) of each statement that makes a message."""
    lines = path.read_text(errors="replace").splitlines()
    number = 0
    while number < len(lines):
        if SAYS.search(lines[number]) and not lines[number].strip().startswith("//"):
            end = number
            while end + 1 < len(lines) and end - number < 8 and not lines[end].rstrip().endswith((";", "{", "}")):
                end += 1
            statement = " ".join(line.strip() for line in lines[number : end + 1])
            if any(" " in text for text in TEXT.findall(statement)):
                yield number + 1, statement
            number = end
        number += 1


def sample(kind, count, seed):
    """`count` places of all C++ files that are not tests: (file, line, text), in the order of the files."""
    find = {"comments": comments, "messages": messages}[kind]
    files = [path for path in tree.files(".cpp", ".h") if not re.search(r"Test\.cpp$|(^|/)[Tt]est", tree.name(path))]
    places = [(tree.name(path), line, text) for path in sorted(files) for line, text in find(path)]
    return sorted(random.Random(seed).sample(places, count)), len(places)


def main():
    kind, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    places, total = sample(kind, count, seed)
    print(f"# {count} of {total} {kind}, seed {seed}")
    for file, line, text in places:
        print(f"{file}:{line}: {text}")


if __name__ == "__main__":
    main()
