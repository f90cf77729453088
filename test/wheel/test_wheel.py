"""The wheel as a file: its contents, its metadata, and the library versions that it requires."""

import email
import importlib.machinery
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import installation
import pytest
from installation import BUILD, ROOT

loader = importlib.machinery.SourceFileLoader("check_symbols", str(ROOT / "tools/check-symbols"))
check_symbols = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_symbols", loader))
loader.exec_module(check_symbols)

BINARIES = ("bin/tilewright", "lib/libtilewright_pjrt.so", "lib/vgpu/libcuda.so.1", "lib/vgpu/libamdhip64.so.7", "lib/vgpu/libnccl.so.2", "lib/vgpu/librccl.so.1", "lib/vgpu/libraries/libcublasLt.so.13", "lib/vgpu/libraries/libcudnn.so.9", "lib/vgpu/bin/ptxas")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return installation.wheel_of_build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", f"--outdir={folder}", str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("*.tar.gz")
    return file


def test_it_holds_the_command_the_plugin_and_the_virtual_gpu(wheel):
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        for name in BINARIES:
            assert f"tilewright/native/{name}" in names
            assert content.getinfo(f"tilewright/native/{name}").external_attr >> 16 & 0o111, f"{name} is not executable"
        assert {"tilewright/__init__.py", "tilewright/jax_plugin.py", "tilewright/explanation.py"} <= set(names)
        assert not [name for name in names if name.endswith("README.md") or "__pycache__" in name]
        points = content.read(next(name for name in names if name.endswith("entry_points.txt"))).decode()
    assert re.search(r"\[console_scripts\]\ntilewright ?= ?tilewright.command:main", points)
    assert re.search(r"\[jax_plugins\]\ntilewright ?= ?tilewright.jax_plugin", points)


def test_its_libraries_leave_room_for_those_that_a_program_loads_later():
    """glibc reserves 1,664 bytes for the static thread-local variables of all libraries that a program loads late. The virtual
    drivers need some of it, because they handle page faults, so the plugin, which loads them, must not."""

    def static_bytes(library):
        headers = subprocess.run(["objdump", "-p", BUILD / library], capture_output=True, text=True, check=True).stdout
        flags = re.search(r"^\s+FLAGS\s+(0x[0-9a-f]+)", headers, re.MULTILINE)
        if not flags or not int(flags[1], 16) & 0x10:  # DF_STATIC_TLS
            return 0
        return int(re.search(r"TLS off.*\n\s+filesz \S+ memsz (0x[0-9a-f]+)", headers)[1], 16)

    assert static_bytes("lib/libtilewright_pjrt.so") == 0
    assert 0 < static_bytes("lib/vgpu/libcuda.so.1") < 1024 and 0 < static_bytes("lib/vgpu/libamdhip64.so.7") < 1024


def test_its_metadata_are_complete(wheel):
    with zipfile.ZipFile(wheel) as content:
        (metadata,) = (name for name in content.namelist() if name.endswith("dist-info/METADATA"))
        fields = email.message_from_bytes(content.read(metadata))
        licences = [name for name in content.namelist() if "dist-info/licenses/" in name]
        notices = content.read(next(name for name in licences if "NOTICES" in name)).decode()
    version = re.search(r'"(.+)"', (ROOT / "python/tilewright/version.py").read_text())[1]
    assert fields["Version"] == version and wheel.name.startswith(f"tilewright-{version}-py3-none-linux_")
    assert fields["License-Expression"] == "Apache-2.0 WITH LLVM-exception"
    assert sorted(fields.get_all("License-File")) == ["LICENSE", "THIRD-PARTY-NOTICES.md"] and len(licences) == 2
    assert fields["Requires-Python"] == ">=3.11" and "Programming Language :: Python :: 3.11" in fields.get_all("Classifier")
    assert any(need.startswith("jax") for need in fields.get_all("Requires-Dist"))
    for part in ("LLVM", "libstdc++", "zlib", "Zstandard"):
        assert part in notices


def test_an_index_would_take_both(wheel, sdist):
    done = subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("PASSED") == 2, done.stdout + done.stderr


def test_a_wheel_comes_of_the_source_distribution_too(sdist, tmp_path):
    """The source distribution contains everything that the build reads. The nightly run compiles it, which takes as long as a release."""
    with tarfile.open(sdist) as content:
        content.extractall(tmp_path, filter="data")
    (source,) = tmp_path.glob("tilewright-*")
    (tmp_path / "out").mkdir()
    assert zipfile.ZipFile(installation.build_wheel(tmp_path / "out", source)).testzip() is None
    tracked = subprocess.run(["git", "ls-files", "*.cpp", "*.h", "*.td", "*.def", "*CMakeLists.txt", "*.cmake"],
                             cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
    missing = [name for name in tracked if (ROOT / name).exists() and not (source / name).exists()]
    assert not missing, missing


def test_what_a_binary_demands_is_seen():
    """Shows that the next test can fail: the compiler of this machine links libstdc++."""
    demands = check_symbols.demands(shutil.which("clang-22"))
    assert any("needs libstdc++.so.6" in line for line in demands) and any("of GLIBCXX_" in line for line in demands)


def test_what_is_linked_as_a_release_demands_nothing_newer():
    """A small program with the archives of LLVM, libstdc++ and libgcc, linked with the rules of the preset release."""
    probe = BUILD / "test/wheel/PortableProbe"
    assert check_symbols.demands(str(probe)) == []
    done = subprocess.run([probe], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "temporary names differ" in done.stdout and "hypot 5" in done.stdout and "frames were found" in done.stdout


def test_what_was_released_demands_nothing_newer():
    wheels = list((ROOT / "build/dist").glob("*.whl"))
    if not wheels:
        pytest.skip("no release was made in this checkout (docs/how-to/make-a-wheel.md)")
    import tempfile

    for file in wheels:
        assert "-manylinux_2_34_" in file.name, file.name
        with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(file) as content:
            content.extractall(folder)
            for name in BINARIES:
                path = pathlib.Path(folder) / "tilewright/native" / name
                assert check_symbols.demands(str(path), own={"libtilewright_pjrt.so", "libcuda.so.1", "libamdhip64.so.7"}) == []
