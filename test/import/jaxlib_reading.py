"""Reads artifacts with jaxlib, and normalises the text of a module so that it can be compared."""
import re

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir.dialects import stablehlo

CURRENT_VERSION = tuple(int(part) for part in stablehlo.get_current_version().split(".")[:2])


def read(artifact: bytes) -> str:
    """The module in generic form, read by jaxlib's own deserialiser."""
    with jax_mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, artifact)
        return module.operation.get_asm(print_generic_op_form=True)


def normalised(text: str) -> list[str]:
    """The lines of a module with values numbered in order of appearance and i1 constants as digits.

    Two versions of MLIR number values differently, and print large i1 constants differently: one
    packs eight in a byte, the other does not.
    """
    names: dict[str, str] = {}

    def rename(match):
        return names.setdefault(match.group(0), f"%{len(names)}")

    lines = []
    for line in text.splitlines():
        line = re.sub(r"%[A-Za-z0-9_]+", rename, line.strip())
        line = re.sub(r'dense<"0x([0-9A-F]*)"> : tensor<([0-9x]*)xi1>', i1_digits, line)
        # Newer MLIR prints results in groups as %0:2, older ones alike; empty lines carry nothing.
        if line and not line.startswith("// end"):
            lines.append(line)
    return lines


def i1_digits(match) -> str:
    data = bytes.fromhex(match.group(1))
    count = 1
    for size in match.group(2).split("x"):
        count *= int(size)
    if len(data) == count:
        digits = "".join("1" if byte else "0" for byte in data)
    else:
        digits = "".join(str(data[i // 8] >> (i % 8) & 1) for i in range(count))
    return f"dense<{digits}> : tensor<{match.group(2)}xi1>"
