"""Prints docs/reference/hip-functions.md, made from Functions.def: python3 functions_page.py > docs/reference/hip-functions.md"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / "tilewright/vgpu/hip"
HEAD = """\
# The HIP functions of the virtual GPU

Made from [`Functions.def`](../../tilewright/vgpu/hip/Functions.def) by `test/vgpu/hip/functions_page.py`; a test keeps it current. Functions that are
not here are not exported: `hipGetProcAddress` does not find them, and the summary of a run lists them; a program that is linked with one ends with a
message of the dynamic linker that names it. [The room's README](../../tilewright/vgpu/hip/README.md) says where the functions differ from a card's.
"""


def sections():
    found = {}
    for line in (FOLDER / "Functions.def").read_text(encoding="utf-8").splitlines():
        if line.startswith("// -- "):
            section = found.setdefault(line.removeprefix("// -- "), [])
        elif match := re.match(r"TILEWRIGHT_HIP_FUNCTION\((\w+), ", line):
            section.append(match.group(1))
    for file, title in (("Exports.cpp", "Errors"), ("Registered.cpp", "Compiled programs")):
        text = (FOLDER / file).read_text(encoding="utf-8")
        found[title] = re.findall(r"HIP_EXPORTED [\w *]*?\*{0,2}(_*hip\w+)\(", text)
    return found


def page():
    return HEAD + "".join(f"\n## {title}\n\n{', '.join(f'`{name}`' for name in names)}\n" for title, names in sections().items())


if __name__ == "__main__":
    print(page(), end="")
