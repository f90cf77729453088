"""The command `tilewright` of the wheel: replaces this process with the program in the wheel."""

import os
import sys

from tilewright import native


def main() -> int:
    try:
        program = str(native.program())
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as problem:
        print(f"tilewright: {problem}", file=sys.stderr)
    return 1
