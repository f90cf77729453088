"""CuTe DSL: the dense GEMMs of its own examples for Hopper and Blackwell. They are files of the CUTLASS repository and are not in any package."""

import importlib.util
import os
import time


def example(folder, name):
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def configurations(name, examples, scratch):
    """`examples` is examples/python/CuTeDSL/cute/hopper/kernel/dense_gemm of a checkout, or .../CuTeDSL/blackwell."""
    if not name.startswith("gemm"):
        return
    on_blackwell = name.endswith("sm_100a")
    os.environ.update(CUTE_DSL_ARCH="sm_100a" if on_blackwell else "sm_90a", CUTE_DSL_KEEP="cubin", CUTE_DSL_NO_CACHE="1", CUTE_DSL_DUMP_DIR=str(scratch))
    import cutlass
    import cutlass.cute as cute
    from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream

    element = cutlass.BFloat16 if on_blackwell else cutlass.Float16 if name.endswith("f16") else cutlass.Float8E4M3FN
    size = 8192 if on_blackwell else 4096

    def matrix(element):
        return make_fake_compact_tensor(element, (size, size, 1), stride_order=(1, 0, 2), assumed_align=16)

    if on_blackwell:
        kernels = example(examples, "dense_gemm_persistent")
        for pair, tile, cluster in ((True, (256, 256), (2, 1)), (True, (256, 128), (2, 1)), (False, (128, 256), (1, 1))):
            began = time.process_time()
            kernel = kernels.PersistentDenseGemmKernel(cutlass.Float32, pair, tile, cluster, True)
            made = cute.compile(kernel, *[matrix(element)] * 3, 148 // cluster[0], make_fake_stream())
            yield f"{tile[0]}x{tile[1]}, {cluster[0]} CTAs", made.__cubin__, time.process_time() - began
        return
    plain = example(examples, "dense_gemm").HopperWgmmaGemmKernel
    persistent = example(examples, "dense_gemm_persistent").HopperWgmmaGemmPersistentKernel
    for tile, cluster in (((128, 256), (2, 1)), ((128, 256), (1, 1)), ((128, 128), (2, 1)), ((128, 128), (1, 1))):
        for what in ("", " persistent"):
            began = time.process_time()
            operands = [matrix(element), matrix(element), matrix(cutlass.Float16)]
            kernel = persistent(cutlass.Float32, tile, cluster, 1, True) if what else plain(cutlass.Float32, tile, cluster)
            clusters = [132 // (cluster[0] * cluster[1])] if what else []
            made = cute.compile(kernel, *operands, *clusters, make_fake_stream())
            yield f"{tile[0]}x{tile[1]}, cluster {cluster[0]}{what}", made.__cubin__, time.process_time() - began
