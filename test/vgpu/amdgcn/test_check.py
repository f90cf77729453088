"""What the checker reports about kernels of AMD's chips with errors, down to the words, and mutants of Triton's kernels."""

import json
import subprocess

import mutants
import numpy as np
import pytest
from test_amdgcn import CHIPS
from test_execute import RUN, assemble
from test_triton import Kernel
from test_triton import matmul as triton_matmul

ORDERS = [[], ["--latest"], ["--seed=1"]]
ENTRY = '.file 1 "kernel.py"\n.loc 1 1\n  s_load_dwordx2 s[0:1], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n'
LDS = ".amdhsa_group_segment_fixed_size 4096\n"


def findings(tmp_path, chip, body, threads=64, grid=1, directives="", orders=ORDERS):
    """The findings of a kernel whose argument is a buffer of 4 KiB, which must be the same in all orders of operations."""
    path = assemble(tmp_path, chip, ENTRY + body + "\n  s_endpgm", registers=32, accumulators=32, directives=directives)
    (tmp_path / "buffer.bin").write_bytes(bytes(4096))
    found = []
    for order in orders:
        command = [RUN, "--check=json", *order, path, "k", str(grid), str(threads), "0", f"file:{tmp_path / 'buffer.bin'}"]
        result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        assert result.returncode in (0, 3), result.stderr
        report = json.loads(result.stdout)["findings"] if result.stdout else []
        found.append({(f["kind"], *(a["place"]["instruction"].split(" ")[0] for a in f["accesses"])) for f in report})
    assert all(other == found[0] for other in found)
    return found[0], report


@pytest.fixture(params=CHIPS)
def chip(request):
    return request.param


def test_a_register_that_a_load_writes(chip, tmp_path):
    body = """
  v_lshlrev_b32_e32 v0, 2, v0
.loc 1 12
  global_load_dword v1, v0, s[0:1]
.loc 1 14
  v_add_u32_e32 v2, 1, v1
  s_waitcnt vmcnt(0)
  global_store_dword v0, v2, s[0:1]"""
    found, (report,) = findings(tmp_path, chip, body)
    assert found == {("register-in-flight", "v_add_u32_e32", "global_load_dword")}
    assert [a["place"]["line"] for a in report["accesses"]] == [14, 12]
    assert report["accesses"][0]["place"]["file"].endswith("kernel.py")
    assert "s_waitcnt" in report["fix"]
    correct = body.replace(".loc 1 14", "  s_waitcnt vmcnt(0)")
    assert findings(tmp_path, chip, correct)[0] == set()


EXCHANGE = """
  v_lshlrev_b32_e32 v0, 2, v0
  v_xor_b32_e32 v1, 0x100, v0
  ds_write_b32 v0, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  global_store_dword v0, v2, s[0:1]"""


def test_waves_that_exchange_values_through_lds(chip, tmp_path):
    assert findings(tmp_path, chip, EXCHANGE, threads=128, directives=LDS)[0] == set()
    without_wait = EXCHANGE.replace("  s_waitcnt lgkmcnt(0)\n  s_barrier", "  s_barrier")
    without_barrier = EXCHANGE.replace("  s_barrier\n", "")
    for body in (without_wait, without_barrier):
        for order in ORDERS:  # which access comes first depends on it
            found, _ = findings(tmp_path, chip, body, threads=128, directives=LDS, orders=[order])
            assert {frozenset(one) for one in found} >= {frozenset(("race", "ds_read_b32", "ds_write_b32"))}


def test_lds_that_was_never_written(chip, tmp_path):
    found, (report,) = findings(tmp_path, chip, EXCHANGE, threads=64, directives=LDS)
    assert found == {("uninitialised-read", "ds_read_b32")}
    assert report["where"].startswith("LDS, offset")


def test_registers_that_were_never_written(chip, tmp_path):
    body = """
  v_lshl_add_u32 v3, v2, 2, 64
  global_load_dword v4, v3, s[0:1]
  s_waitcnt vmcnt(0)
.loc 1 5
  s_cbranch_vccz L
L:"""
    found, reports = findings(tmp_path, chip, "  s_mov_b64 exec, 1\n" + body, orders=[[]])
    assert found == {("uninitialised-read", "global_load_dword"), ("uninitialised-read", "s_cbranch_vccz")}
    assert "in lane 0" in reports[0]["message"]
    correct = "  v_mov_b32_e32 v2, 0\n  s_mov_b64 vcc, 0\n"
    assert findings(tmp_path, chip, correct + body)[0] == set()


def test_workgroups_that_write_the_same_bytes(chip, tmp_path):
    body = """
  v_lshlrev_b32_e32 v0, 2, v0
  v_add_u32_e32 v1, s2, v0
  global_store_dword v0, v1, s[0:1]"""
    found, (report,) = findings(tmp_path, chip, body, grid=2, directives=".amdhsa_system_sgpr_workgroup_id_x 1\n")
    assert found == {("race", "global_store_dword", "global_store_dword")}
    assert "by different workgroups" in report["message"]
    atomic = body.replace("global_store_dword v0", "global_atomic_add v0")
    assert findings(tmp_path, chip, atomic, grid=2)[0] == set()


