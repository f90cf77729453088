"""All-reduce of f32 by our engines and by bare Open MPI, in one run; ratios, and raw TCP beside them.

    python -m bench.collective.peers BUILD [--rounds=3] [--hosts]

BUILD is an optimised build with the targets bench_allreduce and bench_rawtcp. Needs `mpirun` and `mpic++`
(Debian: openmpi-bin, libopenmpi-dev); `--hosts` needs root, for two network namespaces joined by a veth pair.
Everything runs under `chrt -r 1` if that is allowed, so that other work of the machine disturbs both alike. A figure is the
median over the rounds of the slowest rank's median; rounds of all alternate.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOSTS = {"twbench0": "10.83.7.1", "twbench1": "10.83.7.2"}
SIZES = {4: "4 B", 1024: "1 KiB", 65536: "64 KiB", 1048576: "1 MiB", 67108864: "64 MiB"}


def realtime():
    probe = subprocess.run(["chrt", "-r", "1", "true"], capture_output=True)
    return ["chrt", "-r", "1"] if probe.returncode == 0 else []


def parse(text):
    return {int(size): float(time) for size, time in (line.split() for line in text.splitlines() if line.strip())}


def together(commands, timeout=300):
    """Runs the commands concurrently; returns the slowest time for each size."""
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    try:
        outputs = [process.communicate(timeout=timeout)[0] for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
    if any(process.returncode for process in running):
        sys.exit(f"failed: {commands}")
    times = [parse(output) for output in outputs]
    return {size: max(each[size] for each in times) for size in times[0]}


class Bench:
    def __init__(self, build, scratch):
        self.build, self.scratch = pathlib.Path(build), scratch
        self.mpi = str(scratch / "bench_mpi")
        subprocess.run(["mpic++", "-O2", "-std=c++20", f"-I{ROOT}", str(ROOT / "bench/collective/Mpi.cpp"), "-o", self.mpi],
                       check=True)
        self.allreduce = str(self.build / "bench/collective/bench_allreduce")
        self.rawtcp = str(self.build / "bench/collective/bench_rawtcp")
        self.mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]

    def store(self):
        return tempfile.mkdtemp(dir=self.scratch)

    def shm(self, ranks, *kind):
        store = self.store()
        return together([realtime() + [self.allreduce, "shm", store, str(rank), str(ranks), *kind]
                         for rank in range(ranks)])

    def mpi_here(self, ranks):
        return together([realtime() + self.mpirun + ["-n", str(ranks), self.mpi]])

    def on(self, host, command):
        # Each namespace needs its own host name, or Open MPI takes both for the same machine.
        return ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c",
                f'hostname {host}; exec "$@"', "sh", *command]

    def between_hosts(self, engine):
        store = self.store()
        return together([self.on(host, realtime() + [self.allreduce, engine, store, str(rank), "2", address])
                         for rank, (host, address) in enumerate(HOSTS.items())])

    def raw_hosts(self):
        (first, address), (second, _) = HOSTS.items()
        return together([self.on(first, realtime() + [self.rawtcp, "listen", address]),
                         self.on(second, realtime() + [self.rawtcp, "connect", address])])

    def mpi_hosts(self):
        agent = self.scratch / "agent"
        agent.write_text('#!/bin/sh\nhost=$1; shift\n'
                         'exec ip netns exec $host unshare --uts sh -c "hostname $host; $*"\n')
        agent.chmod(0o755)
        first = next(iter(HOSTS))
        subnet = "10.83.7.0/24"
        return together([self.on(first, realtime() + self.mpirun + [
            "--mca", "plm_rsh_agent", str(agent), "--mca", "btl", "tcp,self", "--mca", "pml", "ob1",
            "--mca", "btl_tcp_if_include", subnet, "--mca", "oob_tcp_if_include", subnet,
            "-H", ",".join(f"{host}:1" for host in HOSTS), "-n", "2", *realtime(), self.mpi])])


def make_hosts():
    remove_hosts()
    (first, one), (second, other) = HOSTS.items()
    names = "127.0.0.1 localhost\n" + "".join(f"{address} {host}\n" for host, address in HOSTS.items())
    for host in HOSTS:
        pathlib.Path("/etc/netns", host).mkdir(parents=True)
        pathlib.Path("/etc/netns", host, "hosts").write_text(names)
        subprocess.run(["ip", "netns", "add", host], check=True)
        subprocess.run(["ip", "-n", host, "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "link", "add", "veth0", "netns", first, "type", "veth", "peer", "veth0", "netns", second],
                   check=True)
    for host, address in HOSTS.items():
        subprocess.run(["ip", "-n", host, "addr", "add", f"{address}/24", "dev", "veth0"], check=True)
        subprocess.run(["ip", "-n", host, "link", "set", "veth0", "up"], check=True)


def remove_hosts():
    for host in HOSTS:
        subprocess.run(["ip", "netns", "del", host], capture_output=True)
        shutil.rmtree(pathlib.Path("/etc/netns", host), ignore_errors=True)


def measure(rounds, **sides):
    """Returns the median over the rounds, for each contender and size."""
    times = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            times[name].append(run())
    return {name: {size: statistics.median(each[size] for each in runs) for size in runs[0]}
            for name, runs in times.items()}


def table(title, times, peer, rate=None):
    print(f"\n{title} (microseconds; ratio to {peer})\n")
    names = list(times)
    print("| size | " + " | ".join(names) + " | " + " | ".join(f"{name} / {peer}" for name in names if name != peer) +
          (f" | {rate}'s rate |" if rate else " |"))
    print("|---" * (2 * len(names) + (1 if rate else 0)) + "|")
    for size, label in SIZES.items():
        row = [f"{times[name][size]:.2f}" for name in names]
        row += [f"{times[name][size] / times[peer][size]:.2f}" for name in names if name != peer]
        if rate:
            row.append(f"{100 * times['raw TCP'][size] / times[rate][size]:.0f} %")
        print(f"| {label} | " + " | ".join(row) + " |")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--hosts", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tilewright-bench-") as scratch:
        bench = Bench(os.path.abspath(options.build), pathlib.Path(scratch))
        for ranks in (2, 4):
            times = measure(options.rounds, **{"Open MPI": lambda: bench.mpi_here(ranks), "shm": lambda: bench.shm(ranks),
                                               "shm, private": lambda: bench.shm(ranks, "private")})
            table(f"{ranks} processes on {os.cpu_count()} cores", times, "Open MPI")
        if not options.hosts:
            return
        make_hosts()
        try:
            times = measure(options.rounds, **{"Open MPI": bench.mpi_hosts, "raw TCP": bench.raw_hosts,
                                               "tcp": lambda: bench.between_hosts("tcp"),
                                               "ucx": lambda: bench.between_hosts("ucx")})
            table("Two hosts (network namespaces, veth)", times, "Open MPI", rate="tcp")
        finally:
            remove_hosts()


if __name__ == "__main__":
    main()
