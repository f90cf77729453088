#include "tilewright/vgpu/amdgcn/execute/InFlight.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/amdgcn/watch/Watch.h"

#include <algorithm>

namespace tilewright::vgpu::amdgcn {

// -- Registers

static bool isRegister(const Slot &slot) {
  return slot.kind == SlotKind::vector || slot.kind == SlotKind::scalar;
}
static bool overlap(const Slot &a, const Slot &b) {
  return a.kind == b.kind && a.index < b.index + b.dwords && b.index < a.index + a.dwords;
}
static std::string registerName(const Slot &slot, unsigned index) {
  if (slot.kind == SlotKind::scalar)
    return index == m0Slot                           ? "m0"
           : index >= execSlot                       ? "exec"
           : index >= vccSlot && index < vccSlot + 2 ? "vcc"
                                                     : concat("s", index);
  return index >= firstAgprSlot ? concat("a", index - firstAgprSlot) : concat("v", index);
}

/// The registers that a memory operation writes when it is performed; none for a store.
static Slot resultOf(const Op &op) {
  const bool isBuffer = op.instruction.row->encoding == Encoding::mubuf;
  const Slot &slot = isBuffer ? op.sources[1] : op.destination;
  return op.writesRegisters && isRegister(slot) ? slot : Slot();
}

/// The index of a register's bit in InFlight::written.
static unsigned bitOf(const Slot &slot) {
  return slot.kind == SlotKind::vector ? slot.index : vectorSlots + slot.index;
}

void InFlight::setWritten() {
  written.reset();
  for (const Queue *queue : {&vector, &local, &scalar})
    for (const std::shared_ptr<Issued> &issued : *queue)
      if (const Slot result = resultOf(*issued->op); isRegister(result))
        for (unsigned i = 0; i < result.dwords; ++i)
          written.set(bitOf(result) + i);
}

/// The operation in flight that writes a register that `op` uses; null if there is none.
const InFlight::Issued *InFlight::find(const Op &op, const Use &use) const {
  if (!isRegister(use.slot))
    return nullptr;
  bool isWritten = false;
  for (unsigned i = 0; i < use.slot.dwords; ++i)
    isWritten |= written[bitOf(use.slot) + i];
  if (!isWritten)
    return nullptr;
  for (const Queue *queue : {&vector, &local, &scalar})
    for (const std::shared_ptr<Issued> &issued : *queue) {
      // Results of one queue arrive in order, so the last one remains.
      const bool isOrdered = use.writes && issued->op->counter == op.counter &&
                             op.counter != Counter::scalar && op.counter != Counter::flat;
      if (overlap(use.slot, resultOf(*issued->op)) && !isOrdered)
        return issued.get();
    }
  return nullptr;
}

Status InFlight::reportUse(const Wave &wave, const Op &op, const Use &use,
                           const Issued &issued) const {
  const unsigned index = std::max(use.slot.index, resultOf(*issued.op).index);
  if (wave.watch) {
    wave.watch->useInFlight(op, index, issued.id);
    return Status();
  }
  const auto &id = wave.group->id;
  return Status(Error::vgpuFault,
                concat(placeOf(op), use.writes ? " writes " : " reads ",
                       registerName(use.slot, index), " while ", placeOf(*issued.op),
                       ", which writes it, is in flight (wave ", wave.number, " of workgroup (",
                       id[0], ", ", id[1], ", ", id[2], ")); wait for it with s_waitcnt before"));
}

Status InFlight::checkRegisters(const Wave &wave, const Op &op) const {
  auto check = [&](const Use &use) {
    const Issued *issued = find(op, use);
    return issued ? reportUse(wave, op, use, *issued) : Status();
  };
  const bool isBuffer = op.instruction.row->encoding == Encoding::mubuf;
  for (unsigned i = 0; i < op.sources.size(); ++i)
    if (!(isBuffer && i == 1 && op.writesRegisters))
      TILEWRIGHT_TRY(check({op.sources[i], false}));
  TILEWRIGHT_TRY(check({op.scalarDestination, true}));
  return check({op.counter == Counter::none ? op.destination : resultOf(op), true});
}

// -- Issue

void InFlight::issue(Wave &wave, const Op &op) {
  auto issued = std::make_shared<Issued>();
  issued->op = &op;
  if (wave.watch)
    issued->id = wave.watch->issue(op);
  if (completion != Completion::eager) {
    issued->scalars = wave.scalars;
    for (const Slot &slot : op.sources)
      if (slot.kind == SlotKind::vector)
        for (unsigned i = 0; i < slot.dwords; ++i)
          issued->vectors.emplace_back(static_cast<uint16_t>(slot.index + i),
                                       wave.vectors[slot.index + i]);
  }
  // The chip stops issuing when a counter is full.
  constexpr size_t maxVector = 64, maxLocal = 16;
  if (vector.size() == maxVector && op.counter != Counter::local && op.counter != Counter::scalar)
    complete(wave, vector, 0);
  if (local.size() == maxLocal && (op.counter == Counter::local || op.counter == Counter::flat))
    complete(wave, local, 0);
  const std::shared_ptr<Issued> kept = issued;
  switch (op.counter) {
  case Counter::flat:
    issued->counters = 2;
    local.push_back(issued);
    [[fallthrough]];
  case Counter::vector:
    vector.push_back(std::move(issued));
    break;
  case Counter::local:
    local.push_back(std::move(issued));
    break;
  default:
    scalar.push_back(std::move(issued));
  }
  if (const Slot result = resultOf(op); isRegister(result))
    for (unsigned i = 0; i < result.dwords; ++i)
      written.set(bitOf(result) + i);
  if (completion == Completion::eager)
    perform(wave, *kept);
}

void InFlight::execute(Wave &wave, const Op &op) {
  if (written.any())
    if (Status status = checkRegisters(wave, op); !status.isOk())
      return wave.fail(std::move(status));
  if (completion == Completion::seeded)
    performSome(wave);
  if (op.counter == Counter::none)
    op.run(wave, op);
  else
    issue(wave, op);
}

// -- Completion

/// Runs an operation with the registers as they were at its issue, then restores the registers,
/// except for the lanes that the operation wrote.
static void runAsIssued(Wave &wave, const Op &op, std::array<uint32_t, scalarSlots> &scalars,
                        std::vector<std::pair<uint16_t, VectorRegister>> &vectors) {
  const Slot result = resultOf(op);
  std::swap(wave.scalars, scalars);
  const LaneMask exec = wave.exec();
  for (auto &[slot, saved] : vectors)
    std::swap(wave.vectors[slot], saved);
  op.run(wave, op);
  std::for_each(vectors.rbegin(), vectors.rend(), [&](auto &entry) {
    auto &[slot, saved] = entry;
    const bool isResult = result.kind == SlotKind::vector && slot >= result.index &&
                          slot < result.index + result.dwords;
    if (isResult)
      forLanes(~exec, [&](unsigned lane) { wave.vectors[slot].lanes[lane] = saved.lanes[lane]; });
    else
      std::swap(wave.vectors[slot], saved);
  });
  std::swap(wave.scalars, scalars);
  if (result.kind == SlotKind::scalar)
    std::copy_n(&scalars[result.index], result.dwords, &wave.scalars[result.index]);
}

void InFlight::perform(Wave &wave, Issued &issued) {
  if (issued.isPerformed || wave.state == WaveState::failed)
    return;
  issued.isPerformed = true;
  const Op &op = *issued.op;
  if (wave.watch)
    wave.watch->begin(op, issued.id);
  if (completion == Completion::eager)
    op.run(wave, op);
  else
    runAsIssued(wave, op, issued.scalars, issued.vectors);
  if (wave.watch)
    wave.watch->end();
}

void InFlight::complete(Wave &wave, Queue &queue, size_t index) {
  const std::shared_ptr<Issued> issued = std::move(queue[index]);
  queue.erase(queue.begin() + static_cast<ptrdiff_t>(index));
  if (--issued->counters != 0)
    return;
  perform(wave, *issued);
  if (!wave.watch)
    return;
  completed.push_back(issued->id);
  if (issued->op->instruction.row->name == "buffer_wbl2")
    writeBack = issued->op;
}

void InFlight::wait(Wave &wave, const Op &op, size_t vectorCount, size_t localCount) {
  while (vector.size() > vectorCount)
    complete(wave, vector, 0);
  // Scalar loads complete in any order, so only a wait for all of them proves that a given one has
  // completed.
  while (local.size() > localCount)
    complete(wave, local, 0);
  while (localCount == 0 && !scalar.empty())
    complete(wave, scalar, scalar.size() - 1);
  setWritten();
  if (!completed.empty())
    wave.watch->wait(op, completed);
  completed.clear();
  if (writeBack)
    wave.watch->fence(*writeBack);
  writeBack = nullptr;
}

void InFlight::performAll(Wave &wave) {
  for (Queue *queue : {&vector, &local, &scalar})
    for (const std::shared_ptr<Issued> &issued : *queue)
      perform(wave, *issued);
}

void InFlight::performSome(Wave &wave) {
  constexpr unsigned oneOf = 8;
  for (Queue *queue : {&vector, &local})
    for (const std::shared_ptr<Issued> &issued : *queue)
      if (!issued->isPerformed) {
        if (random() % oneOf == 0)
          perform(wave, *issued);
        break;
      }
  if (!scalar.empty() && random() % oneOf == 0)
    perform(wave, *scalar[random() % scalar.size()]);
}

} // namespace tilewright::vgpu::amdgcn
