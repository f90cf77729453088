"""cuTile: tile programs for NVIDIA's own tile compiler (tileiras), which chooses warps, stages and warp specialization itself."""

import io
import os


def kernels():
    import cuda.tile as ct

    def matmul(a, b, c, BM: ct.Constant[int], BN: ct.Constant[int], BK: ct.Constant[int]):
        m, n = ct.bid(0), ct.bid(1)
        total = ct.full((BM, BN), 0.0, ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(BM, BK))):
            x = ct.load(a, index=(m, k), shape=(BM, BK))
            y = ct.load(b, index=(n, k), shape=(BN, BK))
            total = ct.mma(x, ct.transpose(y), total)
        ct.store(c, index=(m, n), tile=ct.astype(total, c.dtype))

    def softmax(y, x, BLOCK: ct.Constant[int]):
        row = ct.bid(0)
        value = ct.load(x, index=(row, 0), shape=(1, BLOCK))
        power = ct.exp(value - ct.max(value, axis=1, keepdims=True))
        ct.store(y, index=(row, 0), tile=power / ct.sum(power, axis=1, keepdims=True))

    return matmul, softmax


def compiled(kernel, parameters, chip="sm_90"):
    from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel

    cubin, began = io.BytesIO(), os.times()
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1())
    export_kernel(kernel, [signature], cubin, gpu_code=chip, output_format="cubin")
    ended = os.times()
    return cubin.getvalue(), sum(ended[:4]) - sum(began[:4])


def configurations(name):
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint

    def matrix(element):  # contiguous rows; all sizes and addresses are divisible by 16
        return ArrayConstraint(element, 2, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
                               stride_constant=(None, 1), stride_divisible_by=(16, 1), shape_divisible_by=16,
                               base_addr_divisible_by=16)  # fmt: skip

    matmul, softmax = kernels()
    if name.startswith("softmax"):
        yield "softmax", *compiled(ct.kernel(softmax), [matrix(ct.float32), matrix(ct.float32), 1024])
        return
    if name.endswith("sm_100a"):
        for m, n, ctas in ((256, 256, 2), (128, 256, 2), (128, 256, 1), (128, 128, 1)):
            kernel = ct.kernel(matmul, num_ctas=ctas)
            yield f"{m}x{n}, {ctas} CTAs", *compiled(kernel, [matrix(ct.bfloat16)] * 3 + [m, n, 64], "sm_100")
        return
    element, depth = (ct.float16, 64) if name.endswith("f16") else (ct.float8_e4m3fn, 128)
    for m, n in ((128, 256), (128, 128), (64, 256)):
        for ctas in (1, 2):
            kernel = ct.kernel(matmul, num_ctas=ctas)
            yield f"{m}x{n}, {ctas} CTAs", *compiled(kernel, [matrix(element), matrix(element), matrix(ct.float16), m, n, depth])
