"""The command `tilewright` of the wheel: `tilewright vgpu run -- PROGRAM`.

The wheel carries the virtual GPU. Compiling from the command line needs the tools
that a build of the repository makes.
"""

import os
import pathlib
import sys

PROGRAM = pathlib.Path(__file__).parent / "native/bin/tilewright-vgpu"


def main() -> int:
    arguments = sys.argv[1:]
    if not arguments or arguments[0] != "vgpu":
        print("usage: tilewright vgpu run [FLAGS] -- PROGRAM [ARGUMENTS]", file=sys.stderr)
        print("`tilewright vgpu run --help` says more.", file=sys.stderr)
        return 0 if arguments in (["--help"], ["help"]) else 2
    os.execv(PROGRAM, [str(PROGRAM), *arguments[1:]])
