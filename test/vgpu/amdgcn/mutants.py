"""The verdicts of `AmdgcnRun --mutants` as a table.

    python -m pytest test_triton.py test_hip.py --all --mutants=FILE
    python mutants.py FILE

Each kernel is changed in one instruction: a wait, barrier or s_nop is deleted, a count of a wait is raised, an access to LDS goes
to the other half. A mutant is effective if the checker names it, if its values are wrong, or if its launch fails.
"""

import collections
import re
import sys

# Of several launches of a kernel, the one that says most counts.
ORDER = ["named", "wrong", "failed", "harmless", "unexecuted"]


def add(path, kernel, result):
    """Appends the lines of a run."""
    with open(path, "a") as file:
        if result.returncode != 0:
            file.write(f"{kernel}|original||||{result.stderr.strip()}\n")
        file.writelines(f"{kernel}|{line}\n" for line in result.stdout.splitlines())


def read(path):
    verdicts, originals = {}, []
    for line in open(path):
        kernel, kind, change, address, verdict, evidence = line.rstrip("\n").split("|", 5)
        if kind == "original":
            originals.append(f"{kernel}: {evidence}")
            continue
        key = kernel, kind, change, int(address, 16)
        if key not in verdicts or ORDER.index(verdict) < ORDER.index(verdicts[key][0]):
            verdicts[key] = verdict, evidence
    return verdicts, originals


def is_right(kind, address, evidence):
    """Whether the finding has the kind that the change must cause. The instruction is not compared."""
    found = evidence.split()[0]
    if kind == "nop":
        return found == "wait-states"
    if kind == "barrier":
        return found in ("race", "uninitialised-read")
    if kind == "waitcnt":
        return found in ("register-in-flight", "race", "uninitialised-read")
    return found in ("race", "uninitialised-read", "out-of-bounds")


# A deleted s_nop that LLVM inserted, and no chip needs: after a packed instruction, whose op_sel_hi LLVM takes for the op_sel of
# a result; and before DPP that reads what a memory instruction has loaded, where LLVM counts every definition as one of the
# vector unit.
EXCESS = [r"v_pk_\w+ [^;]*; \*s_nop 0", r"(ds|buffer|global|scratch|flat)_\w+ [^;]*; s_waitcnt [^;]*; \*s_nop 0; v_\w+_dpp"]


def main(path, share=0.98):
    """Prints the table. Returns whether the originals have no findings and enough of the effective mutants are named."""
    verdicts, originals = read(path)
    print("\n".join(originals))
    table = collections.defaultdict(collections.Counter)
    for (_, kind, change, address), (verdict, evidence) in verdicts.items():
        row = table[kind, re.sub(r"\(.*", "", change) if kind == "waitcnt" else change]
        row["all"] += 1
        row[verdict] += 1
        row["right"] += verdict == "named" and is_right(kind, address, evidence)
        row["excess"] += verdict == "harmless" and any(re.search(pattern, evidence) for pattern in EXCESS)
    print("| mutants | all | named | of the right kind | wrong values only | failed | harmless (LLVM's excess) | not executed | share |")
    print("|---|---|---|---|---|---|---|---|---|")
    is_good = not originals
    for (kind, change), row in sorted(table.items()):
        effective = row["named"] + row["wrong"] + row["failed"]
        named = row["right"] / effective if effective else 1
        columns = [row[word] for word in ("all", "named", "right", "wrong", "failed")]
        columns += [f"{row['harmless']} ({row['excess']})", row["unexecuted"], f"{100 * named:.1f} %"]
        print(f"| {kind}, {change} | " + " | ".join(map(str, columns)) + " |")
        # Priorities change nothing, and a wrong half of LDS may hold valid data.
        if kind == "setprio":
            is_good &= effective == 0
        elif kind != "lds":
            is_good &= named >= share
    return is_good


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1]) else 1)
