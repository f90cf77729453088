"""Every self-checking artifact passes when compiled for the CPU, except those whose data is wrong."""
import os
import pathlib
import subprocess

import pytest

DATA = pathlib.Path(os.environ["TILEWRIGHT_CONFORMANCE_DIR"]) / "stablehlo"
TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin/tilewright"
WRONG = pathlib.Path(__file__).parent / "wrong-data.txt"


# The default options, with which the evaluator folds small constants, and options with which everything is compiled.
OPTIONS = {"folded": [], "compiled": ["--simplify.max-fold-elements=0"]}


@pytest.mark.skipif(not DATA.is_dir(), reason="the conformance data is not on this machine")
@pytest.mark.parametrize("how", OPTIONS)
def test_artifacts_that_judge_themselves(tmp_path, pytestconfig, how):
    names = sorted(path.stem for path in DATA.glob("*.mlirbc") if not path.name.startswith("dynamic."))[:: pytestconfig.getoption("--every")]
    wrong = {line.split(":")[0] for line in WRONG.read_text().splitlines() if line and not line.startswith("#")}
    batch = tmp_path / "list"
    batch.write_text("".join(f"{DATA / name}.mlirbc -> {tmp_path / 'out'}\n" for name in names))
    ended = subprocess.run([TOOL, "run", "--on=cpu", *OPTIONS[how], f"--batch={batch}"],
                           stdout=subprocess.PIPE, text=True, timeout=600)
    verdicts = [line.split(maxsplit=1) for line in ended.stdout.splitlines() if line.startswith(("ok /", "failed /"))]
    assert len(verdicts) == len(names), ended.stdout[-2000:]
    failed = {pathlib.Path(path).stem for verdict, path in verdicts if verdict == "failed"}
    assert failed == wrong & set(names), ended.stdout[-4000:]
