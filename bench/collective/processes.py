"""Processes of a job that measure together."""

import json
import socket
import sys


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def slowest(running, what, timeout):
    """Waits for the processes, each of which prints its times as JSON; returns the slowest one's time for each row."""
    try:
        said = [process.communicate(timeout=timeout) for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
    if any(process.returncode for process in running):
        sys.exit(f"{what} failed:\n" + "".join(error[-3000:] for _, error in said))
    times = [json.loads(output.splitlines()[-1]) for output, _ in said]
    return {row: max(each[row] for each in times) for row in times[0]}
