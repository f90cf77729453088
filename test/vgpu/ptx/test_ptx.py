"""Real PTX can be parsed and printed, and ptxas accepts the printed text; the table agrees with ptxas; the support page is current.

Parts that need nvcc, ptxas, llc or Triton are skipped where those are absent. Triton runs in the python that
TILEWRIGHT_TRITON_PYTHON names (any environment with triton==3.9.0).
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE))
import cvt_table  # noqa: E402
import ptxas_oracle  # noqa: E402

PROBE = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "test/vgpu/ptx/PtxProbe"
PTXAS = ptxas_oracle.find_ptxas()
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
LLC = shutil.which("llc-22")
TRITON = os.environ.get("TILEWRIGHT_TRITON_PYTHON")
CORPUS = sorted((HERE / "corpus").glob("*.ptx"))

needs_ptxas = pytest.mark.skipif(not PTXAS, reason="ptxas is not on this machine")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=900, **options)


def check(path, tmp_path):
    """Parses, prints, parses again; then ptxas must accept the printed text, if it accepts the original."""
    result = run(PROBE, "--roundtrip", path)
    assert result.returncode == 0, result.stdout
    if not PTXAS:
        return
    printed = tmp_path / f"printed-{path.name}"
    printed.write_text(run(PROBE, "--print", path).stdout)
    target = re.search(r"\.target\s+(sm_\w+)", printed.read_text())[1]
    # -c: functions that are only declared stay undefined.
    result = run(PTXAS, "-c", "-O0", f"-arch={target}", printed, "-o", os.devnull)
    assert result.returncode == 0, result.stderr[:2000]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_stored_corpus(path, tmp_path):
    check(path, tmp_path)


NVCC_FORMS = [
    (name, f"-arch={target}")
    for name in ("assembly", "atomics", "basics", "calls", "tensor")
    for target in ("sm_80", "sm_90a")
]
NVCC_FORMS += [("hopper", "-arch=sm_90a"), ("atomics", "-arch=sm_90a -lineinfo"), ("calls", "-arch=sm_80 -G")]


@pytest.mark.skipif(not NVCC, reason="nvcc is not on this machine")
@pytest.mark.parametrize("name, flags", NVCC_FORMS)
def test_nvcc(name, flags, tmp_path):
    source = HERE / f"cuda/{name}.cu"
    output = tmp_path / f"{source.stem}.ptx"
    result = run(NVCC, "-std=c++17", *flags.split(), "-ptx", source, "-o", output)
    assert result.returncode == 0, result.stderr[:2000]
    check(output, tmp_path)


@pytest.mark.skipif(not LLC, reason="llc-22 is not on this machine")
@pytest.mark.parametrize("target, version", [("sm_80", 70), ("sm_80", 84), ("sm_90a", 86)])
@pytest.mark.parametrize("level", [0, 3])
def test_llvm(target, version, level, tmp_path):
    output = tmp_path / "kernels.ptx"
    attributes = f"-mattr=+ptx{version}"
    command = [LLC, "-march=nvptx64", f"-mcpu={target}", attributes, f"-O{level}", HERE / "llvm/kernels.ll", "-o", output]
    result = run(*command)
    assert result.returncode == 0, result.stderr[:2000]
    check(output, tmp_path)


@pytest.mark.skipif(not TRITON, reason="TILEWRIGHT_TRITON_PYTHON names no python with triton==3.9.0")
def test_triton(tmp_path):
    environment = dict(os.environ, TRITON_CACHE_DIR=str(tmp_path / "cache"))
    if PTXAS:
        environment["TRITON_PTXAS_PATH"] = PTXAS
    output = tmp_path / "ptx"
    output.mkdir()
    result = run(TRITON, HERE / "triton/make_ptx.py", output, env=environment)
    files = sorted(output.glob("*.ptx"))
    assert len(files) >= 20, result.stderr[-2000:]
    for path in files:
        check(path, tmp_path)


@needs_ptxas
def test_table_agrees_with_ptxas():
    """A sample of forms and mutants; ptxas_oracle.py --per-row 0 tries them all."""
    agree, differ = ptxas_oracle.compare(str(PROBE), PTXAS, per_row=1, seed=7)
    lines = [f"sm_{target} {form.text} ours: {ours[:80]} ptxas: {theirs[:80]}" for target, form, ours, theirs in differ]
    wrong = [entry for entry in differ if entry[1].kind == "form"]
    assert len(wrong) <= 0.01 * len(agree), "\n".join(lines)
    assert len(differ) <= 0.03 * len(agree), "\n".join(lines)


def refused(texts, tmp_path):
    """{text: our message} of the instructions that we reject for sm_90a."""
    texts = list(texts)
    prolog = ptxas_oracle.PROLOG.format(target="90a")
    path = tmp_path / "forms.ptx"
    path.write_text("//---\n".join(f"{prolog}{text}\n{ptxas_oracle.EPILOG}" for text in texts))
    answers = run(PROBE, "--blocks", path).stdout.splitlines()
    assert len(answers) == len(texts)
    return {text: answer for text, answer in zip(texts, answers) if not answer.startswith("ok")}


def test_conversions_are_those_of_ptxas(tmp_path):
    """We accept all conversions that ptxas 13.0 accepts and no others, by the table that it made."""
    table = cvt_table.read()
    assert len(table) == 856
    assert refused([text for pairs in table.values() for text in pairs.values()], tmp_path) == {}
    # With registers of the types' own widths; the table has 8-bit registers only where ptxas requires them.
    impossible = [cvt_table.text(name, to, source, cvt_table.WIDTHS[to], cvt_table.WIDTHS[source])
                  for name, to, source in cvt_table.names() if name not in table]  # fmt: skip
    assert sorted(set(impossible) - set(refused(impossible, tmp_path))) == []


@needs_ptxas
def test_the_table_of_conversions_is_current():
    names = list(cvt_table.names())
    texts = [cvt_table.text(name, to, source, cvt_table.WIDTHS[to], cvt_table.WIDTHS[source]) for name, to, source in names]
    answers = ptxas_oracle.verdicts(PTXAS, texts, "90a", batch=4000)
    assert {name for (name, *_), answer in zip(names, answers) if answer is None} == set(cvt_table.read()), "run cvt_table.py"


def test_support_page_is_current():
    page = ROOT / "docs/reference/ptx-support.md"
    assert page.read_text(encoding="utf-8") == run(PROBE, "--support").stdout, (
        f"run: {PROBE} --support > {page.relative_to(ROOT)}"
    )
