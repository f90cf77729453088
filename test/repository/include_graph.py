"""Who may include whom: the rules of docs/architecture.md, and a reader that finds every breach.

Only direct includes need a rule for folders; that LLVM is not seen is checked
through all headers of ours, because that is how it would creep in.
"""

import pathlib
import re

# A folder may include itself and these, and no other folder.
MAY_INCLUDE = {
    "support": set(),
    "numerics": {"support"},
    "chips": {"support"},
    "cuda-api": set(),
    "hip-api": {"cuda-api"},
    "plan": {"numerics", "support"},
    "predict": {"artifact", "plan", "numerics", "support"},
    "dialect": {"numerics", "support"},
    "interpret": {"dialect", "numerics", "support"},
    "import": {"dialect", "interpret", "numerics", "support"},
    "transform": {"predict", "dialect", "interpret", "numerics", "support"},
    "target": {"artifact", "chips", "dialect", "interpret", "numerics", "support"},
    "tune": {"dialect", "interpret", "numerics", "support"},
    "driver": {"import", "transform", "target", "tune", "predict", "artifact", "plan", "dialect", "interpret", "numerics", "support"},
    "artifact": {"numerics", "support"},
    "collective": {"plan", "numerics", "support"},
    "vgpu": {"chips", "collective", "cuda-api", "hip-api", "numerics", "plan", "support"},
    "runtime": {"artifact", "collective", "cuda-api", "hip-api", "plan", "numerics", "support"},
    "plugin": {"driver", "runtime", "artifact", "numerics", "support"},
}

# A part of a folder with fewer rights than the whole: it could be taken away and used alone.
PARTS = {
    "import/bytecode": {"numerics", "support"},
    "interpret/kernels": {"numerics", "support"},
}

# The headers of target/ that other folders may include: none of them names a chip.
TARGET_INTERFACE = ("tilewright/target/Target.h", "tilewright/target/AllTargets.h")

# No file in here sees an LLVM header, directly or through others. Single files
# elsewhere join by being a source of a NO_LLVM library.
NO_LLVM = [
    "support", "numerics", "chips", "cuda-api", "hip-api", "plan", "predict", "import/bytecode", "interpret/kernels",
    "artifact", "collective", "vgpu", "runtime",
]  # fmt: skip

# Folders of code that exists only for tests. Only tests and these folders include their headers.
TEST_SUPPORT = {"testing", "conformance"}

# A quoted include may begin with: ours from the root, LLVM's and GoogleTest's.
KNOWN_PREFIXES = ("tilewright/", "llvm/", "mlir/", "llvm-c/", "mlir-c/", "gtest/", "gmock/")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
NO_LLVM_TARGET = re.compile(r"tilewright_(?:library|test)\s*\(\s*\w+([^)]*)\)")


def breaches(root: pathlib.Path):
    """Every breach under root/tilewright, one sentence each; empty when all is well.

    Of root/tools only that it includes nothing that exists only for tests: tools see everything else.
    """
    includes = _includes_under(root, "tilewright")
    found = []
    for file, targets in {**includes, **_includes_under(root, "tools")}.items():
        for target, line, _ in targets:
            if _is_test_support(target) and not _is_test(file):
                found.append(f"{file}:{line}: only tests may include {target}")
    for file, targets in includes.items():
        if re.fullmatch(r"Test.*\.h", file.rsplit("/", 1)[1]):
            found.append(f"{file}: belongs in a folder testing/, where its name needs no 'Test'")
        for target, line, quoted in targets:
            problem = _edge(file, target, quoted)
            if problem:
                found.append(f"{file}:{line}: {problem}")
    declared = _no_llvm_sources(root)
    for file in includes:
        if _is_no_llvm(file) or file in declared:
            chain = _way_to_llvm(file, includes)
            if chain:
                found.append(f"{file}: belongs to the half without LLVM but includes {' -> '.join(chain)}")
    return found


