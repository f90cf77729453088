"""Kernels of HIP for AMD's chips, executed on the virtual GPU and compared with NumPy."""

import subprocess

import mutants
import numpy as np
import pytest
from test_amdgcn import BUILD, CHIPS, HERE, TARGET, compile_hip, llvm, run

RUN = BUILD / "test/vgpu/amdgcn/AmdgcnRun"
F32 = np.float32


MUTANTS = None  # with --mutants: (file, flag of AmdgcnRun)


def launch(folder, path, kernel, grid, block, *arguments, lds=0, error=None, completion=()):
    """Runs a kernel. Arrays are buffers; returns them as they are afterwards. `completion` has flags of AmdgcnRun."""
    words, files = [], []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            name = folder / f"argument{len(words)}.bin"
            argument.tofile(name)
            files.append((name, argument))
            words.append(f"file:{name}")
        else:
            words.append(f"{'f' if isinstance(argument, (float, np.floating)) else 'i'}{argument.nbytes * 8}:{argument}")
    sizes = [",".join(str(size) for size in value) for value in (grid, block)]
    flags = [MUTANTS[1]] if MUTANTS else completion
    command = [str(word) for word in (RUN, *flags, path, kernel, *sizes, lds, *words)]
    result = subprocess.run(command, capture_output=True, text=True)
    if MUTANTS:
        mutants.add(MUTANTS[0], f"{path.stem} {kernel}", result)
        pytest.skip("only mutants were run")
    if error:
        assert result.returncode == 1 and error in result.stderr, result.stderr
        return None
    assert result.returncode == 0, result.stderr + result.stdout
    return [np.fromfile(name, array.dtype).reshape(array.shape) for name, array in files]


def launch_in_all_orders(folder, path, kernel, grid, block, *arguments, lds=0):
    """The same for kernels whose result does not depend on when memory operations are performed."""
    orders = [["--check", "--latest"], ["--check", "--seed=1"], ["--check"], []]
    results = [launch(folder, path, kernel, grid, block, *arguments, lds=lds, completion=order) for order in orders]
    for other in results[:-1]:
        for array, expected in zip(other, results[-1]):
            assert array.tobytes() == expected.tobytes()
    return results[-1]


@pytest.fixture(scope="module", params=CHIPS)
def hip(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("hip") / "saxpy.co"
    return compile_hip(HERE / "hip/saxpy.hip", [request.param], path, "--no-gpu-bundle-output")


def random(seed, count, kind=F32):
    generator = np.random.default_rng(seed)
    if np.issubdtype(kind, np.integer):
        return generator.integers(-(2**31), 2**31, count).astype(kind)
    return generator.standard_normal(count).astype(kind)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 256, 1000])
def test_saxpy(hip, tmp_path, n):
    x, y, a = random(1, n), random(2, n), F32(2.5)
    _, result = launch_in_all_orders(tmp_path, hip, "saxpy", [(n + 255) // 256], [256], x, y, a, np.int32(n))
    exact = np.float64(a) * x + y  # clang fuses the product with the sum
    np.testing.assert_array_equal(result, exact.astype(F32))


def test_a_loop_over_the_grid(hip, tmp_path):
    n = 1777
    x, y, a = random(1, n), random(2, n), F32(-0.75)
    _, result = launch_in_all_orders(tmp_path, hip, "saxpy_strided", [2], [256], x, y, a, np.int32(n), np.int32(512))
    np.testing.assert_array_equal(result, (np.float64(a) * x + y).astype(F32))


def test_doubles(hip, tmp_path):
    n = 300
    x, y = np.arange(n, dtype=np.float64), np.ones(n)
    _, result = launch_in_all_orders(tmp_path, hip, "axpy_double", [2], [256], x, y, np.float64(0.5), np.int32(n))
    np.testing.assert_array_equal(result, 0.5 * x + y)


def test_division_is_correctly_rounded(hip, tmp_path):
    bits = np.random.default_rng(3).integers(0, 2**32, 4096, dtype=np.uint64).astype(np.uint32)
    x, y = bits[:2048].view(F32).copy(), bits[2048:].view(F32).copy()
    special = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, 1e-45, 3e38, 1e-38], F32)
    x[:81], y[:81] = np.repeat(special, 9), np.tile(special, 9)
    *_, result = launch_in_all_orders(tmp_path, hip, "divide", [8], [256], x, y, np.zeros_like(x), np.int32(2048))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(result, x / y)


