"""The ops of the models that the GPU target refuses so far, with their number. The goal is an empty table.

The table may only shrink: test_compile.py fails if an op is refused that is not in it, and if it has an op that is not
refused any more. `python test/gpu/models/report.py --steps 0` prints what it must have.
"""


# By model, then by platform of the lowering (lowering.py). Both chips refuse the same ops.
REFUSED = {}


def of(name, platform):
    return REFUSED.get(name, {}).get(platform, {})
