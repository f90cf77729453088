"""triton.testing on the virtual GPU: it has no clock, so a benchmark runs once and says so; nor does it run cuBLAS, with which benchmarks compare."""

import os
import sys
import time

_said = set()


def _say(text):
    if text not in _said:
        _said.add(text)
        print(f"tilewright vgpu: {text}", file=sys.stderr)


def install(testing):
    import triton

    def once(fn, warmup=None, rep=None, grad_to_none=None, quantiles=None, return_mode="mean", **_):
        """Runs `fn` once and returns the host's time for it."""
        _say("do_bench() ran each function once and returned the host's time, which says nothing about the time on a GPU")
        if grad_to_none is not None:
            for tensor in grad_to_none:
                tensor.grad = None
        device = triton.runtime.driver.active.get_device_interface()
        device.synchronize()
        begin = time.perf_counter()
        fn()
        device.synchronize()
        took = [(time.perf_counter() - begin) * 1e3]
        return testing._summarize_statistics(took, quantiles, return_mode)

    for name in ("do_bench", "do_bench_cudagraph", "do_bench_proton"):
        if hasattr(testing, name):
            setattr(testing, name, once)

    original = testing.Mark.run

    def run(self, *arguments, **keywords):
        if os.environ.get("TILEWRIGHT_VGPU_BENCHMARKS") == "1":
            return original(self, *arguments, **keywords)
        names = ", ".join(b.plot_name for b in (self.benchmarks if isinstance(self.benchmarks, list) else [self.benchmarks]))
        _say(f"benchmark {names} was left out (a virtual GPU has no speed to measure); TILEWRIGHT_VGPU_BENCHMARKS=1 runs it")
        return None

    testing.Mark.run = run
    _refuse_cublas()


def _refuse_cublas():
    """Makes Triton's cuBLAS an error: the library cannot initialise itself here, and Triton would use its handle all the same and crash."""
    try:
        from triton._C.libtriton.nvidia import cublas
    except ImportError:
        return

    class CublasLt:
        def __init__(self, *_):
            raise RuntimeError("cuBLAS is machine code, which the virtual GPU does not run; compare with torch.matmul")

    cublas.CublasLt = CublasLt
