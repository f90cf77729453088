"""Several processes of this host, through jax.distributed.initialize: devices, collectives, deaths, disagreements."""

import os
import pathlib
import socket
import subprocess
import sys
import time

import pytest
from conftest import LIBRARY, ROOT

START = """
import os, sys, time
from tilewright import jax_plugin; jax_plugin.initialize()
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
RANK, COUNT = int(os.environ["RANK"]), int(os.environ["COUNT"])
jax.distributed.initialize(os.environ["COORDINATOR"], num_processes=COUNT, process_id=RANK)
"""

SETUP = START + """
ALL = jax.device_count()
mesh = jax.make_mesh((ALL,), ("i",), axis_types=(AxisType.Auto,))
rows = NamedSharding(mesh, P("i"))
everywhere = NamedSharding(mesh, P())

def spread(x):
    return jax.make_array_from_callback(x.shape, rows, lambda index: x[index])

def mapped(f):
    f = jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False)
    return jax.jit(f, out_shardings=rows)

def check(y, wanted):
    assert y.shape == wanted.shape, (y.shape, wanted.shape)
    assert len(y.addressable_shards) == jax.local_device_count()
    for shard in y.addressable_shards:
        assert shard.data.shape[0] == wanted.shape[0] // len(y.sharding.device_set)
        np.testing.assert_array_equal(np.asarray(shard.data), wanted[shard.index])
"""


