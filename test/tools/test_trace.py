"""The timeline of `--trace`: stages, passes, kernels, threads and memory, in a consistent order."""

import collections
import json
import os
import pathlib
import subprocess

import pytest

TOOL = pathlib.Path(os.environ["TILEWRIGHT_BUILD_DIR"]) / "bin" / "tilewright"
STAGES = ["import", "distribute", "simplify", "fuse", "tile", "lower", "schedule", "code"]

# A softmax of rows: large enough that several threads take part.
SOFTMAX = """
func.func @main(%x: tensor<2048x512xf32>) -> tensor<2048x512xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<2048x512xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x512xf32>, tensor<f32>) -> tensor<2048xf32>
  %b = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<2048xf32>) -> tensor<2048x512xf32>
  %r = stablehlo.divide %e, %b : tensor<2048x512xf32>
  %s = stablehlo.dot_general %r, %r, contracting_dims = [1] x [1] : (tensor<2048x512xf32>, tensor<2048x512xf32>) -> tensor<2048x2048xf32>
  %t = stablehlo.slice %s [0:2048, 0:512] : (tensor<2048x2048xf32>) -> tensor<2048x512xf32>
  %u = stablehlo.add %t, %r : tensor<2048x512xf32>
  return %u : tensor<2048x512xf32>
}
"""


def tilewright(*arguments, code=0, **environment):
    done = subprocess.run(
        [TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "softmax.mlir"
    path.write_text(SOFTMAX)
    return path


class Timeline:
    """What Perfetto would show of a file."""

    def __init__(self, path):
        events = json.loads(path.read_text())["traceEvents"]
        self.threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        self.spans = [e for e in events if e["ph"] == "X"]
        self.counters = collections.defaultdict(list)
        for event in sorted((e for e in events if e["ph"] == "C"), key=lambda e: e["ts"]):
            self.counters[event["name"]].append(event["args"]["value"])

    def names(self, category):
        chosen = [span for span in self.spans if span["cat"] == category]
        return [span["name"] for span in sorted(chosen, key=lambda span: span["ts"])]

    def span(self, name):
        [found] = [span for span in self.spans if span["name"] == name]
        return found

    def check_nesting(self):
        """On one thread, two spans are nested or disjoint."""
        for thread in {span["tid"] for span in self.spans}:
            mine = [span for span in self.spans if span["tid"] == thread]
            open_ends = []
            for span in sorted(mine, key=lambda span: (span["ts"], -span["dur"])):
                end = span["ts"] + span["dur"]
                while open_ends and open_ends[-1] <= span["ts"] + 1e-6:
                    open_ends.pop()
                # The writer rounds to nanoseconds.
                assert not open_ends or end <= open_ends[-1] + 2e-3, span
                open_ends.append(end)


def test_compile_shows_stages_passes_and_memory(program, tmp_path):
    tilewright("compile", program, f"--output={tmp_path}/s.twx", f"--trace={tmp_path}/t.json")
    timeline = Timeline(tmp_path / "t.json")
    timeline.check_nesting()
    compile_spans = timeline.names("compile")
    assert [name for name in compile_spans if name in STAGES] == STAGES
    fuse, fuse_pass = timeline.span("fuse"), timeline.span("fuse-group")
    assert fuse_pass["cat"] == "pass"
    assert fuse["ts"] <= fuse_pass["ts"] and fuse_pass["ts"] + fuse_pass["dur"] <= fuse["ts"] + fuse["dur"]
    assert timeline.threads[fuse["tid"]] == "compiler"
    assert timeline.threads[timeline.span("import")["tid"]] == "main"
    resident = timeline.counters["resident bytes"]
    assert len(resident) > len(STAGES) and min(resident) > 1 << 20


def test_kernels_that_differ_are_compiled_on_all_cores(tmp_path):
    # Products keep the exponentials apart, and all shapes are different.
    lines, types = [], []
    for i in range(24):
        types.append(f"tensor<{i + 8}x{i + 8}xf32>")
        lines.append(f"  %m{i} = stablehlo.dot_general %x{i}, %x{i}, contracting_dims = [1] x [0] : ({types[i]}, {types[i]}) -> {types[i]}")
        lines.append(f"  %e{i} = stablehlo.exponential %m{i} : {types[i]}")
    parameters = ", ".join(f"%x{i}: {kind}" for i, kind in enumerate(types))
    results = ", ".join(f"%e{i}" for i in range(24)) + " : " + ", ".join(types)
    body = "\n".join(lines)
    (tmp_path / "p.mlir").write_text(f"func.func @main({parameters}) -> ({', '.join(types)}) {{\n{body}\n  return {results}\n}}")
    tilewright("compile", tmp_path / "p.mlir", f"--trace={tmp_path}/t.json")
    timeline = Timeline(tmp_path / "t.json")
    threads = {timeline.threads[span["tid"]] for span in timeline.spans if span["name"] == "emit object code"}
    assert len(threads) == min(os.cpu_count(), 24 // 6)
    assert threads <= {"compiler", "code 1", "code 2", "code 3"}


def test_run_shows_kernels_threads_and_buffers(program, tmp_path):
    tilewright("run", program, "--on=cpu", "--input=2048x512xf32=1", f"--output={tmp_path}/o",
               f"--trace={tmp_path}/t.json", f"--compile.dump-dir={tmp_path}/dump")  # fmt: skip
    timeline = Timeline(tmp_path / "t.json")
    timeline.check_nesting()
    [schedule] = (tmp_path / "dump").glob("*-schedule.mlir")
    kernels = timeline.names("kernel")
    assert kernels
    for kernel in kernels:
        assert f"exec.launch @{kernel}" in schedule.read_text() or f"@{kernel}" in schedule.read_text()
    assert timeline.names("library") == ["dot_general"]
    [program_span] = [span for span in timeline.spans if span["cat"] == "program"]
    for span in timeline.spans:
        if span["cat"] in ("kernel", "library"):
            assert program_span["ts"] <= span["ts"]
            assert span["ts"] + span["dur"] <= program_span["ts"] + program_span["dur"] + 2e-3
    # The product and its operands are in the arena.
    assert max(timeline.counters["live temporaries"]) >= 2048 * 2048 * 4
    # The parameter, the result and the temporaries.
    assert max(timeline.counters["bytes in use"]) >= 3 * 2048 * 512 * 4
    if os.cpu_count() > 1:
        helpers = {timeline.threads[span["tid"]] for span in timeline.spans if span["cat"] == "worker"}
        assert helpers and all(name.startswith("worker ") for name in helpers)


def test_the_variable_does_the_same_and_may_name_the_process(program, tmp_path):
    tilewright("compile", program, f"--output={tmp_path}/s.twx", TILEWRIGHT_TRACE_FILE=f"{tmp_path}/t-{{pid}}.json")
    [file] = tmp_path.glob("t-*.json")
    assert file.stem[2:].isdigit()
    assert "fuse" in Timeline(file).names("compile")


def test_a_command_that_fails_still_leaves_its_timeline(tmp_path):
    (tmp_path / "bad.mlir").write_text("not a program")
    tilewright("compile", tmp_path / "bad.mlir", f"--trace={tmp_path}/t.json", code=3)
    assert Timeline(tmp_path / "t.json").names("compile") == ["import"]


def test_a_file_that_cannot_be_written_is_named(program, tmp_path):
    done = tilewright("compile", program, f"--output={tmp_path}/s.twx", "--trace=/nonexistent/t.json", code=3)
    assert "E0007" in done.stderr and "/nonexistent/t.json" in done.stderr
