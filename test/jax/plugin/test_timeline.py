"""What the plugin reports on time and cost: the timeline, the profiler, the analyses of a compiled function."""

import json

PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
@jax.jit
def step(x, w):
    return jnp.sum(jax.nn.softmax(x @ w), axis=0)
x = jnp.ones((256, 256))
kept = step(x, x).block_until_ready()
"""


def test_a_variable_writes_a_timeline_of_an_unchanged_script(script, tmp_path):
    script(PROGRAM, TILEWRIGHT_TRACE_FILE=str(tmp_path / "t.json"))
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {(event.get("cat"), event["name"]) for event in events}
    for stage in ("import", "simplify", "fuse", "tile", "schedule", "code"):
        assert ("compile", stage) in names
    assert ("program", "jit_step") in names
    assert ("library", "dot_general") in names
    assert any(category == "kernel" for category, _ in names)
    assert any(event["name"] == "bytes in use" and event["args"]["value"] >= 1 << 18 for event in events)
    assert {"main", "compiler"} <= {event["args"]["name"] for event in events if event["name"] == "thread_name"}


def test_the_profiler_of_jax_sees_our_kernels(script, tmp_path):
    text = PROGRAM + f"""
with jax.profiler.trace({str(tmp_path)!r}):
    step(x, x).block_until_ready()
step(x, x).block_until_ready()  # after the session: not in it
import glob
[file] = glob.glob({str(tmp_path)!r} + "/plugins/profile/*/*.xplane.pb")
data = jax.profiler.ProfileData.from_file(file)
[plane] = [plane for plane in data.planes if "Tilewright" in plane.name]
for line in plane.lines:
    for event in line.events:
        # From the begin of the session, if our clock is that of the other planes.
        assert 0 <= event.start_ns < 60e9 and event.duration_ns >= 0, event.start_ns
        print(dict(event.stats).get("category"), event.name)
"""
    events = [line.split(" ", 1) for line in script(text).splitlines()]
    assert ["program", "jit_step"] in events
    assert events.count(["library", "dot_general"]) == 1
    assert any(category == "kernel" for category, _ in events)


def test_a_session_and_a_file_share_the_recorder(script, tmp_path):
    text = PROGRAM + f"""
with jax.profiler.trace({str(tmp_path / "profile")!r}):
    step(x, x).block_until_ready()
step(x, x).block_until_ready()
"""
    script(text, TILEWRIGHT_TRACE_FILE=str(tmp_path / "t.json"))
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert sum(event["name"] == "jit_step" and event.get("cat") == "program" for event in events) == 3


def test_costs_and_memory_of_a_compiled_function(script):
    script("""
import jax, jax.numpy as jnp
f = jax.jit(lambda x, w: jnp.exp(x @ w) + 1.0)
compiled = f.lower(jnp.ones((64, 128)), jnp.ones((128, 32))).compile()
costs = compiled.cost_analysis()
assert costs["flops"] == 2 * 64 * 128 * 32 + 64 * 32, costs
assert costs["flops of dot_general"] == 2 * 64 * 128 * 32, costs
assert costs["transcendentals"] == 64 * 32, costs
# Both operands and the result: the product computes what reads it.
assert costs["bytes accessed"] == 4 * (64 * 128 + 128 * 32 + 64 * 32), costs
memory = compiled.memory_analysis()
assert memory.argument_size_in_bytes == 4 * (64 * 128 + 128 * 32)
assert memory.output_size_in_bytes == 4 * 64 * 32
assert memory.generated_code_size_in_bytes > 0
# As jaxlib counts, where both count the same things.
there = jax.jit(lambda x, w: x @ w, backend="cpu").lower(jnp.ones((64, 128)), jnp.ones((128, 32))).compile()
assert there.cost_analysis()["flops"] == costs["flops of dot_general"]
""", JAX_PLATFORMS="tilewright,cpu")
