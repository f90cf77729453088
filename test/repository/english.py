"""Habits of English that make comments, messages and pages hard to read, and how often each file still has them.

    python test/repository/english.py            lists every place
    python test/repository/english.py FILE…      the places in these files
    python test/repository/english.py --bless    writes english-counts.txt, after places were mended

test_english.py fails if a file has more of them than english-counts.txt allows; a new file may have none. CONTRIBUTING.md has the rules,
docs/glossary.md the words to use instead.
"""
import collections
import re
import sys

import tree

COUNTS = tree.ROOT / "test/repository/english-counts.txt"

# (pattern, what to write instead). Patterns see one line of prose; quotes, code and headings are taken out before.
HABITS = [
    (r"(?:^|[.;] )(?:Who|Whoever|Whose|What)(?! (?:is|are|does|do|to|happens|if)\b)(?! [^.]*\?) \w+ ", "begin with a noun: 'A waiting rank yields', not 'Who waits gives way'"),
    (r"\b(?:[Ww]hoever|[Ss]omebody|[Nn]obody|[Ee]verybody)\b", "name the caller, the rank or the thread"),
    (r"(?<!there )(?<!There )(?<!that )\b(?:is|are) no (?!longer|more|less|\w+er\b|such\b)\w+", "'is not a', not 'is no'"),
    (r"\bof (?:ours|theirs|metal)\b", "'our', 'their', 'physical'"),
    (r"\b(?:come|comes|came) out even\b", "'is divisible by'"),
    (r"\bmust have one (?:type|element type|shape|rank)\b", "'must have the same'"),
]  # fmt: skip
NAMES = [(r"\bmost[A-Z]\w*", "'max', not 'most', in names")]
COMMENT = {".cpp": "//", ".h": "//", ".td": "//", ".def": "//", ".py": "#", ".cmake": "#"}


def prose(path):
    """(line number, text) of what people read: all of a page, the comments of code."""
    mark = COMMENT.get(path.suffix)
    fenced = False
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        if path.suffix == ".md":
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced or line.startswith(("#", "    ")):
                continue
            text = line
        elif mark in line:
            text = line.split(mark, 1)[1]
        else:
            continue
        text = re.sub(r"`[^`]*`|\"[^\"]*\"|\[[^]]*\]\([^)]*\)", "x", text)
        yield number, text.strip("/! ").strip()


def places(path):
    """(line number, text, rule) of each habit in a file."""
    for number, text in prose(path):
        for pattern, rule in HABITS:
            if re.search(pattern, text):
                yield number, text, rule
    if path.suffix in (".cpp", ".h"):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for pattern, rule in NAMES:
                if re.search(pattern, line.split("//")[0]):
                    yield number, line.strip(), rule


def all_files():
    mine = {"test/repository/english.py", "CONTRIBUTING.md"}  # they quote the habits
    return [path for path in tree.files(".md", *COMMENT) if tree.name(path) not in mine]


def allowed():
    """{file: how many}, from english-counts.txt."""
    lines = [line.split() for line in COUNTS.read_text().splitlines() if line and not line.startswith("#")]
    return {name: int(count) for count, name in lines}


def main():
    if sys.argv[1:] == ["--bless"]:
        counts = collections.Counter({tree.name(path): len(list(places(path))) for path in all_files()})
        lines = [f"{count:4} {name}" for name, count in sorted(counts.items()) if count]
        COUNTS.write_text("# Made by english.py --bless: habits that are left in each file. Numbers only fall.\n" + "\n".join(lines) + "\n")
        print(f"{sum(counts.values())} places in {len(lines)} files")
        return
    for path in all_files():
        if len(sys.argv) == 1 or tree.name(path) in sys.argv[1:]:
            for number, text, rule in places(path):
                print(f"{tree.name(path)}:{number}: {text}\n    {rule}")


if __name__ == "__main__":
    main()