def _includes_under(root, folder):
    return {
        path.relative_to(root).as_posix(): _includes(path)
        for suffix in ("*.h", "*.cpp", "*.def")
        for path in sorted((root / folder).rglob(suffix))
    }


def _is_test_support(path):
    return not TEST_SUPPORT.isdisjoint(path.split("/")[:-1])


def _is_test(file):
    return file.endswith("Test.cpp") or _is_test_support(file)


def _includes(path):
    text = path.read_text(encoding="utf-8")
    return [
        (match[1] or match[2], text.count("\n", 0, match.start(match.lastindex)) + 1, match[1] is not None)
        for match in INCLUDE.finditer(text)
    ]


def _edge(file, target, quoted):
    """Why this include is not allowed, or None."""
    if not target.startswith("tilewright/"):
        if quoted and not target.startswith(KNOWN_PREFIXES):
            return f'"{target}" must be included by its path from the root, as "tilewright/…"'
        return None
    here, there = _folder(file), _folder(target)
    if here not in MAY_INCLUDE:
        return f"folder '{here}' is not on the map; add it to docs/architecture.md and test/repository/include_graph.py"
    if there != here and there not in MAY_INCLUDE[here]:
        allowed = ", ".join(sorted(MAY_INCLUDE[here])) or "nothing but itself"
        return f"'{here}' must not include '{there}' ({target}); it may include {allowed}"
    for part, rights in PARTS.items():
        # The headers of a folder that belong to the half without LLVM are open to
        # its parts; that they stay so is checked with all other LLVM-free files.
        if _inside(file, part) and there == here and not _inside(target, part):
            if "/" not in target.removeprefix(f"tilewright/{here}/"):
                continue
            if not any(_inside(target, right) for right in rights):
                return f"'{part}' must not include the rest of '{here}' ({target})"
        elif _inside(file, part) and there != here and there not in rights:
            return f"'{part}' must not include '{there}' ({target}); it may include {', '.join(sorted(rights))}"
    if here == there == "transform" and _stage(target) and _stage(file) != _stage(target):
        return f"stage '{_stage(file)}' must not include stage '{_stage(target)}' ({target})"
    if there == "target" and here != "target" and target not in TARGET_INTERFACE:
        return f"'{here}' knows targets only by {' and '.join(TARGET_INTERFACE)}, not by {target}"
    if here == there == "target" and _stage(file) and _stage(target) not in (None, "codegen", "gpu", "lanes", _stage(file)):
        return f"target '{_stage(file)}' must not include target '{_stage(target)}' ({target})"
    return None


def _folder(path):
    """ "import" for tilewright/import/bytecode/Reader.h."""
    return path.split("/")[1]


def _stage(path):
    """ "fuse" for tilewright/transform/fuse/Fuse.cpp; None for a header of all stages, directly in the folder."""
    parts = path.split("/")
    return parts[2] if len(parts) > 3 else None


def _inside(path, part):
    return path.startswith(f"tilewright/{part}/")


def _is_no_llvm(file):
    return any(_inside(file, part) for part in NO_LLVM)


def _no_llvm_sources(root):
    """The sources of every NO_LLVM target, as CMake is told."""
    sources = set()
    for listing in (root / "tilewright").rglob("CMakeLists.txt"):
        folder = listing.parent.relative_to(root).as_posix()
        for arguments in NO_LLVM_TARGET.findall(listing.read_text(encoding="utf-8")):
            words = arguments.split()
            if "NO_LLVM" in words:
                sources |= {f"{folder}/{word}" for word in words if word.endswith(".cpp")}
    return sources


def _way_to_llvm(file, includes):
    """The shortest chain of includes from `file` to an LLVM header, or None."""
    seen, chains = {file}, [[file]]
    while chains:
        chain = chains.pop(0)
        for target, _, _ in includes.get(chain[-1], []):
            if target.startswith(("llvm/", "mlir/", "llvm-c/", "mlir-c/")):
                return [*chain[1:], target]
            if target not in seen:
                seen.add(target)
                chains.append([*chain, target])
    return None
