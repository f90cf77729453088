"""Writes the measured tables that predict/ reads, from the CSV files of OpenXLA's published measurements.

    python make_tables.py FOLDER      with collective_perf.csv and gemm_perf.csv in FOLDER

The CSV files list the rows of xla/service/gpu/model/default_collective_perf_table.txtpb and default_matmul_perf_table.txtpb
(openxla/xla, Apache-2.0): facts that were measured through XLA, launch included. Of each curve of collectives every second size
becomes calibration data (collectives.inc); the other sizes are test data (../testing/held-out-collectives.inc).
"""

import collections
import csv
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
SOURCE = "openxla/xla default_collective_perf_table.txtpb, default_matmul_perf_table.txtpb (Apache-2.0)"
CHIPS = {"sm_90": "h100", "sm_100_B200": "b200", "sm_100_GB200": "gb200", "sm_103": "gb300", "gfx950": "mi355x"}
KINDS = {"all-reduce": "all_reduce", "all-gather": "all_gather", "reduce-scatter": "reduce_scatter", "all-to-all": "all_to_all"}
TYPES = {"bf16xbf16->bf16": "bf16", "f32xf32->f32": "f32", "f8e4m3fnxf8e4m3fn->bf16": "f8", "f16xf16->f16": "f16"}
SIZES = [256, 512, 1024, 2048, 4096]
BATCHES = [1, 2, 4]


def write(path, comment, lines):
    """A raw string literal, which a C++ file includes."""
    text = "\n".join(f"# {line}" for line in comment) + "\n" + "\n".join(lines)
    path.write_text(f'R"table({text}\n)table"\n')


def collectives(folder):
    curves = collections.defaultdict(dict)
    for row in csv.DictReader((folder / "collective_perf.csv").open()):
        key = (CHIPS[row["device"]], KINDS[row["op"]], int(row["ranks"]))
        curves[key][int(row["bytes_full"])] = float(row["time_us"])
    comment = [SOURCE, "chip kind ranks bytes:microseconds ...; bytes are those of the whole tensor: the operand of all_reduce,",
               "reduce_scatter and all_to_all, the result of all_gather"]  # fmt: skip
    for path, first in ((HERE / "collectives.inc", 0), (HERE.parent / "testing/held-out-collectives.inc", 1)):
        lines = []
        for key, curve in sorted(curves.items()):
            points = sorted(curve.items())[first::2]
            lines.append(" ".join([*map(str, key), *(f"{size}:{time:g}" for size, time in points)]))
        write(path, comment, lines)


def products(folder):
    rates = collections.defaultdict(dict)
    for row in csv.DictReader((folder / "gemm_perf.csv").open()):
        if row["types"] in TYPES:
            shape = tuple(int(row[name]) for name in ("batch", "m", "n", "k"))
            rates[CHIPS[row["device"]], TYPES[row["types"]]][shape] = float(row["flops_per_s"])
    comment = [SOURCE, "chip type, then TFLOP/s of products m x k times k x n for batch in 1 2 4, m, n, k in 256 512 1024 2048 4096, k fastest"]
    lines = []
    for key, table in sorted(rates.items()):
        values = [table[b, m, n, k] for b in BATCHES for m in SIZES for n in SIZES for k in SIZES]
        lines.append(" ".join([*key, *(f"{value / 1e12:.4g}" for value in values)]))
    write(HERE / "products.inc", comment, lines)


if __name__ == "__main__":
    collectives(pathlib.Path(sys.argv[1]))
    products(pathlib.Path(sys.argv[1]))
