"""The order in which virtual GPUs execute a training step with collectives, and that it does not matter how steps are launched.

    pytest test/gpu/test_launches.py -k fsdp

The streams of a device, the executable's steps and `tilewright predict` of the same executable must have one order, because the communication that predict
calls exposed is that of its order. A timeline makes the runtime launch kernels one by one; without one they are graphs.
"""

import collections
import json
import os
import pathlib
import re
import subprocess
import xml.etree.ElementTree as xml

import pytest
from test_collectives import BUILD, TRAINING, start

STEPS = 2


def train(scheme, devices, *arguments, **variables):
    process = start("tilewright", devices, scheme, "--steps", STEPS, *arguments, script=TRAINING, **variables)
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error[-4000:]
    return json.loads(out)


def timeline(path):
    """The names that each row has, in the order in which they were executed; "cuda:0" has kernels and copies, "collectives 0" collectives."""
    events = json.loads(path.read_text())["traceEvents"]
    rows = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    names = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["cat"] in ("kernel", "copy", "collective"):
            names[rows[event["tid"]]].append(event["name"])
    return names


def steps_of(dump):
    """(kind, name) of the steps in the order of the plan; kinds are compute, start and done."""
    (schedule,) = (each for each in dump.rglob("*-schedule.mlir") if "exec.collective_start" in each.read_text())
    steps, names, places = [], {}, {}
    for line in schedule.read_text().splitlines():
        place = re.search(r"exec\.slices = (\[[^]]*\])", line)
        if value := re.match(r" *(%\w+) = ", line):
            places[value[1]] = place and place[1]
        if found := re.search(r"= exec\.launch @(\w+)\(", line):
            steps.append(("compute", found[1]))
        elif "= exec.rank_id(" in line:
            steps.append(("compute", "rank_id"))
        elif found := re.search(r"= exec\.copy (%\w+) ", line):
            if places.get(found[1]) != place[1]:  # else it is where it should be
                steps.append(("compute", "copy"))
        elif found := re.search(r"exec\.collective_start <kind = (\w+).* id = (\d+) :", line):
            names[found[2]] = f"{found[1]}.{found[2]}"
            steps.append(("start", names[found[2]]))
        elif found := re.search(r"exec\.collective_done\(.* id = (\d+) :", line):
            steps.append(("done", names[found[1]]))
    return steps


def predicted(executable, devices, folder):
    """Spans (begin, seconds, name) of predict's two clocks, kernels and exchanges, and the report's exposed seconds."""
    picture = folder / "predicted.svg"
    tool = BUILD / "bin/tilewright"
    report = subprocess.run([tool, "predict", executable, f"--cluster=h100x{devices}", f"--picture={picture}"], check=True, capture_output=True, text=True).stdout
    units = {"us": 1e-6, "ms": 1e-3, "s": 1}
    spans = {"#0072B2": [], "#E69F00": []}  # the colours of kernels and of communication
    for box in xml.fromstring(picture.read_text()).iter("{http://www.w3.org/2000/svg}rect"):
        title = box.find("{http://www.w3.org/2000/svg}title")
        if title is not None and box.get("fill") in spans:
            name, seconds, unit = re.fullmatch(r"(.*): ([0-9.]+) (us|ms|s) from .*", title.text).groups()
            spans[box.get("fill")].append((name, float(seconds) * units[unit]))
    value, unit = re.search(r"^exposed +([0-9.]+) (us|ms|s)\b", report, re.MULTILINE).groups()
    return *spans.values(), float(value) * units[unit]


def exposed_by(steps, kernels, exchanges):
    """The seconds for which a device waits if its streams execute these steps, and kernels and exchanges take as long as predicted."""
    now = lane = waiting = 0.0
    kernels, exchanges, ends = iter(kernels), dict(exchanges), {}
    for kind, name in steps:
        if kind == "compute":
            known, seconds = next(kernels)
            assert known == name
            now += seconds
        elif kind == "start":  # collectives of a device run one after the other
            lane = ends[name] = max(now, lane) + exchanges[name]
        else:
            waiting += max(0.0, ends[name] - now)
            now = max(now, ends[name])
    return waiting


@pytest.mark.parametrize("scheme, devices", [("fsdp", 4), ("dp", 8), ("fsdp", 8), ("tp", 8), ("moe-ep", 8)])
def test_predict_has_the_order_of_the_streams(scheme, devices, tmp_path):
    executable, trace, dump = tmp_path / "step.twx", tmp_path / "trace.json", tmp_path / "dump"
    train(scheme, devices, "--executable", executable, TILEWRIGHT_TRACE_FILE=str(trace), TILEWRIGHT_COMPILE_DUMP_DIR=str(dump))
    rows, steps = timeline(trace), steps_of(dump)
    kernels, exchanges, exposed = predicted(executable, devices, tmp_path)
    starts = [name for kind, name in steps if kind == "start"]
    assert starts and len(kernels) >= 20
    assert [name for name, _ in exchanges] == starts
    assert [name for name, _ in kernels] == [name for kind, name in steps if kind == "compute"]
    for device in range(devices):
        assert rows[f"collectives {device}"] == starts * STEPS, "the lane of a device has another order than the plan"
        assert rows[f"cuda:{device}"] == [name for name, _ in kernels] * STEPS, "the stream of a device has another order than the plan"
    # The report has three digits, and spans are rounded to tenths of a microsecond.
    waiting = exposed_by(steps, kernels, exchanges)
    print(f"{scheme} on {devices}: {len(kernels)} kernels, {len(starts)} collectives; exposed {exposed * 1e6:.1f} us in predict, {waiting * 1e6:.1f} us by the streams")
    assert waiting == pytest.approx(exposed, abs=1e-7 * len(steps))


@pytest.mark.parametrize("scheme, devices", [("fsdp", 4), ("dp", 8), ("tp", 8), ("moe-ep", 8)])
def test_graphs_and_single_launches_give_equal_bits(scheme, devices, tmp_path):
    graphs, single = train(scheme, devices), train(scheme, devices, TILEWRIGHT_TRACE_FILE=str(tmp_path / "trace.json"))
    assert os.path.getsize(tmp_path / "trace.json") > 0
    assert graphs == single
