"""Prints docs/reference/vgpu-driver.md, made from Functions.def: python3 functions_page.py > docs/reference/vgpu-driver.md"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = ROOT / "tilewright/cuda-api/Functions.def"
ROW = re.compile(r"^TILEWRIGHT_CUDA_FUNCTION\((\w+), (\w*), (\d+), (none|ptds|ptsz), ")
HEAD = """\
# The CUDA driver API of the virtual GPU

Made from [`Functions.def`](../../tilewright/cuda-api/Functions.def) by `test/vgpu/driver/functions_page.py`; a test
keeps it current. Each version is listed with the CUDA that brought it and with what it adds to the name;
`cuGetProcAddress` chooses among them. `_ptds` and `_ptsz` are the same with the default stream of the thread. What is not
here is not exported: `cuGetProcAddress` does not find it, and the summary of a run lists it.
[The driver's README](../../tilewright/vgpu/driver/README.md) says where it differs from a card's.
"""


def rows():
    """(section, name, suffix, since, stream) of every row of the table."""
    section = None
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("// ") and line.endswith(".") and line.count(" ") < 9:
            section = line[3:-1]
        match = ROW.match(line)
        assert bool(match) == line.startswith("TILEWRIGHT_CUDA_FUNCTION("), f"a row that cannot be read: {line}"
        if match:
            yield section, *match.groups()


def page():
    sections = {}
    for section, name, suffix, since, stream in rows():
        versions = sections.setdefault(section, {}).setdefault(name, [])
        names = [f"`{suffix}`"] * bool(suffix) + [f"`{suffix}_{stream}`"] * (stream != "none")
        versions.append(f"{int(since) // 1000}.{int(since) % 1000 // 10} {' '.join(names)}".strip())
    text = HEAD
    for section, functions in sections.items():
        text += f"\n## {section}\n\n| function | versions |\n|---|---|\n"
        for name, versions in functions.items():
            text += f"| `{name}` | {'; '.join(versions)} |\n"
    return text


if __name__ == "__main__":
    print(page(), end="")
