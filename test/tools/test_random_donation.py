"""Random programs with donated parameters: results must not depend on which memory a program reuses.

The programs are small and consist of what affects memory reuse: parameters that are returned unchanged, in another order, reshaped,
twice, or unchanged only after simplification; ops that may work in place; loops and branches that pass on, swap and update values.
They compute on small integers, so that all results are exact. The reference is the evaluator, which reuses nothing.
"""

import os
import pathlib
import random
import subprocess

import numpy
import pytest

TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin" / "tilewright"

# Two shapes of equal size for each of two element types, a scalar, and a shape without elements.
SHAPES = {"4xf32": (4,), "2x2xf32": (2, 2), "f32": (), "4xi32": (4,), "2x2xi32": (2, 2), "0xf32": (0,)}
OTHER_SHAPE = {"4xf32": "2x2xf32", "2x2xf32": "4xf32", "4xi32": "2x2xi32", "2x2xi32": "4xi32"}
RESULTS_AT_MOST = 6


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = 0

    def name(self):
        self.names += 1
        return f"%v{self.names}"

    def pick(self, values, kind=None):
        return self.random.choice([v for v in values if kind is None or v[1] == kind])

    def op(self, values, lines, indent):
        """Appends an op on some of the values and gives its result."""
        value, kind = self.pick(values)
        other, _ = self.pick(values, kind)
        result = self.name()
        emit = lambda text: lines.append(f"{indent}{text}")  # noqa: E731
        choices = ["add", "negate", "double", "keep"]
        if kind in OTHER_SHAPE:
            choices += ["reshape"] * 3
        if kind.startswith("4x"):
            choices += ["empty", "rotate", "update"]
        if kind.startswith("2x2x"):
            choices += ["transpose"]
        what = self.random.choice(choices)
        t = f"tensor<{kind}>"
        if what == "add":
            emit(f"{result} = stablehlo.add {value}, {other} : {t}")
        elif what == "negate":
            emit(f"{result} = stablehlo.negate {value} : {t}")
        elif what == "double":
            emit(f"{result} = stablehlo.add {value}, {value} : {t}")
        elif what == "keep":  # b - b + a: only simplification finds that this is a
            difference = self.name()
            emit(f"{difference} = stablehlo.subtract {other}, {other} : {t}")
            emit(f"{result} = stablehlo.add {difference}, {value} : {t}")
        elif what == "reshape":
            to = OTHER_SHAPE[kind]
            emit(f"{result} = stablehlo.reshape {value} : ({t}) -> tensor<{to}>")
            kind = to
        elif what == "empty":  # concatenate([a[0:], b[:0]])
            nothing, element = self.name(), kind[2:]
            emit(f"{nothing} = stablehlo.slice {other} [0:0] : ({t}) -> tensor<0x{element}>")
            emit(f"{result} = stablehlo.concatenate {value}, {nothing}, dim = 0 : ({t}, tensor<0x{element}>) -> {t}")
        elif what == "rotate":
            a, b, element = self.name(), self.name(), kind[2:]
            emit(f"{a} = stablehlo.slice {value} [0:1] : ({t}) -> tensor<1x{element}>")
            emit(f"{b} = stablehlo.slice {value} [1:4] : ({t}) -> tensor<3x{element}>")
            emit(f"{result} = stablehlo.concatenate {b}, {a}, dim = 0 : (tensor<3x{element}>, tensor<1x{element}>) -> {t}")
        elif what == "update":
            part, at, element = self.name(), self.name(), kind[2:]
            emit(f"{part} = stablehlo.slice {other} [1:3] : ({t}) -> tensor<2x{element}>")
            emit(f"{at} = stablehlo.constant dense<{self.random.randint(0, 2)}> : tensor<i32>")
            emit(f"{result} = stablehlo.dynamic_update_slice {value}, {part}, {at} : ({t}, tensor<2x{element}>, tensor<i32>) -> {t}")
        elif what == "transpose":
            emit(f"{result} = stablehlo.transpose {value}, dims = [1, 0] : ({t}) -> {t}")
        return result, kind

    def ops(self, values, lines, indent, most):
        for _ in range(self.random.randint(0, most)):
            values.append(self.op(values, lines, indent))

    def chosen(self, values, kinds, held):
        """Values of the given kinds: often those that are held already, in another order."""
        return [self.pick(held if self.random.random() < 0.6 and any(v[1] == kind for v in held) else values, kind) for kind in kinds]

    def loop(self, values, lines, indent):
        state = [self.pick(values) for _ in range(self.random.randint(1, 4))]
        kinds = [kind for _, kind in state]
        arguments = [(self.name(), kind) for kind in kinds]
        counter, one, go, following, result = (self.name() for _ in range(5))
        steps = "%steps" if self.random.random() < 0.7 else self.name()
        if steps != "%steps":
            lines.append(f"{indent}{steps} = stablehlo.constant dense<{self.random.randint(0, 4)}> : tensor<i32>")
        start = self.name()
        lines.append(f"{indent}{start} = stablehlo.constant dense<0> : tensor<i32>")
        pairs = ", ".join(f"{a} = {s}" for (a, _), (s, _) in zip(arguments, state))
        types = ", ".join(f"tensor<{kind}>" for kind in kinds)
        lines += [
            f"{indent}{result}:{len(state) + 1} = stablehlo.while({counter} = {start}, {pairs}) : tensor<i32>, {types}",
            f"{indent}cond {{",
            f"{indent}  {go} = stablehlo.compare LT, {counter}, {steps} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f"{indent}  stablehlo.return {go} : tensor<i1>",
            f"{indent}}} do {{",
        ]
        inner = values + arguments * 3
        self.ops(inner, lines, indent + "  ", 3)
        yielded = self.chosen(inner, kinds, arguments)
        lines += [
            f"{indent}  {one} = stablehlo.constant dense<1> : tensor<i32>",
            f"{indent}  {following} = stablehlo.add {counter}, {one} : tensor<i32>",
            f"{indent}  stablehlo.return {', '.join([following] + [name for name, _ in yielded])} : tensor<i32>, {types}",
            f"{indent}}}",
        ]
        values += [(f"{result}#{i + 1}", kind) for i, kind in enumerate(kinds)]

    def branch(self, values, lines, indent):
        kinds = [self.pick(values)[1] for _ in range(self.random.randint(1, 3))]
        zero, asks, result = self.name(), self.name(), self.name()
        types = ", ".join(f"tensor<{kind}>" for kind in kinds)
        lines += [
            f"{indent}{zero} = stablehlo.constant dense<2> : tensor<i32>",
            f"{indent}{asks} = stablehlo.compare LT, %steps, {zero} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f'{indent}{result}:{len(kinds)} = "stablehlo.if"({asks}) ({{',
        ]
        for last in (False, True):
            inner = list(values)
            self.ops(inner, lines, indent + "  ", 2)
            lines.append(f"{indent}  stablehlo.return {', '.join(n for n, _ in self.chosen(inner, kinds, values))} : {types}")
            lines.append(f"{indent}}}) : (tensor<i1>) -> ({types})" if last else f"{indent}}}, {{")
        values += [(f"{result}#{i}" if len(kinds) > 1 else result, kind) for i, kind in enumerate(kinds)]

    def program(self):
        parameters = [(f"%p{i}", self.random.choice(list(SHAPES))) for i in range(self.random.randint(1, 5))]
        values, lines = list(parameters), []
        for _ in range(self.random.randint(0, 3)):
            what = self.random.random()
            if what < 0.3:
                self.loop(values, lines, "  ")
            elif what < 0.45:
                self.branch(values, lines, "  ")
            else:
                self.ops(values, lines, "  ", 3)
        results = [
            self.pick(parameters if self.random.random() < 0.5 else values) for _ in range(self.random.randint(1, RESULTS_AT_MOST))
        ]
        named = set()
        declared = ["%steps: tensor<i32>"]
        for name, kind in parameters:
            fitting = [i for i, (_, of) in enumerate(results) if of == kind and i not in named]
            mark = self.random.random()
            if mark < 0.5 and fitting:
                named.add(at := self.random.choice(fitting))
                declared.append(f"{name}: tensor<{kind}> {{tf.aliasing_output = {at} : i32}}")
            elif mark < 0.85:
                declared.append(f"{name}: tensor<{kind}> {{jax.buffer_donor = true}}")
            else:
                declared.append(f"{name}: tensor<{kind}>")
        types = ", ".join(f"tensor<{kind}>" for _, kind in results)
        text = f"func.func @main({', '.join(declared)}) -> ({types}) {{\n" + "\n".join(lines)
        text += f"\n  return {', '.join(name for name, _ in results)} : {types}\n}}\n"
        return text, [kind for _, kind in parameters], len(results)

    def inputs(self, kinds):
        arrays = [numpy.array(self.random.randint(0, 4), numpy.int32)]
        for kind in kinds:
            element = numpy.float32 if kind.endswith("f32") else numpy.int32
            count = int(numpy.prod(SHAPES[kind]))
            arrays.append(numpy.array([self.random.randint(1, 9) for _ in range(count)], element).reshape(SHAPES[kind]))
        return arrays


