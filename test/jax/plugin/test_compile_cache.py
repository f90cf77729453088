"""The compile cache (compile.cache-dir): a second process loads what the first one compiled, and no accident makes a result wrong."""

import json
import random

import pytest
from killed_compilations import KILLER, PROGRAMS

# PROGRAMS in the environment says which programs; prints the seconds of all compilations.
RUN = PROGRAMS + """
seconds = 0
for n in json.loads(os.environ["PROGRAMS"]):
    lowered = jax.jit(program(n)).lower(jax.ShapeDtypeStruct((16, 16), jnp.float32))
    begin = time.perf_counter()
    made = lowered.compile()
    seconds += time.perf_counter() - begin
    np.testing.assert_allclose(float(made(x)), truth(n), rtol=1e-4, atol=1e-4, err_msg=str(n))
print(json.dumps(seconds))
"""


@pytest.fixture
def cached(script, tmp_path):
    """Runs programs in a process of their own with the cache in `tmp_path / "cache"`; (seconds of compilations, names of entries)."""
    folder = tmp_path / "cache"

    def run(programs, **variables):
        programs = list(programs)
        printed = script(RUN, timeout=300 + len(programs), PROGRAMS=json.dumps(programs), TILEWRIGHT_COMPILE_CACHE_DIR=str(folder), **variables)
        return json.loads(printed.splitlines()[-1]), {entry.name for entry in folder.glob("*.tilewright")}

    return run


def test_a_second_process_loads_what_the_first_compiled(cached):
    first, entries = cached(range(4))
    second, same = cached(range(4))
    print(f"4 programs: compiled in {first:.2f} s, loaded in {second:.2f} s")
    assert len(entries) >= 4 and same == entries
    assert second < first / 2
    _, more = cached(range(5))
    assert len(more) == len(entries) + 1
    # Options that change code have entries of their own.
    _, others = cached(range(4), TILEWRIGHT_FUSE_MAX_OPS="3")
    assert len(others) >= len(more) + 4


def test_damaged_entries_are_compiled_again(cached, tmp_path):
    _, entries = cached(range(4))
    paths = sorted((tmp_path / "cache").glob("*.tilewright"))
    random.seed(3)
    for path in paths:
        content = bytearray(path.read_bytes())
        at = random.randrange(len(content))
        content[at] ^= 1 << random.randrange(8)
        path.write_bytes(content[: random.choice([len(content), at])])
    _, again = cached(range(4))
    assert again == entries


def test_the_size_is_bounded(cached, tmp_path):
    _, entries = cached(range(2))
    size = sum(entry.stat().st_size for entry in (tmp_path / "cache").glob("*.tilewright"))
    cached(range(8), TILEWRIGHT_COMPILE_CACHE_BYTES=str(size))
    assert sum(entry.stat().st_size for entry in (tmp_path / "cache").glob("*.tilewright")) <= size


def test_a_folder_that_cannot_be_written_is_named_once(script):
    text = RUN.replace("print(json.dumps(seconds))", "print('done')")
    printed = script("import os, sys; os.dup2(1, 2)\n" + text, PROGRAMS="[1, 2, 3]", TILEWRIGHT_COMPILE_CACHE_DIR="/dev/null/cache")
    assert "done" in printed
    assert printed.count("E2108 ") == 1 and "/dev/null/cache" in printed, printed


def test_processes_that_are_killed_leave_a_cache_that_works(script, cached, tmp_path, pytestconfig):
    kills = pytestconfig.getoption("kills")
    printed = script(PROGRAMS + KILLER, timeout=300 + kills, KILLS=str(kills), TILEWRIGHT_COMPILE_CACHE_DIR=str(tmp_path / "cache"))
    killed = json.loads(printed)["killed"]
    before = len(list((tmp_path / "cache").glob("*.tilewright")))
    assert killed > kills * 0.5 and before > 4, (killed, before)
    count = 4 * (kills + 3)
    _, after = cached(range(count))
    seconds, again = cached(range(count))
    print(f"{killed} of {kills} killed, {before} entries left; {len(after)} after all {count} programs ran, loaded again in {seconds:.1f} s")
    assert again == after and len(after) >= count
