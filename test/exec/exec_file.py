"""Programs with their inputs and results in comments: reads them, runs them on a backend, compares, and rewrites results."""

import dataclasses
import os
import pathlib
import re
import subprocess

import ml_dtypes
import numpy as np

TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build/dev")) / "bin/tilewright"
BACKENDS = {"evaluator": "--on=evaluator", "cpu": "--on=cpu", "vgpu:sm_80": "--target=vgpu:sm_80", "vgpu:sm_90a": "--target=vgpu:sm_90a"}
DIRECTIVE = re.compile(r"// (input|result|within|refused on [\w:]+): ?(.*)")
SECONDS = 240  # for all programs, which take 40 on a busy machine
REAL = r"-?(?:inf|nan|[\d.]+(?:e[+-]?\d+)?)"
DTYPES = {
    "i1": np.bool_, "bf16": ml_dtypes.bfloat16, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
    "i2": ml_dtypes.int2, "i4": ml_dtypes.int4, "ui2": ml_dtypes.uint2, "ui4": ml_dtypes.uint4,
    **{f"{prefix}{bits}": np.dtype(f"{kind}{bits}") for prefix, kind in (("i", "int"), ("ui", "uint")) for bits in (8, 16, 32, 64)},
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{name: np.dtype(getattr(ml_dtypes, f"float{name[1]}_{name[2:].lower()}"))
       for name in ("f4E2M1FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU")},
}  # fmt: skip


class Malformed(Exception):
    """A file breaks the format; the message names the file and the line."""


@dataclasses.dataclass
class Case:
    path: pathlib.Path
    inputs: list
    results: list
    ulps: int
    refusals: dict  # backend, or its part before the colon: the error's id

    def refusal(self, backend):
        return self.refusals.get(backend, self.refusals.get(backend.split(":")[0]))


def read(path):
    """The case of a file."""
    lines = path.read_text().splitlines()
    if not lines or not lines[0].startswith("/// "):
        raise Malformed(f"{path}:1: the first line must be `/// ` and what is tested")
    case = Case(path, [], [], 0, {})
    for number, line in enumerate(lines, 1):
        found = DIRECTIVE.fullmatch(line)
        if found is None:
            if line.startswith("// ") and re.match(r"// *(inputs?|results?|within|refused)\b", line):
                raise Malformed(f"{path}:{number}: not a directive: {line}")
            continue
        name, value = found.groups()
        try:
            if name in ("input", "result"):
                tensor(value)
                getattr(case, name + "s").append(value)
            elif name == "within":
                case.ulps = int(re.fullmatch(r"(\d+) ulps", value)[1])
            else:
                case.refusals[name.removeprefix("refused on ")] = re.fullmatch(r"E\d{4}", value)[0]
        except (KeyError, TypeError, ValueError) as error:
            raise Malformed(f"{path}:{number}: {line}: {error}") from error
    if not case.results:
        raise Malformed(f"{path}: has no line `// result: `")
    return case


def split(text):
    """("2x3xf32", "1,2,…") as (shape, element type's name, words)."""
    found = re.fullmatch(r"((?:\d+x)*)([a-zA-Z][^=]*)=(\S*)", text)
    if found is None:
        raise ValueError("a tensor is TYPE=VALUES, as 2x3xf32=1,2,3,4,5,6")
    if re.search(r"[=,]-0(?:,|$)", text):
        raise ValueError("write -0.0, so that it cannot be taken for the integer 0")
    return tuple(map(int, found[1].split("x")[:-1])), found[2], found[3].split(",") if found[3] else []


def number(word, dtype):
    if dtype == np.bool_:
        return {"true": True, "1": True, "false": False, "0": False}[word]
    if dtype.kind == "c":
        parts = re.fullmatch(rf"({REAL})(?:([+-]{REAL})i)?", word)
        return complex(float(parts[1]), float(parts[2] or 0))
    return int(word) if "int" in dtype.name else float(word)


def tensor(text):
    """The array that a text such as 2x3xf32=1,2,3,4,5,6 stands for."""
    shape, name, words = split(text)
    dtype = np.dtype(DTYPES[name])
    values = [number(word, dtype) for word in words]
    count = int(np.prod(shape))
    if len(values) != count and not (len(values) == 1 and count):
        raise ValueError(f"{count} elements, got {len(values)}")
    return np.array(values * (count if len(values) == 1 else 1), dtype).reshape(shape)


def spell(array, name):
    """The text of an array; one word if all elements have the same bits."""
    def real(x):
        text = str(x) if x.dtype in (np.float32, np.float64) else repr(float(x))
        return text if text == "-0.0" else text.removesuffix(".0")

    def word(x):
        if array.dtype == np.bool_:
            return str(bool(x)).lower()
        if array.dtype.kind == "c":
            imaginary = real(x.imag)
            return real(x.real) + ("" if imaginary.startswith("-") else "+") + imaginary + "i"
        return str(int(x)) if "int" in array.dtype.name else real(x)

    words = [word(x) for x in array.reshape(-1)]
    return "".join(f"{size}x" for size in array.shape) + f"{name}=" + ",".join(words[:1] if len(set(words)) == 1 else words)


def load(path, name):
    """An array that `tilewright run` wrote. NumPy has no names for small types: their bytes come back."""
    array, dtype = np.load(path), np.dtype(DTYPES[name])
    return array if array.dtype == dtype else array.view(dtype)


