"""The disassembler of AMD's machine code against LLVM 22: random operands of every row, and the objects of producers."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"])
PROBE = BUILD / "test/vgpu/amdgcn/AmdgcnProbe"
TOOL = BUILD / "bin/tilewright-vgpu"
CHIPS = ("gfx942", "gfx950")
TARGET = ["-triple=amdgcn-amd-amdhsa"]


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, f"{command}\n{result.stdout[-2000:]}\n{result.stderr[-2000:]}"
    return result


def llvm(tool):
    for name in (f"{tool}-22", tool):
        if shutil.which(name):
            return name
    pytest.fail(f"{tool}-22 is not installed; run tools/setup")


def disassembly(path):
    return run(llvm("llvm-objdump"), "-d", path).stdout


def expect_equal(paths):
    """Compares whole files, byte for byte. Returns the number of instructions."""
    instructions = 0
    assert paths
    for path in paths:
        ours, theirs = run(TOOL, "disassemble", path).stdout, disassembly(path)
        if ours != theirs:
            pairs = zip(ours.splitlines(), theirs.splitlines())
            different = [f"ours  {a}\nLLVM  {b}" for a, b in pairs if a != b]
            pytest.fail(f"{path}: {len(different)} lines differ\n" + "\n".join(different[:8]))
        assert ".long" not in ours
        instructions += len(re.findall("^\t", ours, re.MULTILINE))
    return instructions


@pytest.mark.parametrize("chip", CHIPS)
def test_random_operands_of_every_row_are_printed_like_llvm(chip, pytestconfig):
    count = pytestconfig.getoption("--operands")
    lines = run(PROBE, "random", chip, count, 1).stdout.splitlines()
    forms = int(re.search(r"(\d+) forms", run(PROBE, "forms", chip).stdout)[1])
    assert forms >= 1500 and len(lines) == forms * count
    words, ours = zip(*(line.split("|", 1) for line in lines))
    source = "".join(
        " ".join(f"0x{byte:02x}" for word in row.split() for byte in int(word, 16).to_bytes(4, "little")) + "\n"
        for row in words
    )
    result = run(llvm("llvm-mc"), "--disassemble", *TARGET, f"-mcpu={chip}", input=source)
    refused = {int(line) for line in re.findall(r"<stdin>:(\d+):\d+: warning", result.stderr)}
    assert not refused, [lines[line - 1] for line in sorted(refused)[:8]]
    theirs = [line.strip() for line in result.stdout.splitlines() if line.strip() and not line.startswith("\t.")]
    assert len(theirs) == len(ours)
    different = [(word, a, b) for word, a, b in zip(words, ours, theirs) if a != b]
    assert not different, different[:8]
    print(f"{chip}: {forms} forms, {len(lines)} instructions")


@pytest.mark.parametrize("chip", CHIPS)
def test_the_corpus_is_printed_like_llvm(chip, tmp_path):
    objects = []
    for source in sorted((HERE / "corpus").glob("*.s")):
        path = tmp_path / f"{source.stem}.o"
        run(llvm("llvm-mc"), *TARGET, f"-mcpu={chip}", "-filetype=obj", source, "-o", path)
        run(llvm("ld.lld"), "-shared", path, "-o", path.with_suffix(".hsaco"))
        objects += [path, path.with_suffix(".hsaco")]
    expect_equal(objects)
    kernels = run(TOOL, "disassemble", "--kernels", tmp_path / "softmax.hsaco").stdout
    assert "kernel softmax\n  registers: 11 VGPRs, 0 AGPRs, 20 SGPRs;" in kernels
    assert "512 bytes of LDS" in kernels and "16: 4 bytes, by_value columns" in kernels


def compile_hip(source, chips, path, *flags):
    architectures = [f"--offload-arch={chip}" for chip in chips]
    options = ["-nogpulib", "-nogpuinc", "-O3", "--offload-device-only", *flags, "-c"]
    run(llvm("clang"), "-x", "hip", *architectures, *options, source, "-o", path)
    return path


def test_hip_objects_are_printed_like_llvm(tmp_path, pytestconfig):
    sources = sorted((HERE / "hip").glob("*.hip"))
    every = pytestconfig.getoption("--all")
    paths = [
        compile_hip(source, [chip], tmp_path / f"{source.stem}-{chip}.co", "--no-gpu-bundle-output")
        for source in (sources if every else sources[4:5])
        for chip in CHIPS
    ]
    instructions = expect_equal(paths)
    print(f"HIP: {len(paths)} objects, {instructions} instructions")
    assert not every or len(paths) >= 20


def test_the_code_for_a_chip_is_found_in_a_bundle(tmp_path):
    source = tmp_path / "tiny.hip"
    source.write_text('extern "C" __attribute__((global)) void tiny(int *p) { *p = 1; }\n')
    bundle = compile_hip(source, CHIPS, tmp_path / "tiny.co")
    for chip in CHIPS:
        single = compile_hip(source, [chip], tmp_path / f"{chip}.co", "--no-gpu-bundle-output")
        ours = run(TOOL, "disassemble", f"--chip={chip}", bundle).stdout
        assert ours.splitlines()[2:] == disassembly(single).splitlines()[2:]
    compressed = compile_hip(source, CHIPS, tmp_path / "small.co", "--offload-compress")
    assert compressed.read_bytes().startswith(b"CCOB")
    ours = [run(TOOL, "disassemble", "--chip=gfx950", path).stdout.splitlines()[2:] for path in (bundle, compressed)]
    assert ours[0] == ours[1]


def test_triton_objects_are_printed_like_llvm(triton_objects, pytestconfig):
    paths = sorted(triton_objects.glob("*.hsaco"))
    instructions = expect_equal(paths)
    print(f"Triton: {len(paths)} objects, {instructions} instructions")
    assert not pytestconfig.getoption("--all") or (len(paths) >= 58 and instructions >= 60000)


def test_wrong_arguments_are_explained(tmp_path):
    def failure(*arguments):
        result = subprocess.run([TOOL, "disassemble", *arguments], capture_output=True, text=True)
        assert result.returncode == 2
        return result.stderr

    assert "needs a file" in failure()
    assert "--chip is 'gfx1250', expected gfx942 or gfx950" in failure("--chip=gfx1250", "x")
    assert "cannot read" in failure(tmp_path / "missing.co")
    (tmp_path / "text").write_text("not a code object, but long enough to have the header of an ELF file " * 2)
    assert "neither an ELF file nor a bundle" in failure(tmp_path / "text")
