"""Processes killed with SIGKILL while they compile leave a compile cache that still works.

The cache is JAX's own (jax_compilation_cache_dir), which writes its entries in place: a killed process may leave a
truncated entry. The plugin must then report an error instead of crashing, and JAX compiles again.
"""

import json

from killed_compilations import KILLER, PROGRAMS

# JAX's cache, before the first compilation.
CACHE = """
jax.config.update("jax_compilation_cache_dir", "cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
"""

# Runs all programs again in a new process: results must be right, and come from the cache where the entry is complete.
AFTER = PROGRAMS + CACHE + """
import warnings
from jax._src import monitoring
events = []
monitoring.register_event_listener(lambda name, **_: events.append(name.rsplit("/")[-1]))

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for n in json.loads(os.environ["PROGRAMS"]):
        np.testing.assert_allclose(float(jax.jit(program(n))(x)), truth(n), rtol=1e-4, atol=1e-4, err_msg=str(n))
print(json.dumps({"hits": events.count("cache_hits"), "refused": sum("cache" in str(w.message) for w in caught)}))
"""


def test_the_cache_works_after_kills(script, tmp_path, pytestconfig):
    kills = pytestconfig.getoption("kills")
    report = json.loads(script(PROGRAMS + CACHE + KILLER, KILLS=str(kills)))
    entries = list((tmp_path / "cache").glob("*-cache"))
    assert report["killed"] > kills * 0.5 and len(entries) > 4, (report, len(entries))

    # A kill rarely hits a write, so two entries are damaged by hand: one is truncated, one emptied.
    first = sorted(entries, key=lambda entry: entry.stat().st_mtime)[:2]
    first[0].write_bytes(first[0].read_bytes()[: first[0].stat().st_size // 2])
    first[1].write_bytes(b"")

    count = 4 * (kills + 3)
    programs = json.dumps(list(range(count)))
    after = json.loads(script(AFTER, PROGRAMS=programs))
    again = json.loads(script(AFTER, PROGRAMS=programs))
    print(report, len(entries), after, again)
    assert after["hits"] >= len(entries) - after["refused"] - 1, "whole entries are used"
    assert after["refused"] >= 1, "the entries damaged by hand are refused, not trusted"
    # JAX never replaces an entry, so only the damaged ones are compiled again.
    assert again["hits"] == count - again["refused"] and again["refused"] == after["refused"]
