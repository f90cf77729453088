"""Asks ptxas what it thinks of the instructions that the table allows, and of mutants.

    python ptxas_oracle.py PtxProbe [--per-row N] [--seed S] [--show N]

Prints how often ptxas and our table agree, for sm_80 and sm_90a. With --per-row 0 every form of every row is tried
(rows with more than 600 are sampled) and no mutants.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import tempfile

VERSION = "9.0"
PROLOG = """.version 9.0
.target sm_{target}
.address_size 64
.func device() {{ ret; }}
.visible .entry forms(.param .align 16 .b8 parameter[64])
{{
.reg .pred %p<40>; .reg .b8 %b<40>; .reg .b16 %h<300>; .reg .b32 %r<300>; .reg .b64 %d<300>; .reg .b128 %q<40>;
.param .align 16 .b8 argument[64];
targets: .branchtargets L;
"""
EPILOG = "L:\nret;\n}\n"
DIED = "ptxas died"
LINE = re.compile(r"line (\d+); (?:error|fatal)")

Form = collections.namedtuple("Form", "row version target kind text ours80 ours90a")


def find_ptxas():
    return shutil.which("ptxas") or ("/usr/local/cuda/bin/ptxas" if os.path.exists("/usr/local/cuda/bin/ptxas") else None)


def read_forms(probe, per_row, seed):
    output = subprocess.run([probe, "--forms", str(per_row), str(seed)], check=True, capture_output=True, text=True)
    return [Form(*line.split("\t")) for line in output.stdout.splitlines()]


def complaints(ptxas, texts, target):
    """{index: message} of the texts that ptxas rejects; only the first phase that reports errors."""
    prolog = PROLOG.format(target=target)
    first = prolog.count("\n") + 1
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(prolog + "".join(text + "\n" for text in texts) + EPILOG)
        file.flush()
        run = subprocess.run(
            [ptxas, "-O0", f"-arch=sm_{target}", file.name, "-o", os.devnull], capture_output=True, text=True, timeout=300
        )
    found = {}
    for line in run.stderr.splitlines():
        match = LINE.search(line)
        if match and first <= int(match[1]) < first + len(texts):
            found.setdefault(int(match[1]) - first, line.split(";", 1)[1].strip())
    if run.returncode != 0 and not found:
        if len(texts) == 1:
            found[0] = run.stderr.strip()[:200] or DIED
        else:  # a message without a line number: bisect to a single instruction
            middle = len(texts) // 2
            found = complaints(ptxas, texts[:middle], target)
            found.update({middle + i: m for i, m in complaints(ptxas, texts[middle:], target).items()})
    return found


def verdicts(ptxas, texts, target, batch=400):
    """The message of ptxas for each text, or None if it accepts it."""
    result = [None] * len(texts)
    for begin in range(0, len(texts), batch):
        indices = list(range(begin, min(begin + batch, len(texts))))
        while indices:
            found = complaints(ptxas, [texts[i] for i in indices], target)
            if not found:
                break
            for position, message in found.items():
                result[indices[position]] = message
            indices = [index for position, index in enumerate(indices) if position not in found]
    return result


def compare(probe, ptxas, per_row, seed, targets=("80", "90a")):
    """(agreements, disagreements): lists of (target, form, ours, theirs). If ptxas crashes there is no verdict."""
    forms = read_forms(probe, per_row, seed)
    compare.died = 0
    agree, differ = [], []
    for target in targets:
        theirs = verdicts(ptxas, [form.text for form in forms], target)
        for form, message in zip(forms, theirs):
            if message == DIED:
                compare.died += 1
                continue
            ours = form.ours80 if target == "80" else form.ours90a
            entry = (target, form, ours, message or "ok")
            (agree if (ours.startswith("ok")) == (message is None) else differ).append(entry)
    return agree, differ


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("probe")
    parser.add_argument("--per-row", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=40)
    arguments = parser.parse_args()
    agree, differ = compare(arguments.probe, find_ptxas(), arguments.per_row, arguments.seed)
    shown = collections.Counter()
    for target, form, ours, theirs in differ:
        shown[form.row] += 1
        if shown[form.row] <= 2 and sum(min(n, 2) for n in shown.values()) <= arguments.show:
            print(f"sm_{target} {form.kind} {form.row}: {form.text}\n  ours:  {ours[:150]}\n  ptxas: {theirs[:150]}")
    for kind in ("form", "mutant"):
        for target in ("80", "90a"):
            same = sum(1 for entry in agree if entry[0] == target and entry[1].kind == kind)
            other = sum(1 for entry in differ if entry[0] == target and entry[1].kind == kind)
            taken = sum(1 for entry in agree if entry[0] == target and entry[1].kind == kind and entry[3] == "ok")
            if same + other:
                share = 100 * same / (same + other)
                print(f"{kind}s on sm_{target}: {same} of {same + other} agree ({share:.2f} %), {taken} taken by both")
    print("forms that make ptxas die, without a verdict:", compare.died)
    print("rows with differences:", dict(shown.most_common()))


if __name__ == "__main__":
    main()