def test_integer_arithmetic(hip, tmp_path):
    n = 512
    x, y = random(4, n, np.int32), random(5, n, np.int32) >> 8
    y[y == 0] = 7
    *_, result = launch_in_all_orders(tmp_path, hip, "integers", [2], [256], x, y, np.zeros_like(x), np.int32(n))
    wide, by = x.astype(np.int64), y.astype(np.int64)
    quotient = (np.abs(wide) // np.abs(by)) * np.sign(wide) * np.sign(by)
    expected = quotient + (wide - quotient * by) * 3 + (x >> (y & 31)) + (wide * by >> 32)
    np.testing.assert_array_equal(result, expected.astype(np.int32))


def test_waves_meet_at_barriers(hip, tmp_path):
    x = np.arange(1024, dtype=np.int32)
    _, result = launch_in_all_orders(tmp_path, hip, "reversed", [4], [256], x, np.zeros_like(x))
    np.testing.assert_array_equal(result, x.reshape(4, 256)[:, ::-1].ravel())


def test_a_sum_over_a_workgroup(hip, tmp_path):
    x = np.arange(1000, dtype=F32)
    _, result = launch_in_all_orders(tmp_path, hip, "block_sum", [4], [256], x, np.zeros(4, F32), np.int32(1000))
    np.testing.assert_array_equal(result, [x[i : i + 256].sum() for i in range(0, 1000, 256)])


def test_atomics(hip, tmp_path):
    x = random(6, 1000, np.int32)
    _, result = launch_in_all_orders(tmp_path, hip, "histogram", [4], [256], x, np.zeros(16, np.int32), np.int32(1000))
    np.testing.assert_array_equal(result, np.bincount(x & 15, minlength=16))


def test_a_pointer_in_the_code_object_is_relocated(hip, tmp_path):
    (result,) = launch_in_all_orders(tmp_path, hip, "relocated", [1], [64], np.zeros(64, np.int32))
    table = np.array([3, 1, 4, 1])
    lane = np.arange(64)
    np.testing.assert_array_equal(result, table[2 - (lane & 1)] + table[lane & 3])


def test_an_access_outside_of_all_buffers_is_an_error(hip, tmp_path):
    x = np.zeros(64, F32)
    launch(tmp_path, hip, "saxpy", [1], [256], x, x, F32(1), np.int32(4096), error="lane 0 of wave 1 in workgroup (0, 0, 0)")


def assemble(tmp_path, chip, body, registers=8, argument_bytes=8, accumulators=0, directives=""):
    source, path = tmp_path / "kernel.s", tmp_path / "kernel.hsaco"
    source.write_text(
        f'.amdgcn_target "amdgcn-amd-amdhsa--{chip}"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{body}\n'
        f".rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr {registers + accumulators}\n.amdhsa_next_free_sgpr 16\n"
        f".amdhsa_accum_offset {registers}\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_kernarg_size {argument_bytes}\n"
        f"{directives}.end_amdhsa_kernel\n"
    )
    run(llvm("llvm-mc"), *TARGET, f"-mcpu={chip}", "-filetype=obj", source, "-o", source.with_suffix(".o"))
    run(llvm("ld.lld"), "-shared", source.with_suffix(".o"), "-o", path)
    return path


@pytest.mark.parametrize("chip", CHIPS)
def test_what_is_not_implemented_is_refused_by_name(chip, tmp_path):
    path = assemble(tmp_path, chip, "s_branch L\nds_gws_init v0 gds\nL: s_endpgm")
    launch(tmp_path, path, "k", [1], [64])  # it cannot be reached
    path = assemble(tmp_path, chip, "s_branch L\nL: ds_gws_init v0 gds\ns_endpgm")
    launch(tmp_path, path, "k", [1], [64], error="cannot execute 'ds_gws_init v0 gds'")
    launch(tmp_path, path, "other", [1], [64], error="no kernel 'other'")


@pytest.mark.parametrize("chip", CHIPS)
def test_a_product_of_halves(chip, tmp_path):
    path = compile_hip(HERE / "hip/matrices.hip", [chip], tmp_path / "matrices.co", "--no-gpu-bundle-output")
    generator = np.random.default_rng(9)
    a, b = (generator.integers(-8, 9, (8, 64, 4)).astype(np.float16) for _ in range(2))  # sums are exact
    c = generator.integers(-8, 9, (64, 16)).astype(F32)
    *_, result = launch(tmp_path, path, "mfma", [1], [64], a, b, c)
    step, lane, element = np.indices(a.shape)
    depth = 8 * step + 4 * (lane // 32) + element
    left, right = np.zeros((32, 64)), np.zeros((64, 32))
    left[lane % 32, depth], right[depth, lane % 32] = a, b
    lane, register = np.indices(c.shape)
    row = 8 * (register // 4) + 4 * (lane // 32) + register % 4
    np.testing.assert_array_equal(result, c + (left @ right)[row, lane % 32])


@pytest.mark.parametrize("chip", CHIPS)
def test_a_buffer_atomic_is_performed_whole_or_not_at_all(chip, tmp_path):
    """The buffer ends after 12 bytes: in the middle of the second lane's 8."""
    body = """
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  s_mov_b32 s2, 12
  s_mov_b32 s3, 0x27000
  v_lshlrev_b32_e32 v0, 3, v0
  v_mov_b32_e32 v2, 5
  v_mov_b32_e32 v3, 7
  s_waitcnt lgkmcnt(0)
  buffer_atomic_add_x2 v[2:3], v0, s[0:3], 0 offen
  s_endpgm"""
    (result,) = launch(tmp_path, assemble(tmp_path, chip, body), "k", [1], [2], np.zeros(4, np.uint32))
    np.testing.assert_array_equal(result, [5, 7, 0, 0])
