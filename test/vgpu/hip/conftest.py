"""Compiles HIP programs with clang and the headers and bitcode in Triton's wheel; no ROCm is needed."""

import importlib.util
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"])
TOOL = BUILD / "bin/tilewright-vgpu"
CHIPS = ["gfx942", "gfx950"]

# Constants that the bitcode of the wheel asks for, with the data layout of clang's modules.
CONSTANTS = """
target triple = "amdgcn-amd-amdhsa"
@__oclc_ABI_version = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 600
@__oclc_ISA_version = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 9402
@__oclc_wavefrontsize64 = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i8 1
@__oclc_wavefrontsize_log2 = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i32 6
@__oclc_unsafe_math_opt = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i8 0
@__oclc_finite_only_opt = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i8 0
@__oclc_correctly_rounded_sqrt32 = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i8 1
@__oclc_daz_opt = linkonce_odr hidden local_unnamed_addr addrspace(4) constant i8 0
"""


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="all programs, for both chips")


def run(*words, **options):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300, **options)
    assert result.returncode == 0, f"{' '.join(map(str, words))}\n{result.stdout}{result.stderr}"
    return result


class Compiler:
    """Makes a program of a source for some chips: device code, then host code that contains it."""

    def __init__(self, folder):
        triton = pathlib.Path(importlib.util.find_spec("triton").submodule_search_locations[0])
        self.folder, self.amd = folder, triton / "backends/amd"
        self.bin = pathlib.Path(subprocess.run(["llvm-config-22", "--bindir"], capture_output=True, text=True, check=True).stdout.strip())
        (folder / "constants.ll").write_text(CONSTANTS)
        run(self.bin / "llvm-as", folder / "constants.ll", "-o", folder / "constants.bc")

    def __call__(self, source, chips):
        """Returns the program and the bundle of its device code."""
        program, bundle = self.folder / source.stem, self.folder / f"{source.stem}.hipfb"
        bitcode = [self.amd / "lib/ockl.bc", self.amd / "lib/ocml.bc", self.folder / "constants.bc"]
        linked = [word for path in bitcode for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", path)]
        common = [self.bin / "clang++", "-x", "hip", *(f"--offload-arch={chip}" for chip in chips), "-nogpulib", "-nogpuinc", "-O2", "-std=c++20",
                  "-D__HIP_PLATFORM_AMD__", "-isystem", self.amd / "include", "-Wno-linker-warnings", source]  # fmt: skip
        run(*common, "--offload-device-only", *linked, "-o", bundle)
        run(*common, "--offload-host-only", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", bundle, "-c", "-o", program.with_suffix(".o"))
        run(self.bin / "clang++", program.with_suffix(".o"), "-o", program, f"-L{BUILD}/lib/vgpu", "-lamdhip64")
        return program, bundle


@pytest.fixture(scope="session")
def compile_hip(tmp_path_factory):
    return Compiler(tmp_path_factory.mktemp("hip"))
