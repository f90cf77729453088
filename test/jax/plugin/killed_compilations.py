"""What the tests of compile caches run in processes of their own: programs, and children that are killed while they compile them."""

# Programs that differ in a constant, and their results.
PROGRAMS = """
import json, os, time
import numpy as np
import jax, jax.numpy as jnp

def program(n):
    def body(x):
        for i in range(6):
            x = jnp.tanh(x @ x.T / (n + i + 1.0)) + jax.nn.softmax(x, axis=0)
        return x.sum() * n
    return body

def compiled(n):
    return jax.jit(program(n)).lower(jax.ShapeDtypeStruct((16, 16), jnp.float32)).compile()

x = np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)
def truth(n):
    y = x.astype(np.float64)
    for i in range(6):
        e = np.exp(y - y.max(axis=0))
        y = np.tanh(y @ y.T / (n + i + 1.0)) + e / e.sum(axis=0)
    return y.sum() * n
"""
# After PROGRAMS. The process has imported JAX but has no backend yet; it forks one child after another, so that a kill costs a compilation
# and not an import. Each child compiles programs that no other compiles, until it is killed.
KILLER = """
import random, signal
random.seed(7)
def fork(first):
    child = os.fork()
    if child == 0:
        for n in range(first, first + 4):
            compiled(n)
        os._exit(0)
    return child
def seconds(first):
    begin = time.monotonic()
    assert os.waitpid(fork(first), 0)[1] == 0
    return time.monotonic() - begin
kills = int(os.environ["KILLS"])
whole = min(seconds(4 * n) for n in range(3))  # the first has everything to load
killed = 0
for n in range(3, kills + 3):
    child = fork(4 * n)
    time.sleep(random.uniform(0, whole))
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    killed += os.WIFSIGNALED(status)
    assert os.WIFSIGNALED(status) or status == 0, status
print(json.dumps({"killed": killed, "seconds of one child": whole}))
"""
