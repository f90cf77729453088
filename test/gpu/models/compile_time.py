"""CPU seconds to compile a training step of GPT, by its number of layers: for a GPU, and by jaxlib for the CPU.

    python test/gpu/models/compile_time.py --chip sm_90a --layers 2 4 8 16

Each compile is in a process of its own, so nothing is cached.
"""

import argparse
import json
import pathlib
import sys
import time

import running

HERE = pathlib.Path(__file__).parent


def measure(layers):
    """Seconds of all threads between the lowered and the compiled program."""
    import gpt
    import jax

    gpt.LAYERS = layers
    step, state, batch = gpt.make(jax.numpy.bfloat16, "unrolled")
    lowered = jax.jit(step, donate_argnums=0).lower(state, *batch(0))
    jax.numpy.zeros(()).block_until_ready()  # starts the device
    began = time.process_time()
    lowered.compile()
    print(json.dumps({"values": [time.process_time() - began]}))


def seconds(layers, chip=None):
    """For a chip, or by jaxlib for the CPU: the shorter of two."""
    platform = "tilewright,cpu" if chip else "cpu"
    variables = {"TILEWRIGHT_LIBRARY": str(running.LIBRARY), "TILEWRIGHT_TARGET": f"vgpu:{chip}"} if chip else {}
    return min(float(running.run(["measure", layers], platform, script=__file__, **variables)["values"][0]) for _ in range(2))


def table(chip, counts):
    return [(layers, seconds(layers, chip), seconds(layers)) for layers in counts]


def main():
    if sys.argv[1:2] == ["measure"]:
        sys.path.insert(0, str(HERE))
        return measure(int(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--layers", nargs="+", type=int, default=[2, 4, 8, 16])
    arguments = parser.parse_args()
    print(f"{'layers':>6}  {arguments.chip + ', s':>10}  {'jaxlib CPU, s':>13}  ratio")
    for layers, ours, theirs in table(arguments.chip, arguments.layers):
        print(f"{layers:6}  {ours:10.2f}  {theirs:13.2f}  {ours / theirs:5.2f}", flush=True)


if __name__ == "__main__":
    main()