def run(folder, jobs, name, *flags):
    """Runs all jobs in one process and gives the results of each."""
    lines = []
    for number, (program, inputs, _) in enumerate(jobs):
        lines.append(" ".join([str(program), *map(str, inputs), "->", str(folder / f"{name}-{number}-")]))
    (folder / f"{name}.list").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [TOOL, "run", f"--batch={folder / f'{name}.list'}", *flags], capture_output=True, text=True, timeout=1800
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return [
        [numpy.load(folder / f"{name}-{number}-{i}.npy") for i in range(count)] for number, (_, _, count) in enumerate(jobs)
    ]


def compare(folder, seed, count, ways):
    jobs, texts = [], []
    for number in range(count):
        generator = Generator(f"{seed}/{number}")
        text, kinds, results = generator.program()
        program = folder / f"{number}.mlir"
        program.write_text(text)
        inputs = []
        for i, array in enumerate(generator.inputs(kinds)):
            numpy.save(path := folder / f"{number}-in{i}.npy", array)
            inputs.append(path)
        jobs.append((program, inputs, results))
        texts.append(text)
    judged = run(folder, jobs, "judge")
    for name, flags in ways.items():
        for number, (ours, right) in enumerate(zip(run(folder, jobs, name, *flags), judged)):
            for i, (a, b) in enumerate(zip(ours, right)):
                assert a.dtype == b.dtype and numpy.array_equal(a, b), (
                    f"{name}, program {seed}/{number}, result {i}: {a.tolist()}, but evaluated {b.tolist()}\n{texts[number]}"
                )


def test_on_the_cpu(tmp_path, request):
    compare(tmp_path, request.config.getoption("--seed"), request.config.getoption("--programs"), {
        "kept": ["--on=cpu"],
        "donated": ["--on=cpu", "--donate=marked"],
        "all-donated": ["--on=cpu", "--donate=all", "--simplify.max-fold-elements=0"],
    })  # fmt: skip


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_on_the_virtual_gpu(chip, tmp_path, request):
    compare(tmp_path, f"{request.config.getoption('--seed')}-{chip}", max(5, request.config.getoption("--programs") // 25), {
        "kept": [f"--target=vgpu:{chip}"],
        "donated": [f"--target=vgpu:{chip}", "--donate=marked"],
    })  # fmt: skip


def test_the_generator_makes_what_it_is_for():
    """Loops, branches, swaps and parameters that are returned while another result takes their memory."""
    texts = [Generator(f"0/{number}").program()[0] for number in range(200)]
    for part in ("stablehlo.while", "stablehlo.if", "tf.aliasing_output", "jax.buffer_donor", "dynamic_update_slice", "[0:0]"):
        assert sum(part in text for text in texts) >= 10, part
