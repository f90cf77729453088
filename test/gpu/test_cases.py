"""Programs for GPUs, compiled, run on the virtual GPU with every check on, and equal to the evaluator's answer.

    pytest test/gpu/test_cases.py --chip sm_90a --only gemm --order latest --processors 2

The kernels are what `tilewright compile --target=sm_90a` makes; nothing may be reported. What is allowed to differ is in
test/jax/agreement.py; for products it follows from the sum of the absolute products (cases.py).
"""

import concurrent.futures
import multiprocessing
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "jax"))
import agreement  # noqa: E402
import artifacts  # noqa: E402
import cases  # noqa: E402
import evaluator  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax import export  # noqa: E402

CHUNK = 40


def artifact_of(case):
    with jax.enable_x64(True):
        arguments = [np.asarray(a) for a in case.arguments]
        exported = export.export(jax.jit(case.function, keep_unused=True), platforms=["cpu"])(*arguments)
        shapes = jax.eval_shape(case.function, *arguments)
    like = [np.zeros(s.shape, s.dtype) for s in jax.tree.leaves(shapes)]
    return artifacts.Case(case.name, case.op_class, 1, exported.mlir_module_serialized, arguments, like)


def difference(case, actual, expected):
    """Why an answer is wrong, in words, or None."""
    if isinstance(expected, str):
        return f"evaluation failed: {expected}"
    if isinstance(actual, str):
        return f"failed: {actual}"
    for index, (a, e) in enumerate(zip(actual, expected)):
        if case.product_units and e.dtype.kind not in "iu":
            apart = np.abs(a.astype(np.float64) - e.astype(np.float64))
            allowed = case.product_units * 2.0**-24 * np.broadcast_to(case.absolute, e.shape) + 2.0**-20
            if not np.all(apart <= allowed):
                worst = np.unravel_index(np.argmax(apart - allowed), e.shape)
                return f"result {index} at {worst}: {a[worst]} and not {e[worst]}, {apart[worst]:.3g} apart, allowed {allowed[worst]:.3g}"
        else:
            kind = agreement.CLASSES[case.op_class]
            distance = agreement.distance(a, e, kind.of)
            if distance > kind.ulps:
                return f"result {index}: {distance:.3g} ulps, allowed {kind.ulps}"
    return None


def compare(job):
    """The cases [first, last) on a chip: what is wrong, in words."""
    folder, chip, order, processors, names = job
    folder.mkdir()
    chosen = [case for case in cases.all_cases() if case.name in names]
    made = [artifact_of(case) for case in chosen]
    expected = evaluator.evaluate(made, folder)
    for output in folder.glob("*.out*"):
        output.unlink()
    report = folder / "report.txt"
    os.environ |= {"TILEWRIGHT_VGPU_CHECK": "all", "TILEWRIGHT_VGPU_ORDER": order, "TILEWRIGHT_VGPU_THREADS": "1",
                   "TILEWRIGHT_VGPU_REPORT": str(report)}  # fmt: skip
    actual = evaluator.evaluate(made, folder, f"--target=vgpu:{chip}", f"--compile.processors={processors}")
    wrong = [f"{case.name}: {words}" for case in chosen
             if (words := difference(case, actual[case.name], expected[case.name]))]  # fmt: skip
    if report.exists() and "no findings" not in report.read_text():
        wrong.append(f"reported:\n{report.read_text()[:4000]}")
    for file in folder.iterdir():
        file.unlink()
    return wrong


def test_cases_on_the_virtual_gpu(tmp_path, pytestconfig):
    chip, order, processors, only = (pytestconfig.getoption(name) for name in ("--chip", "--order", "--processors", "--only"))
    number, count = map(int, pytestconfig.getoption("--part").split("/"))
    names = [case.name for case in cases.all_cases() if only in case.name][number - 1 :: count]
    jobs = [(tmp_path / str(at), chip, order, processors, set(names[at : at + CHUNK])) for at in range(0, len(names), CHUNK)]
    wrong = []
    # Started anew, not forked: jax has threads.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(len(jobs), os.cpu_count()), context) as pool:
        for words in pool.map(compare, jobs):
            wrong += words
    print(f"{chip}, {order}: {len(names)} cases, {len(wrong)} wrong")
    assert names and not wrong, f"{len(wrong)} of {len(names)} cases on {chip}\n\n" + "\n\n".join(wrong[:30])


def test_a_wrong_answer_is_seen():
    case = next(c for c in cases.products() if c.name == "gemm_f16_nn_100x200x300")
    right = [np.zeros((100, 200), np.float32)]
    assert difference(case, right, right) is None
    assert "apart" in difference(case, [right[0] + 1], right)
    exact = cases.GpuCase("x", None, (), "exact")
    assert difference(exact, [np.ones(3, np.int32)], [np.ones(3, np.int32)]) is None
    assert "ulps" in difference(exact, [np.ones(3, np.int32)], [np.zeros(3, np.int32)])
    assert difference(exact, "E4070 …", right) == "failed: E4070 …"