def equal(expected, got, ulps):
    """For each element, whether the result holds: the same bits, both NaN, or within `ulps` of the expected number."""
    if expected.dtype.kind == "c":
        parts = expected.real.dtype
        a, b = (np.ascontiguousarray(x).reshape(-1).view(parts).reshape(-1, 2) for x in (expected, got))
        holds = equal(a, b, 0)
        if ulps:  # of the larger part, since the other may be what is left of a cancellation
            with np.errstate(all="ignore"):
                holds |= np.abs(a - b) <= ulps * np.spacing(np.abs(a).max(axis=1, keepdims=True))
        return holds.all(axis=1).reshape(expected.shape)
    if "int" in expected.dtype.name or expected.dtype == np.bool_:
        return expected == got
    a, b = (np.ascontiguousarray(x).reshape(x.shape).view(f"u{x.dtype.itemsize}") for x in (expected, got))
    holds = (a == b) | (np.isnan(expected) & np.isnan(got))
    if ulps:
        sign = 1 << (8 * expected.dtype.itemsize - 1)
        a, b = (np.array([int(x) if x < sign else sign - int(x) for x in bits.reshape(-1)], object) for bits in (a, b))
        near = np.array(np.abs(a - b) <= ulps, bool).reshape(expected.shape)
        holds |= near & np.isfinite(expected) & np.isfinite(got)
    return holds


def difference(text, got, ulps):
    """Where a result is not what the text says, or None."""
    expected = tensor(text)
    if expected.shape != got.shape:
        return f"expected shape {list(expected.shape)}, got {list(got.shape)}"
    wrong = np.argwhere(~np.asarray(equal(expected, got, ulps)))
    if not len(wrong):
        return None
    at = tuple(map(int, wrong[0]))
    return f"{len(wrong)} of {got.size} elements, first at {list(at)}: expected {expected[at]}, got {got[at]}"


def run(cases, backend, folder):
    """Runs the cases in one process. {path: the array of each result, or the message of a failure}.

    If the process dies, the program that it was running failed, and another process goes on with the next.
    """
    jobs, outcomes = {}, {}
    for place, case in enumerate(cases):
        words = []
        for index, text in enumerate(case.inputs):
            if "complex" in text:  # the command line spells only real numbers
                np.save(folder / f"{place}-in{index}.npy", tensor(text))
                text = folder / f"{place}-in{index}.npy"
            words.append(str(text))
        jobs[str(case.path)] = (case, folder / f"{place}-out", " ".join([str(case.path), *words, "->", f"{folder / str(place)}-out"]))
    environment = {name: value for name, value in os.environ.items() if name != "TILEWRIGHT_BLESS"}
    while waiting := [name for name in jobs if name not in outcomes]:
        (folder / "list").write_text("".join(jobs[name][2] + "\n" for name in waiting))
        command = [TOOL, "run", BACKENDS[backend], f"--batch={folder / 'list'}"]
        with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=err)
            try:
                end = f"ended with code {process.wait(SECONDS)}"
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                end = f"did not end within {SECONDS} s"
        verdicts = re.split(r"^(ok|failed) (/.*)\n", (folder / "out").read_text(), flags=re.MULTILINE)[1:]
        for verdict, name, message in zip(verdicts[::3], verdicts[1::3], verdicts[2::3]):
            case, prefix, _ = jobs[name]
            outcomes[name] = message.strip() or "no message"
            if verdict == "ok":
                outcomes[name] = [load(f"{prefix}{i}.npy", split(text)[1]) for i, text in enumerate(case.results) if os.path.exists(f"{prefix}{i}.npy")]
                more = os.path.exists(f"{prefix}{len(case.results)}.npy")
                if more or len(outcomes[name]) != len(case.results):
                    outcomes[name] = f"the program has {'more' if more else 'fewer'} results than lines `// result: `"
        if len(verdicts) // 3 < len(waiting):
            outcomes[waiting[len(verdicts) // 3]] = f"the process {end}: {(folder / 'err').read_text().strip()[-500:]}"
    return {pathlib.Path(name): outcome for name, outcome in outcomes.items()}


def failures(cases, backend, folder):
    """What is wrong on a backend: one message for each program or result."""
    for path, outcome in run(cases, backend, folder).items():
        case = next(case for case in cases if case.path == path)
        where, refusal = f"{path} on {backend}", case.refusal(backend)
        if isinstance(outcome, str):
            if refusal is None or not outcome.startswith(refusal + " "):
                yield f"{where}: " + (f"must be refused with {refusal}, but: " if refusal else "") + outcome
        elif refusal is not None:
            yield f"{where}: runs now; remove the line `// refused on …: {refusal}`, or name only the backend that refuses"
        else:
            found = ((index, difference(text, got, case.ulps)) for index, (text, got) in enumerate(zip(case.results, outcome)))
            yield from (f"{where}: result {index}: {text}" for index, text in found if text)


def bless(cases, folder):
    """Rewrites the lines `// result: ` with the evaluator's results. Returns the files that changed."""
    changed = []
    for path, outcome in run(cases, "evaluator", folder).items():
        if isinstance(outcome, str):
            raise Malformed(f"{path}: not rewritten: {outcome}")
        case, text = next(case for case in cases if case.path == path), path.read_text()
        pairs = zip(case.results, outcome)
        lines = iter([old if difference(old, got, case.ulps) is None else spell(got, split(old)[1]) for old, got in pairs])
        new = re.sub(r"^// result: ?.*$", lambda _: f"// result: {next(lines)}", text, flags=re.MULTILINE)
        if new != text:
            path.write_text(new)
            changed.append(path)
    return changed
