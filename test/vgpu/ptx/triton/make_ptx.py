"""Compiles the kernels of kernels.py to PTX: python make_ptx.py FOLDER

Needs triton==3.9.0, no GPU and no torch.
"""

import pathlib
import sys

import kernels
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


def compile_form(name, signature, constants, warps, stages, target):
    function = getattr(kernels, name)
    names = function.arg_names
    types = signature.split()
    types += ["constexpr"] * (len(names) - len(types))
    source = ASTSource(
        fn=function,
        signature=dict(zip(names, types)),
        constexprs={(names.index(key),): value for key, value in constants.items()},
        attrs={(i,): [["tt.divisibility", 16]] for i, kind in enumerate(types) if kind.startswith("*")},
    )
    options = {"num_warps": warps, "num_stages": stages, "ptx_version": 90}
    return triton.compile(source, target=GPUTarget("cuda", target, 32), options=options).asm["ptx"]


def main(folder):
    for index, (name, signature, constants, warps, stages, targets) in enumerate(kernels.FORMS):
        for target in targets:
            path = folder / f"triton-{index:02}-{name}-sm{target}.ptx"
            try:
                path.write_text(compile_form(name, signature, constants, warps, stages, target))
            except Exception as error:  # a form that this Triton does not take; say so and go on
                print(f"{path.name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
