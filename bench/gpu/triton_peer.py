"""Triton 3.9: the matmul, the softmax and the attention of its tutorials' kind, with the configurations that the tutorials try on Hopper and on Ampere."""

import time

def kernels():
    import triton
    import triton.language as tl

    @triton.jit
    def matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
        pid = tl.program_id(0)
        rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
        group = pid // (G * columns)
        first = group * G
        size = min(rows - first, G)
        m = first + (pid % (G * columns)) % size
        n = (pid % (G * columns)) // size
        om, on, ok = (m * BM + tl.arange(0, BM)) % M, (n * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
        pa, pb = a + om[:, None] * sam + ok[None, :] * sak, b + ok[:, None] * sbk + on[None, :] * sbn
        sum = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            sum = tl.dot(tl.load(pa, mask=ok[None, :] < K - k * BK, other=0.0), tl.load(pb, mask=ok[:, None] < K - k * BK, other=0.0), sum)
            pa += BK * sak
            pb += BK * sbk
        om, on = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
        tl.store(c + om[:, None] * scm + on[None, :] * scn, sum.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N))

    @triton.jit
    def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WS: tl.constexpr):
        m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
        da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
        db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
        dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
        sum = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, tl.cdiv(K, BK), warp_specialize=WS):
            sum = tl.dot(da.load([m, k * BK]), db.load([n, k * BK]).T, sum)
        dc.store([m, n], sum.to(c.dtype.element_ty))

    @triton.jit
    def softmax(y, x, stride, columns, BLOCK: tl.constexpr):
        row, at = tl.program_id(0), tl.arange(0, BLOCK)
        value = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
        power = tl.exp(value - tl.max(value, axis=0))
        tl.store(y + row * stride + at, power / tl.sum(power, axis=0), mask=at < columns)

    @triton.jit
    def attention(q, k, v, o, N, scale, heads, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
        head, first = tl.program_id(1) * N, tl.program_id(0) * BM
        dq = tl.make_tensor_descriptor(q, [heads * N, D], [D, 1], [BM, D])
        dk = tl.make_tensor_descriptor(k, [heads * N, D], [D, 1], [BN, D])
        dv = tl.make_tensor_descriptor(v, [heads * N, D], [D, 1], [BN, D])
        do = tl.make_tensor_descriptor(o, [heads * N, D], [D, 1], [BM, D])
        queries = dq.load([head + first, 0])
        most = tl.full((BM,), -float("inf"), tl.float32)
        total, sums = tl.zeros((BM,), tl.float32), tl.zeros((BM, D), tl.float32)
        for at in tl.range(0, N, BN):
            scores = tl.dot(queries, dk.load([head + at, 0]).T)
            higher = tl.maximum(most, tl.max(scores, 1) * scale)
            weights = tl.math.exp2(scores * scale - higher[:, None])
            factor = tl.math.exp2(most - higher)
            sums = tl.dot(weights.to(tl.bfloat16), dv.load([head + at, 0]), sums * factor[:, None])
            total = total * factor + tl.sum(weights, 1)
            most = higher
        do.store([head + first, 0], (sums / total[:, None]).to(tl.bfloat16))

    return matmul, matmul_tma, softmax, attention


def compiled(function, signature, constants, chip=90, **options):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    began = time.process_time()
    # The launcher would find these sizes divisible by 16.
    names = list(signature)
    divisible = {(names.index(n),): [["tt.divisibility", 16]] for n in names if signature[n] != "constexpr" and n not in ("sak", "sbk", "scn")}
    source = ASTSource(function, signature, constants, attrs=divisible)
    made = triton.compile(source, target=GPUTarget("cuda", chip, 32), options={"ptx_version": 88 if chip == 80 else 90, **options})
    return made.asm["cubin"], time.process_time() - began


def blackwell(matmul):
    pointers = {"a": "*bf16", "b": "*bf16", "c": "*bf16", "M": "i32", "N": "i32", "K": "i32"}
    for m, n, warps, stages, special in ((128, 256, 8, 3, False), (128, 128, 4, 4, False), (128, 256, 4, 3, True), (128, 128, 4, 4, True)):
        sizes = {"BM": m, "BN": n, "BK": 64}
        signature = pointers | dict.fromkeys([*sizes, "WS"], "constexpr")
        what = f"TMA {m}x{n}{' warp-specialised' if special else ''}"
        yield what, *compiled(matmul, signature, sizes | {"WS": special}, 100, num_warps=warps, num_stages=stages)


def configurations(name):
    matmul, matmul_tma, softmax, attention = kernels()
    if name.startswith("softmax"):
        yield "softmax", *compiled(softmax, {"y": "*fp32", "x": "*fp32", "stride": "i32", "columns": "i32", "BLOCK": "constexpr"},
                                         {"BLOCK": 1024}, num_warps=4)  # fmt: skip
        return
    if name.startswith("attention"):
        width = int(name.split()[2])
        pointers = dict.fromkeys("qkvo", "*bf16") | {"N": "i32", "scale": "fp32", "heads": "i32"}
        for m, n, warps, stages in ((128, 128, 8, 2), (128, 64, 8, 3)):
            sizes = {"D": width, "BM": m, "BN": n}
            yield f"{m}x{n}", *compiled(attention, pointers | dict.fromkeys(sizes, "constexpr"), sizes, num_warps=warps, num_stages=stages)
        return
    if name.endswith("sm_100a"):
        yield from blackwell(matmul_tma)
        return
    element, depth = ("fp16", 64) if "f16" in name.split() else ("fp8e4nv", 128)
    on_ampere = name.endswith("sm_80")
    pointers = {"a": f"*{element}", "b": f"*{element}", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
    strides = {s: "i32" for s in ("sam", "sbn", "scm")} | {s: "constexpr" for s in ("sak", "sbk", "scn")}
    order = ["sam", "sak", "sbk", "sbn", "scm", "scn"]
    for m, n, warps, stages in ((128, 256, 8, 3), (128, 128, 4, 4), (64, 256, 4, 4)):
        # On Ampere the tutorial's small tiles have half the depth.
        sizes = {"BM": m, "BN": n, "BK": depth // 2 if on_ampere and warps == 4 else depth}
        signature = pointers | {s: strides[s] for s in order} | dict.fromkeys([*sizes, "G"], "constexpr")
        constants = sizes | {"G": 8, "sak": 1, "sbk": 1, "scn": 1}
        yield f"cp.async {m}x{n}", *compiled(matmul, signature, constants, 80 if on_ampere else 90, num_warps=warps, num_stages=stages)
    if on_ampere:
        return
    for m, n, warps, stages, special in ((128, 256, 8, 3, False), (128, 128, 4, 4, False), (128, 256, 4, 3, True)):
        sizes = {"BM": m, "BN": n, "BK": depth}
        signature = pointers | dict.fromkeys([*sizes, "WS"], "constexpr")
        what = f"TMA {m}x{n}{' warp-specialised' if special else ''}"
        yield what, *compiled(matmul_tma, signature, sizes | {"WS": special}, num_warps=warps, num_stages=stages)