def environment_of(count, devices=1, hosts=None):
    """The variables of all processes of a job; each process also needs its RANK."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "TILEWRIGHT_"))}
    return kept | {
        "TILEWRIGHT_LIBRARY": str(LIBRARY),
        "PYTHONPATH": str(ROOT / "python"),
        "TILEWRIGHT_RUNTIME_DEVICES": str(devices),
        "COORDINATOR": f"{'10.83.9.1' if hosts else '127.0.0.1'}:{port}",
        "COUNT": str(count),
    }


class Job:
    """Processes that run the same script, or each its own."""

    def __init__(self, folder, count, text, devices=1, hosts=None, **variables):
        """`hosts`: names of network namespaces to distribute the processes over; the first has 10.83.9.1."""
        place = [["ip", "netns", "exec", hosts[rank * len(hosts) // count]] if hosts else [] for rank in range(count)]
        environment = environment_of(count, devices, hosts) | variables
        self.logs = [folder / f"{rank}.log" for rank in range(count)]
        self.processes = [
            subprocess.Popen(
                [*place[rank], sys.executable, "-c", text],
                env=environment | {"RANK": str(rank)}, cwd=folder, stdout=log.open("w"), stderr=subprocess.STDOUT,
            )
            for rank, log in enumerate(self.logs)
        ]  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def text(self, rank):
        return self.logs[rank].read_text()

    def wait(self, ranks=None, seconds=240):
        """Waits until these processes have ended without an error; returns their output."""
        until = time.monotonic() + seconds
        ranks = range(len(self.processes)) if ranks is None else ranks
        for rank in ranks:
            try:
                code = self.processes[rank].wait(max(until - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                code = "still running"
            logs = "".join(f"--- {n}\n{self.text(n)[-3000:]}" for n in range(len(self.processes)))
            assert code == 0, f"process {rank} ended with {code}\n{logs}"
        return [self.text(rank) for rank in ranks]

    def wait_for(self, rank, word, seconds=240):
        until = time.monotonic() + seconds
        while word not in self.text(rank):
            assert time.monotonic() < until and self.processes[rank].poll() is None, self.text(rank)
            time.sleep(0.02)


DEVICES = """
assert jax.process_count() == COUNT and jax.process_index() == RANK
assert [d.id for d in jax.devices()] == list(range(ALL)), jax.devices()
local = ALL // COUNT
assert [d.process_index for d in jax.devices()] == [i // local for i in range(ALL)]
assert [d.id for d in jax.local_devices()] == list(range(RANK * local, (RANK + 1) * local))
# A program of one process needs no other process.
np.testing.assert_array_equal(jax.jit(lambda x: x * 2 + RANK)(np.arange(3.0)), np.arange(3.0) * 2 + RANK)
"""

COLLECTIVES = """
for shape in (4, 1), (4, 3), (4 * ALL, 5), (ALL, 40000):
    # Sums of whole numbers are exact in every order.
    x = (np.arange(ALL * np.prod(shape)) % 97).astype(np.float32).reshape(ALL * shape[0], *shape[1:])
    parts = np.split(x, ALL)
    a = spread(x)
    check(mapped(lambda v: jax.lax.psum(v, "i"))(a), np.concatenate([sum(parts)] * ALL))
    check(mapped(lambda v: jax.lax.pmax(v, "i"))(a), np.concatenate([np.max(parts, axis=0)] * ALL))
    check(mapped(lambda v: jax.lax.all_gather(v, "i", tiled=True))(a), np.concatenate([x] * ALL))
    ring = [(n, (n + 1) % ALL) for n in range(ALL)]
    check(mapped(lambda v: jax.lax.ppermute(v, "i", ring))(a), np.concatenate(parts[-1:] + parts[:-1]))
    first = [(0, ALL - 1)]
    zeros = np.zeros_like(parts[0])
    check(mapped(lambda v: jax.lax.ppermute(v, "i", first))(a), np.concatenate([zeros] * (ALL - 1) + parts[:1]))
    if shape[0] % ALL == 0:
        pieces = [np.split(part, ALL) for part in parts]
        check(mapped(lambda v: jax.lax.all_to_all(v, "i", 0, 0, tiled=True))(a),
              np.concatenate([pieces[source][rank] for rank in range(ALL) for source in range(ALL)]))
        check(mapped(lambda v: jax.lax.psum_scatter(v, "i", tiled=True))(a), sum(parts))
    print("shape", shape, flush=True)
"""

TYPES = """
for kind in "int8 uint16 int32 bfloat16 float16 float64 bool complex64".split():
    x = (np.arange(ALL * 4) % 5 % 2).astype(jnp.dtype(kind)).reshape(ALL * 2, 2)
    with jax.enable_x64(True):
        check(mapped(lambda v: jax.lax.all_gather(v, "i", tiled=True))(spread(x)), np.concatenate([x] * ALL))
        if kind != "bool":
            total = sum(np.split(x, ALL)).astype(x.dtype)
            check(mapped(lambda v: jax.lax.psum(v, "i"))(spread(x)), np.concatenate([total] * ALL))
"""

PROGRAMS = """
# Loops, donation, groups of ranks, and a sharding that jit is to find by itself.
x = np.arange(ALL * 4, dtype=np.float32).reshape(ALL * 2, 2)
def loop(v):
    return jax.lax.fori_loop(0, 100, lambda n, v: jax.lax.pmean(v, "i") + jax.lax.axis_index("i"), v)
mean = np.mean(np.split(x, ALL), axis=0) + (ALL - 1) / 2 * 99
check(mapped(loop)(spread(x)), np.concatenate([mean + rank for rank in range(ALL)]))

half = [list(range(ALL // 2)), list(range(ALL // 2, ALL))]
parts = np.split(x, ALL)
check(mapped(lambda v: jax.lax.psum(v, "i", axis_index_groups=half))(spread(x)),
      np.concatenate([sum(parts[r] for r in half[rank // (ALL // 2)]) for rank in range(ALL)]))

a = spread(x)
y = jax.jit(lambda v: v + 1, donate_argnums=0, out_shardings=rows)(a)
check(y, x + 1)
assert a.is_deleted()
total = jax.jit(lambda v: jnp.sum(v * v), out_shardings=everywhere)(spread(x))
assert float(total) == float(np.sum(x * x)), total
np.testing.assert_array_equal(jax.device_put(x, everywhere).addressable_data(0), x)
# A gradient of what all have, from what each has.
w = np.array([[1, 2], [3, -1]], np.float32)
step = jax.jit(lambda w, v: w - jax.grad(lambda w: jnp.sum((v @ w) ** 2))(w))
y = step(jax.device_put(w, everywhere), spread(x))
assert y.sharding.is_fully_replicated
np.testing.assert_array_equal(y.addressable_data(0), w - 2 * x.T @ (x @ w))

from jax.experimental import multihost_utils
np.testing.assert_array_equal(multihost_utils.process_allgather(np.float32(RANK)), np.arange(COUNT, dtype=np.float32))
multihost_utils.sync_global_devices("here")
"""


@pytest.mark.parametrize("count, devices", [(2, 1), (4, 1), (2, 2)])
def test_everybody_computes(tmp_path, count, devices):
    with Job(tmp_path, count, SETUP + DEVICES + COLLECTIVES + TYPES + PROGRAMS + "print('well')", devices) as job:
        assert all("well" in text for text in job.wait())


@pytest.fixture
def two_hosts():
    """Two network namespaces, connected by a virtual cable."""
    names = [f"tw{os.getpid()}h{n}" for n in range(2)]
    ip = lambda *words: subprocess.run(["ip", *words], check=True, capture_output=True)  # noqa: E731
    try:
        try:
            ip("netns", "add", names[0])
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"cannot make network namespaces: {error}")
        ip("netns", "add", names[1])
        ip("link", "add", "veth0", "netns", names[0], "type", "veth", "peer", "veth0", "netns", names[1])
        for n, name in enumerate(names):
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "addr", "add", f"10.83.9.{n + 1}/24", "dev", "veth0")
            ip("-n", name, "link", "set", "veth0", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def test_everybody_computes_on_two_hosts(tmp_path, two_hosts):
    """Shared memory within each namespace, TCP between them."""
    text = SETUP + DEVICES + COLLECTIVES + PROGRAMS + "print('well')"
    with Job(tmp_path, 4, text, hosts=two_hosts) as job:
        assert all("well" in text for text in job.wait())


def test_everybody_computes_on_two_hosts_over_mpi(tmp_path, two_hosts):
    """Shared memory within each namespace, and an MPI with the standard ABI between them. The namespaces share a kernel, so
    this MPI sees a single host."""
    prefix = pathlib.Path(sys.executable).parent.parent
    library = prefix / "lib" / "libmpi_abi.so.1"
    assert library.exists(), f"requirements.txt has mpich, but there is no {library}"
    (tmp_path / "train.py").write_text(SETUP + DEVICES + COLLECTIVES + PROGRAMS + "print('well')")
    place = f'RANK=$PMI_RANK exec ip netns exec {two_hosts[0][:-1]}$((PMI_RANK / 2)) "$0" train.py'
    environment = environment_of(4, hosts=two_hosts) | {
        "TILEWRIGHT_RUNTIME_BETWEEN_HOSTS": "mpi",
        "TILEWRIGHT_RUNTIME_MPI_LIBRARY": str(library),
    }
    command = [prefix / "bin" / "mpiexec.hydra", "-localhost", "localhost", "-n", "4", "sh", "-c", place, sys.executable]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240
    )
    assert done.returncode == 0 and done.stdout.count("well") == 4, done.stdout[-5000:]


def test_some_processes_compute_without_the_others(tmp_path):
    text = """
for low in 0, 2:
    group = jax.devices()[low : low + 2]
    mesh = jax.sharding.Mesh(np.array(group), ("i",))
    rows = NamedSharding(mesh, P("i"))
    if jax.local_devices()[0] in group:
        for n in range(5):
            y = mapped(lambda v: jax.lax.psum(v, "i") + n)(spread(np.arange(2.0, dtype=np.float32)))
            check(y, np.full(2, 1.0 + n, np.float32))
mesh = jax.make_mesh((ALL,), ("i",), axis_types=(AxisType.Auto,))
rows = NamedSharding(mesh, P("i"))
check(mapped(lambda v: jax.lax.psum(v, "i"))(spread(np.arange(4.0, dtype=np.float32))), np.full(4, 6, np.float32))
"""
    with Job(tmp_path, 4, SETUP + text) as job:
        job.wait()


def test_survivors_of_a_killed_process_are_told_who(tmp_path):
    text = """
f = mapped(lambda v: jax.lax.psum(v, "i"))
x = spread(np.ones(ALL, np.float32))
check(f(x), np.full(ALL, ALL, np.float32))
print("ready", flush=True)
if RANK == 1:
    time.sleep(600)
try:
    f(x).block_until_ready()
    print("a sum without one of its ranks")
    os._exit(1)
except jax.errors.JaxRuntimeError as error:
    print(str(error))
    print("told", time.time(), flush=True)
# It goes on with what it can do alone, and hears the same again.
np.testing.assert_array_equal(jax.jit(lambda v: v + 1)(np.arange(3.0)), np.arange(3.0) + 1)
try:
    f(x).block_until_ready()
    os._exit(1)
except jax.errors.JaxRuntimeError as error:
    assert "E6003" in str(error), error
os._exit(0)  # the shutdown of jax.distributed waits for all processes
"""
    with Job(tmp_path, 3, SETUP + text) as job:
        for rank in range(3):
            job.wait_for(rank, "ready")
        time.sleep(0.3)
        job.processes[1].kill()
        killed = time.time()
        for told in job.wait([0, 2], seconds=60):
            # The message of the transport or of the membership group, depending on which noticed it first.
            words = f"rank 1 died: process 1 (pid {job.processes[1].pid})", "rank 1 of process 1: its process has ended"
            assert "E6003" in told and any(each in told for each in words), told
            assert "stopped in 'all_" in told, told
            delay = float(told.split("told ")[1].split()[0]) - killed
            print(f"told after {delay * 1e3:.0f} ms")
            assert delay < 5, told


def test_a_process_with_another_program_is_refused(tmp_path):
    text = """
f = mapped(lambda v: jax.lax.psum(v, "i") if RANK != 1 else jax.lax.pmax(v, "i"))
try:
    f(spread(np.ones(ALL, np.float32))).block_until_ready()
    os._exit(1)
except jax.errors.JaxRuntimeError as error:
    print(str(error), flush=True)
# All have refused it, so all can go on.
check(mapped(lambda v: jax.lax.psum(v, "i"))(spread(np.ones(ALL, np.float32))), np.full(ALL, ALL, np.float32))
print("went on")
"""
    with Job(tmp_path, 3, SETUP + text) as job:
        for said in job.wait():
            assert "E6013" in said and "process 1 has plan" in said and "went on" in said, said
            assert "add" in said and "max" in said, said


def test_a_process_that_does_not_come_is_named(tmp_path):
    text = """
if RANK == 1:
    time.sleep(600)
try:
    jax.devices()
    os._exit(1)
except RuntimeError as error:
    print(str(error), flush=True)
os._exit(0)
"""
    with Job(tmp_path, 2, START + text, TILEWRIGHT_RUNTIME_COLLECTIVE_TIMEOUT="2") as job:
        (said,) = job.wait([0], seconds=60)
        assert "E6032" in said and "for process 1 to create its client" in said, said


def test_processes_with_different_measurements_are_refused(tmp_path):
    """One process alone tunes its product; a job in which only one process has these measurements fails at once."""
    alone = environment_of(1) | {"TILEWRIGHT_RUNTIME_TUNE": "true", "TILEWRIGHT_RUNTIME_TUNING_FILE": "tuning-0"}
    product = "import jax, numpy as np; x = np.ones((64, 64), np.float32); jax.jit(lambda x: x @ x)(x).block_until_ready()"
    plugin = "from tilewright import jax_plugin; jax_plugin.initialize(); "
    subprocess.run([sys.executable, "-c", plugin + product], env=alone, cwd=tmp_path, check=True, timeout=120)
    text = """
os.environ["TILEWRIGHT_RUNTIME_TUNING_FILE"] = f"tuning-{RANK}"
start = time.monotonic()
try:
    jax.devices()
    os._exit(1)
except RuntimeError as error:
    print(str(error), flush=True)
print(f"refused after {time.monotonic() - start:.2f} s", flush=True)
os._exit(0)
"""
    with Job(tmp_path, 2, START + text) as job:
        for said in job.wait():
            print(said[said.index("refused after") :])
            assert "E6032" in said and "products with different choices: 1" in said, said
            assert "dot f32 f32 f32 64x64x64" in said and "no measurement in process 1" in said, said


def test_a_small_sum_costs_microseconds(tmp_path):
    """Prints the time, with a bound that only a wrong code path exceeds: test machines are busy."""
    text = """
f = mapped(lambda v: jax.lax.psum(v, "i"))
many = mapped(lambda v: jax.lax.fori_loop(0, 100, lambda _, v: jax.lax.psum(v, "i") * 0.5, v))
x = spread(np.ones(ALL, np.float32))
def time_of(g, times):
    best = []
    for _ in range(times):
        begin = time.perf_counter()
        g(x).block_until_ready()
        best.append(time.perf_counter() - begin)
    return np.median(best) * 1e6, np.min(best) * 1e6
for g in f, many:
    time_of(g, 20)
call, loop = time_of(f, 2000), time_of(many, 50)
print("microseconds", call[0], call[1], loop[0] / 100, loop[1] / 100)
"""
    with Job(tmp_path, 2, SETUP + text) as job:
        for said in job.wait():
            numbers = [float(word) for word in said.split("microseconds")[1].split()[:4]]
            print("4-byte psum, 2 processes: median %.1f us a call (best %.1f), %.2f us inside a loop (best %.2f)" % tuple(numbers))
            assert numbers[1] < 1000 and numbers[3] < 200, said
