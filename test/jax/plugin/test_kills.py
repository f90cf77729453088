"""Processes killed with SIGKILL while they compile leave a compile cache that still works.

The cache is JAX's own (jax_compilation_cache_dir), which writes its entries in place: a killed process may leave a
truncated entry. The plugin must then report an error instead of crashing, and JAX compiles again.
"""

import json

# A process that has imported JAX but has no backend yet forks one child after another, so that a kill costs a
# compile and not an import. Each child compiles programs that no other compiles, until it is killed.
KILLER = """
import json, os, random, signal, time
import jax, jax.numpy as jnp
jax.config.update("jax_compilation_cache_dir", "cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

def program(n):
    def body(x):
        for i in range(6):
            x = jnp.tanh(x @ x.T / (n + i + 1.0)) + jax.nn.softmax(x, axis=0)
        return x.sum() * n
    return body

def compile_from(first):
    for n in range(first, first + 4):
        jax.jit(program(n)).lower(jax.ShapeDtypeStruct((16, 16), jnp.float32)).compile()

def fork(first):
    child = os.fork()
    if child == 0:
        compile_from(first)
        os._exit(0)
    return child

kills, seed = int(os.environ["KILLS"]), int(os.environ["SEED"])
random.seed(seed)
def seconds(first):
    begin = time.monotonic()
    assert os.waitpid(fork(first), 0)[1] == 0
    return time.monotonic() - begin

whole = min(seconds(4 * n) for n in range(3))  # the first has everything to load
killed = 0
for n in range(3, kills + 3):
    child = fork(4 * n)
    time.sleep(random.uniform(0, whole))
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    killed += os.WIFSIGNALED(status)
    assert os.WIFSIGNALED(status) or status == 0, status
print(json.dumps({"killed": killed, "seconds of one child": whole}))
"""

# Runs all programs again in a new process: results must be right, and come from the cache where the entry is complete.
AFTER = """
import json, os, warnings
import numpy as np
exec(os.environ["KILLER"].split("kills, seed")[0])
from jax._src import monitoring
events = []
monitoring.register_event_listener(lambda name, **_: events.append(name.rsplit("/")[-1]))
x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)

def truth(n):
    y = x.astype(np.float64)
    for i in range(6):
        e = np.exp(y - y.max(axis=0))
        y = np.tanh(y @ y.T / (n + i + 1.0)) + e / e.sum(axis=0)
    return y.sum() * n

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in json.loads(os.environ["PROGRAMS"]):
        np.testing.assert_allclose(float(jax.jit(program(n))(x)), truth(n), rtol=1e-4, atol=1e-4, err_msg=str(n))
print(json.dumps({"hits": events.count("cache_hits"), "refused": sum("cache" in str(w.message) for w in caught)}))
"""


def test_the_cache_works_after_kills(script, tmp_path, pytestconfig):
    kills = pytestconfig.getoption("kills")
    report = json.loads(script(KILLER, KILLS=str(kills), SEED="7"))
    entries = list((tmp_path / "cache").glob("*-cache"))
    assert report["killed"] > kills * 0.5 and len(entries) > 4, (report, len(entries))

    # A kill rarely hits a write, so two entries are damaged by hand: one is truncated, one emptied.
    first = sorted(entries, key=lambda entry: entry.stat().st_mtime)[:2]
    first[0].write_bytes(first[0].read_bytes()[: first[0].stat().st_size // 2])
    first[1].write_bytes(b"")

    count = 4 * (kills + 3)
    programs = json.dumps(list(range(count)))
    after = json.loads(script(AFTER, KILLER=KILLER, PROGRAMS=programs))
    again = json.loads(script(AFTER, KILLER=KILLER, PROGRAMS=programs))
    print(report, len(entries), after, again)
    assert after["hits"] >= len(entries) - after["refused"] - 1, "whole entries are used"
    assert after["refused"] >= 1, "the entries damaged by hand are refused, not trusted"
    # JAX never replaces an entry, so only the damaged ones are compiled again.
    assert again["hits"] == count - again["refused"] and again["refused"] == after["refused"]
