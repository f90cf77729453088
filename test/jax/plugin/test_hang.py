"""Jobs that hang, and what `tilewright comm` reports on them: from JAX, with the source lines of the program."""

import json
import os
import pathlib
import subprocess
import time

import pytest
from conftest import ROOT
from test_processes import SETUP, Job

TOOL = pathlib.Path(os.environ.get("TILEWRIGHT_BUILD_DIR", ROOT / "build/dev")) / "bin/tilewright"

# The array is replicated, so the sum is the only collective. Each rank adds another term: a sum of equal terms would be a product.
LOOP = SETUP + """
f = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v * (jax.lax.axis_index("i") + 1), "i") * 2 / ALL / (ALL + 1), mesh=mesh,
                          in_specs=P(), out_specs=P(), check_vma=False), out_shardings=everywhere)
x = jax.make_array_from_callback((4,), everywhere, lambda index: np.ones(4, np.float32)[index])
for n in range(20):
    x = f(x).block_until_ready()
print("ready", flush=True)
"""


def comm(*arguments, code=0):
    done = subprocess.run([TOOL, "comm", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def explained(folder):
    """Waits until a rank has waited for a second; returns the explanation."""
    until = time.monotonic() + 60
    while True:
        done = subprocess.run([TOOL, "comm", "explain", folder, "--json"], capture_output=True, text=True, timeout=60)
        if done.returncode == 7 and done.stdout:
            assert "E6053" in done.stderr
            return json.loads(done.stdout)
        assert time.monotonic() < until, done.stdout + done.stderr
        time.sleep(0.1)


def test_the_rank_that_sleeps_is_named_with_the_line_of_the_program(tmp_path):
    notes = tmp_path / "notes"
    text = LOOP + """
if RANK == 1:
    time.sleep(600)
f(x).block_until_ready()
"""
    with Job(tmp_path, 2, text, TILEWRIGHT_RUNTIME_FLIGHT_RECORDER=str(notes)) as job:
        for rank in range(2):
            job.wait_for(rank, "ready")
        told = explained(notes)
        [stuck] = told["stuck"]
        assert stuck["missing"] == stuck["blamed"] == [1] and stuck["clique"] == [0, 1]
        assert [one["rank"] for one in stuck["waiting"]] == [0]
        assert stuck["collective"]["kind"] == "all_reduce" and stuck["sequence"] >= 20
        line = 1 + LOOP[: LOOP.index("f = jax.jit")].count("\n")
        assert stuck["collective"]["place"].startswith(f"<string>:{line}:"), stuck
        assert told["rankReports"][1]["pid"] == job.processes[1].pid
        assert told["rankReports"][1]["state"] == "runs"
        # The result is the same after both processes were killed.
        for process in job.processes:
            process.kill()
            process.wait()
        told = explained(notes)
        assert told["stuck"][0]["missing"] == [1] and told["rankReports"][0]["state"] == "gone"


def check_events(events):
    """Checks the parts of the trace format that Perfetto requires."""
    names = {}
    open_flows, slices = {}, []
    for event in events:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int) and event["ph"] in "XMCsf", event
        assert isinstance(event["name"], str)
        if event["ph"] == "M":
            names[event["name"], event["pid"], event["tid"]] = event["args"]["name"]
            continue
        assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0, event
        if event["ph"] == "X":
            assert event["dur"] >= 0, event
            slices.append(event)
        elif event["ph"] == "C":
            assert isinstance(event["args"]["value"], int)
        elif event["ph"] == "s":
            open_flows[event["id"]] = event
        else:
            begin = open_flows.pop(event["id"])
            assert event["bp"] == "e" and begin["ts"] <= event["ts"] + 2e-3
            for end in begin, event:
                assert any(
                    (s["pid"], s["tid"]) == (end["pid"], end["tid"]) and s["ts"] - 2e-3 <= end["ts"] <= s["ts"] + s["dur"] + 2e-3
                    for s in slices
                ), end
    assert not open_flows
    tracks = {}
    for event in slices:
        tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for track in tracks.values():
        ends = []
        for event in sorted(track, key=lambda e: (e["ts"], -e["dur"])):
            while ends and ends[-1] <= event["ts"] + 2e-3:
                ends.pop()
            assert not ends or event["ts"] + event["dur"] <= ends[-1] + 4e-3, event
            ends.append(event["ts"] + event["dur"])
    return names, slices


@pytest.mark.parametrize("devices", [1, 2])
def test_a_timeline_has_compute_and_communication_of_all_on_one_clock(tmp_path, devices):
    notes = tmp_path / "notes"
    variables = {"TILEWRIGHT_RUNTIME_FLIGHT_RECORDER": str(notes), "TILEWRIGHT_TRACE_FILE": str(tmp_path / "t.{pid}.json")}
    with Job(tmp_path, 2, LOOP, devices, **variables) as job:
        job.wait()
    assert "no rank waits for another" in comm("explain", notes)
    traces = list(tmp_path.glob("t.*.json"))
    assert len(traces) == 2
    out = tmp_path / "all.json"
    assert f"{2 * devices} ranks" in comm("timeline", notes, *traces, f"--output={out}")
    names, slices = check_events(json.loads(out.read_text())["traceEvents"])
    ranks = range(2 * devices)
    rows = {rank: pid for rank in ranks for (_, pid, _), text in names.items() if text.startswith(f"rank {rank}:")}
    assert sorted(rows) == list(ranks)
    meetings = {}
    for event in slices:
        if event["cat"] == "collective" and "collective" in event.get("args", {}):
            assert event["args"]["state"] == "done" and names["thread_name", event["pid"], event["tid"]].startswith("clique [")
            key = names["thread_name", event["pid"], event["tid"]], event["args"]["collective"]
            meetings.setdefault(key, {})[event["pid"]] = event
    everybody = [m for (clique, _), m in meetings.items() if clique.startswith(f"clique {list(ranks)}")]
    assert len(everybody) >= 20 and all(sorted(m) == sorted(rows.values()) for m in everybody)
    for meeting in everybody:
        last = max(event["ts"] for event in meeting.values())
        # All events are on the same clock: no rank ends a collective before the last one has begun it.
        assert all(event["ts"] + event["dur"] >= last - 1 for event in meeting.values()), meeting
    # The program's own spans enclose its collectives, on the same clock.
    programs = [event for event in slices if event["cat"] == "program"]
    for event in everybody[-1].values():
        mine = [p for p in programs if p["pid"] == event["pid"] or devices > 1]
        assert any(p["ts"] - 1 <= event["ts"] and event["ts"] + event["dur"] <= p["ts"] + p["dur"] + 1 for p in mine), event

    # A timeline of another process is rejected.
    foreign = json.loads(traces[0].read_text())
    foreign["otherData"]["pid"] = 1
    (tmp_path / "foreign.json").write_text(json.dumps(foreign))
    done = subprocess.run([TOOL, "comm", "timeline", notes, tmp_path / "foreign.json", f"--output={out}"], capture_output=True, text=True)
    assert done.returncode == 7 and "E6054" in done.stderr and "process 1, which is not one of the 2" in done.stderr


def test_devices_of_one_process_are_recorded_where_a_folder_is_named(script, tmp_path):
    text = """
import jax, jax.numpy as jnp
f = jax.pmap(lambda v: jax.lax.psum(v, "i"), axis_name="i")
for _ in range(5):
    f(jnp.ones((2, 3))).block_until_ready()
"""
    script(text, TILEWRIGHT_RUNTIME_DEVICES="2", TILEWRIGHT_RUNTIME_FLIGHT_RECORDER=str(tmp_path / "notes"))
    assert not json.loads(comm("explain", tmp_path / "notes", "--json"))["standsStill"]
    out = tmp_path / "all.json"
    comm("timeline", tmp_path / "notes", f"--output={out}")
    _, slices = check_events(json.loads(out.read_text())["traceEvents"])
    sums = [event for event in slices if event["args"]["kind"] == "all_reduce"]
    assert sorted(event["pid"] for event in sums) == [1] * 5 + [2] * 5
