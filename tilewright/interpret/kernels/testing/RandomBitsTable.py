"""Writes RandomBitsTable.def: what jaxlib's rng_bit_generator gives, as hashes.

    python tilewright/interpret/kernels/testing/RandomBitsTable.py > tilewright/interpret/kernels/testing/RandomBitsTable.def
"""

import jax
import jax._src.compiler as compiler
import jax._src.interpreters.mlir as jax_mlir
import jaxlib
import jaxlib.mlir.ir as ir
import numpy as np
from jaxlib import _jax, xla_client

SHAPES = ["", "1", "2", "3", "7", "8", "1x1", "3x5", "5x3", "3x4", "2x3", "4x4", "3x3x3", "1x5x7", "3x6x2", "17",
          "5x1", "0", "3x0", "2x0", "33x2", "5x5x4x3"]
TYPES = ["i8", "ui16", "i32", "f32", "ui64", "f64", "bf16", "f8E4M3FN"]
STATES = [(1, 2), (0x0123456789ABCDEF, 2**64 - 2), (3, 0xFFFFFFFE)]
ALGORITHMS = [("THREE_FRY", "threeFry", []), ("PHILOX", "philox", []), ("DEFAULT", "byDefault", [2**64 - 1])]


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def evaluate(body: str, types: list[str], operands: list[np.ndarray]) -> list[np.ndarray]:
    """Runs one function of the states that returns %a0, %b0, %a1, %b1, …"""
    names = ", ".join(f"%{letter}{i}" for i in range(len(types) // 2) for letter in "ab")
    arguments = ", ".join(f"%s{i}: tensor<{len(each)}xui64>" for i, each in enumerate(operands))
    text = f"""module @m {{ func.func @main({arguments}) -> ({", ".join(types)}) {{
      {body}
      return {names} : {", ".join(types)} }} }}"""
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(text)
        program = compiler.backend_compile_and_load(
            jax.devices()[0].client, module, _jax.DeviceList((jax.devices()[0],)), xla_client.CompileOptions(), [])
    results = program.execute_sharded([jax.device_put(each) for each in operands])
    return [np.asarray(each[0]) for each in results.disassemble_into_single_device_arrays()]


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print(f"// Made by RandomBitsTable.py with jaxlib {jaxlib.__version__}; do not edit.")
    print("// TILEWRIGHT_RANDOM_BITS(algorithm, state, shape, type, FNV-1a of the bits, next state)")
    for number, shape in enumerate(SHAPES):
        operands, lines, types, rows = [], [], [], []
        for position, element in enumerate(TYPES):
            for algorithm, name, rest in ALGORITHMS:
                state = [*STATES[(number + position) % len(STATES)], *rest]
                i = len(operands)
                state_type, result_type = f"tensor<{len(state)}xui64>", f"tensor<{shape + 'x' if shape else ''}{element}>"
                lines.append(f'%a{i}, %b{i} = "stablehlo.rng_bit_generator"(%s{i}) '
                             f"{{rng_algorithm = #stablehlo<rng_algorithm {algorithm}>}} "
                             f": ({state_type}) -> ({state_type}, {result_type})")
                types += [state_type, result_type]
                operands.append(np.array(state, np.uint64))
                rows.append((name, state, element))
        results = evaluate("\n".join(lines), types, operands)
        for (name, state, element), after, bits in zip(rows, results[::2], results[1::2]):
            words = ", ".join(f"{word:#x}u" for word in state)
            next_words = ", ".join(f"{int(word):#x}u" for word in after)
            print(f"TILEWRIGHT_RANDOM_BITS({name}, ({words}), ({shape.replace('x', ', ')}), {element}, "
                  f"{fnv1a(bits.tobytes()):#x}u, ({next_words}))")


if __name__ == "__main__":
    main()
