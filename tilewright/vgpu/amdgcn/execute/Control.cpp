// Branches, calls, barriers and waits: SOPP, and the instructions that read or write the PC.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/execute/InFlight.h"
#include "tilewright/vgpu/amdgcn/execute/Program.h"
#include "tilewright/vgpu/amdgcn/watch/Watch.h"

namespace tilewright::vgpu::amdgcn {

static void branch(Wave &wave, const Op &op) {
  wave.pc = op.target;
  ++wave.branches;
}
template <auto condition> static void branchIf(Wave &wave, const Op &op) {
  if (condition(wave))
    branch(wave, op);
}

static void jumpTo(Wave &wave, const Op &op, uint64_t address) {
  const std::optional<uint32_t> target = wave.dispatch().program->find(address);
  if (!target)
    return wave.fail(Status(Error::vgpuFault, concat(placeOf(op), " jumps to ", address,
                                                     ", where the kernel has no instruction")));
  wave.pc = *target;
  ++wave.branches;
}

static uint64_t returnAddress(const Wave &wave, const Op &op) {
  return wave.dispatch().program->loadAddress() + op.address + 4u * op.instruction.dwords;
}

static void endProgram(Wave &wave, const Op &op) {
  if (wave.inFlight)
    wave.inFlight->wait(wave, op, 0, 0);
  if (wave.state != WaveState::failed)
    wave.state = WaveState::ended;
}
static void wait(Wave &wave, const Op &op) {
  if (!wave.inFlight)
    return;
  const auto counters = static_cast<uint32_t>(op.sources[0].value);
  wave.inFlight->wait(wave, op, (counters & 15) | (counters >> 14 & 3) << 4, counters >> 8 & 15);
}
static void barrier(Wave &wave, const Op &op) {
  wave.state = WaveState::atBarrier;
  if (wave.watch)
    wave.watch->arriveAtBarrier(op);
}
static void getPc(Wave &wave, const Op &op) {
  writeScalar(wave, op.destination, returnAddress(wave, op));
}
static void setPc(Wave &wave, const Op &op) { jumpTo(wave, op, readScalar(wave, op.sources[0])); }
static void swapPc(Wave &wave, const Op &op) {
  const uint64_t target = readScalar(wave, op.sources[0]);
  writeScalar(wave, op.destination, returnAddress(wave, op));
  jumpTo(wave, op, target);
}
static void call(Wave &wave, const Op &op) {
  writeScalar(wave, op.destination, returnAddress(wave, op));
  branch(wave, op);
}
static void trap(Wave &wave, const Op &op) {
  wave.fail(Status(Error::vgpuFault, concat("the kernel executed ", placeOf(op))));
}
/// Instructions for priorities, sleep and padding do not change any value.
static void nothing(Wave &, const Op &) {}

static constexpr NamedHandler handlers[] = {
    {"s_nop", nothing},
    {"s_endpgm", endProgram},
    {"s_branch", branch},
    {"s_wakeup", nothing},
    {"s_cbranch_scc0", branchIf<[](const Wave &wave) { return !wave.scc; }>},
    {"s_cbranch_scc1", branchIf<[](const Wave &wave) { return wave.scc; }>},
    {"s_cbranch_vccz", branchIf<[](const Wave &wave) { return wave.vcc() == 0; }>},
    {"s_cbranch_vccnz", branchIf<[](const Wave &wave) { return wave.vcc() != 0; }>},
    {"s_cbranch_execz", branchIf<[](const Wave &wave) { return wave.exec() == 0; }>},
    {"s_cbranch_execnz", branchIf<[](const Wave &wave) { return wave.exec() != 0; }>},
    {"s_barrier", barrier},
    {"s_waitcnt", wait},
    {"s_sleep", nothing},
    {"s_setprio", nothing},
    {"s_trap", trap},
    {"s_icache_inv", nothing},
    {"s_getpc_b64", getPc},
    {"s_setpc_b64", setPc},
    {"s_swappc_b64", swapPc},
    {"s_call_b64", call},
};

bool chooseControl(Op &op) { return chooseNamed(op, handlers); }

} // namespace tilewright::vgpu::amdgcn