WAIT_STATES = [
    ("v_mov_b32_e32 v4, 1", "v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], 0", 2, 2),
    ("v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], 0", "v_add_f32_e32 v12, v8, v8", 7, 8),
    ("v_mfma_f32_32x32x8_f16 v[8:23], v[4:5], v[6:7], 0", "v_add_f32_e32 v24, v8, v8", 11, 12),
    ("v_mfma_f32_16x16x4_f32 v[8:11], v4, v6, 0", "v_add_f32_e32 v12, v8, v8", 10, 10),
    ("v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], 0", "v_mfma_f32_16x16x16_f16 v[12:15], v[8:9], v[6:7], 0", 7, 8),
    ("v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], 0", "v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], v[8:11]", 0, 0),
    ("v_mfma_f32_16x16x16_f16 v[12:15], v[4:5], v[6:7], v[8:11]", "v_mov_b32_e32 v8, 1", 3, 3),
    ("v_mfma_f32_4x4x4_16b_f16 v[8:11], v[4:5], v[6:7], 0", "v_mfma_f32_4x4x4_16b_f16 v[8:11], v[4:5], v[6:7], v[8:11]", 2, 2),
    ("v_mfma_f32_16x16x16_f16 v[8:11], v[4:5], v[6:7], 0", "global_store_dword v0, v8, s[0:1]", 7, 8),
    ("v_cmp_eq_u32_e32 vcc, v1, v2", "v_cndmask_b32_e32 v3, v1, v2, vcc", 2, 2),
    ("v_readfirstlane_b32 s4, v1", "v_mov_b32_e32 v2, s4", 2, 2),
    ("v_readfirstlane_b32 s4, v1", "global_load_dword v2, v0, s[4:5]", 5, 5),
    ("v_mov_b32_e32 v1, 1", "v_mov_b32_dpp v2, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf", 2, 2),
    ("v_mov_b32_e32 v1, 1", "v_readlane_b32 s4, v1, 3", 1, 1),
    ("v_exp_f32_e32 v1, v2", "v_add_f32_e32 v3, v1, v1", 1, 1),
    ("v_add_u32_e32 v1, v2, v3", "v_add_u32_e32 v4, v1, v1", 0, 0),
]


@pytest.mark.parametrize("first, second, gfx942, gfx950", WAIT_STATES, ids=str)
def test_wait_states(chip, first, second, gfx942, gfx950, tmp_path):
    needed = gfx942 if chip == "gfx942" else gfx950
    start = "  v_mov_b32_e32 v0, 0\n  s_mov_b64 s[4:5], s[0:1]\n  s_nop 4\n"
    # The second instruction is skipped by EXEC = 0 where it would access memory at an address of the test.
    start += "  s_mov_b64 exec, 0\n" if "global_load" in second else ""
    for has in sorted({max(needed - 1, 0), needed}):
        nops = "".join(f"  s_nop {min(rest, 8) - 1}\n" for rest in (has, has - 8) if rest > 0)
        found, reports = findings(tmp_path, chip, f"{start}  {first}\n{nops}  {second}", orders=[[]])
        if has == needed:
            assert not [name for name in found if name[0] == "wait-states"]
        else:
            assert ("wait-states", second.split(" ")[0], first.split(" ")[0]) in found
            messages = " ".join(report["message"] for report in reports)
            assert f"needs {needed} wait states between them, has {has}" in messages


def test_an_overwritten_result_needs_no_wait_states(chip, tmp_path):
    """The second product overwrites half of the first one's result, so the third waits only for the other half."""
    products = "  v_mov_b32_e32 v0, 0\n  s_nop 4\n"
    for result, c in (("v[10:13]", "0"), ("v[8:11]", "v[10:13]"), ("v[16:19]", "v[8:11]")):
        products += f"  v_mfma_f32_16x16x4_f32 {result}, v0, v0, {c}\n"
    assert findings(tmp_path, chip, products, orders=[[]])[0] == set()
    found, reports = findings(tmp_path, chip, products.replace("v0, v0, v[8:11]", "v0, v0, v[12:15]"), orders=[[]])
    assert {name[0] for name in found} == {"wait-states"}
    assert "needs 8 wait states between them, has 1" in " ".join(report["message"] for report in reports)


@pytest.mark.parametrize("chip", CHIPS)
def test_mutants_of_a_product(chip, triton_objects, tmp_path, monkeypatch):
    """A sample; mutants.py has them all."""
    import test_execute

    output = tmp_path / "mutants.txt"
    monkeypatch.setattr(test_execute, "MUTANTS", (output, "--mutants=waitcnt,barrier,nop:0/8"))
    with pytest.raises(pytest.skip.Exception):
        triton_matmul(Kernel(triton_objects, 1, chip, []), tmp_path, 1)
    verdicts, originals = mutants.read(output)
    assert not originals and len(verdicts) >= 5
    effective = [(key, verdict) for key, verdict in verdicts.items() if verdict[0] not in ("harmless", "unexecuted")]
    assert len(effective) >= 4
    for (_, kind, _, address), (verdict, evidence) in effective:
        assert verdict == "named" and mutants.is_right(kind, address, evidence)
