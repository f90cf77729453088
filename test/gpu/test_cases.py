"""Programs for GPUs, compiled, run on the virtual GPU with every check on, and compared with the evaluator.

    pytest test/gpu/test_cases.py --chip sm_90a --only gemm --order latest --processors 2

The kernels are those of `tilewright compile --target=sm_90a`; the checks may report nothing. test/jax/agreement.py has the
tolerances. For products they follow from the sum of the absolute products (cases.py), and for softmax and norms from the
terms of every sum (bounds.py).
"""

import concurrent.futures
import multiprocessing
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "jax"))
import agreement  # noqa: E402
import artifacts  # noqa: E402
import bounds  # noqa: E402
import cases  # noqa: E402
import evaluator  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax import export  # noqa: E402

CHUNK = 60


def artifact_of(case):
    with jax.enable_x64(True):
        arguments = [np.asarray(a) for a in case.arguments]
        exported = export.export(jax.jit(case.function, keep_unused=True), platforms=[case.platform])(*arguments)
        shapes = jax.eval_shape(case.function, *arguments)
    like = [np.zeros(s.shape, s.dtype) for s in jax.tree.leaves(shapes)]
    return artifacts.Case(case.name, case.op_class, 1, exported.mlir_module_serialized, arguments, like)


def difference(case, actual, expected, within=None):
    """Describes why a result is wrong; None if it is right."""
    if isinstance(expected, str):
        return f"evaluation failed: {expected}"
    if isinstance(actual, str):
        return f"failed: {actual}"
    if case.bounded and not isinstance(within, list):
        return f"no bounds: {within}"
    for index, (a, e) in enumerate(zip(actual, expected)):
        if case.bounded:
            if not np.all(np.isfinite(within[index])):
                return f"result {index}: {np.sum(~np.isfinite(within[index]))} of {e.size} elements have no bound, so this says little"
            if words := bounds.difference(a, e, within[index]):
                return f"result {index} {words}"
        if case.op_class == "bounded":
            continue
        if case.product_units and e.dtype.kind not in "iu":
            if case.exact is not None:
                e = case.exact
            apart = np.abs(a.astype(np.float64) - e.astype(np.float64))
            allowed = case.product_units * 2.0**-24 * np.broadcast_to(case.absolute(), e.shape) + 2.0**-20
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
    """Runs the cases [first, last) on a chip; describes what is wrong."""
    folder, chip, order, processors, names = job
    folder.mkdir()
    chosen = [case for case in cases.all_cases() if case.name in names]
    made = [artifact_of(case) for case in chosen]
    expected = evaluator.evaluate(made, folder)
    judged = {case.name for case in chosen if case.bounded}
    within = {}
    for options in (), ("tf32",):
        # Products of f32 in these cases are rounded to tf32, and only in these.
        if found := [case for case in made if case.name in judged and case.name.endswith("_tf32") == bool(options)]:
            within |= bounds.of_cases(found, folder, *options)
    for output in folder.glob("*.out*"):
        output.unlink()
    report = folder / "report.txt"
    os.environ |= {"TILEWRIGHT_VGPU_CHECK": "all", "TILEWRIGHT_VGPU_ORDER": order, "TILEWRIGHT_VGPU_THREADS": "1",
                   "TILEWRIGHT_VGPU_REPORT": str(report)}  # fmt: skip
    actual = evaluator.evaluate(made, folder, f"--target=vgpu:{chip}", f"--compile.processors={processors}")
    wrong = [f"{case.name}: {words}" for case in chosen
             if (words := difference(case, actual[case.name], expected[case.name], within.get(case.name)))]  # fmt: skip
    if report.exists() and "no findings" not in report.read_text():
        wrong.append(f"reported:\n{report.read_text()[:4000]}")
    for file in folder.iterdir():
        file.unlink()
    return wrong


def test_cases_on_the_virtual_gpu(tmp_path, pytestconfig):
    chip, order, processors, only = (pytestconfig.getoption(name) for name in ("--chip", "--order", "--processors", "--only"))
    number, count = map(int, pytestconfig.getoption("--part").split("/"))
    names = [case.name for case in cases.all_cases() if any(part in case.name for part in only.split(","))][number - 1 :: count]
    jobs = [(tmp_path / str(at), chip, order, processors, set(names[at : at + CHUNK])) for at in range(0, len(names), CHUNK)]
    if len(jobs) == 1:
        wrong = compare(jobs[0])  # in this process, which has made the cases
    else:
        # Spawned, not forked: jax has threads.
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(min(len(jobs), os.cpu_count()), context) as pool:
            wrong = [words for found in pool.map(compare, jobs) for words in found]
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


def test_a_wrong_softmax_is_seen(tmp_path):
    """What a broken kernel would write: each is further from the correct result than the terms allow."""
    for case in [case for case in cases.products() if case.name in ("gemm_rows_softmax", "gemm_rows_softmax_half")]:
        made = artifact_of(case)
        expected = evaluator.evaluate([made], tmp_path)[case.name]
        within = bounds.of_cases([made], tmp_path)[case.name]
        assert difference(case, expected, expected, within) is None
        right = expected[0].astype(np.float64)
        # With 200 columns an entry is 0.005 on average. Far smaller ones are subnormal in f16, where an ulp is large in
        # comparison.
        widest = np.max((within[0] / np.maximum(right, 1e-30))[right > 1e-4])
        print(f"{case.name}: bounds are at most {widest:.2%} of an entry")
        assert widest < (0.01 if expected[0].dtype == np.float32 else 0.05)
        a, b = (x.astype(np.float64) for x in case.arguments)
        logits = a @ b
        logits[:, 7] -= a[:, 3] * b[3, 7]  # one term of one column's product is missing
        dropped = np.exp(logits - logits.max(axis=1, keepdims=True))
        one = right.copy()
        one[5, np.argmax(right[5])] *= 1.06
        wrong = {"zero": 0 * right, "one element": one, "a dropped term": dropped / dropped.sum(axis=1, keepdims=True),
                 "one row too far": np.roll(right, 1, axis=0), "a sum without its last column": right / (1 - right[:, -1:])}  # fmt: skip
        for name, values in wrong.items():
            assert difference(case, [values.astype(expected[0].dtype)], expected, within), f"{case.name}: {name} is not seen"
