#include "tilewright/vgpu/amdgcn/execute/InFlight.h"

#include "tilewright/support/Concat.h"

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

Status InFlight::checkRegisters(const Wave &wave, const Op &op) const {
  auto check = [&](const Slot &slot, bool writes) {
    for (const Queue *queue : {&vector, &local, &scalar})
      for (const std::shared_ptr<Issued> &issued : *queue) {
        const Slot result = resultOf(*issued->op);
        // Results of one queue arrive in order, so that the last one stays.
        const bool isOrdered = writes && issued->op->counter == op.counter &&
                               op.counter != Counter::scalar && op.counter != Counter::flat;
        if (!isRegister(slot) || !overlap(slot, result) || isOrdered)
          continue;
        const auto &id = wave.group->id;
        return Status(Error::vgpuFault,
                      concat("'", toText(op.instruction), "' at ", op.address,
                             " of the code object ", writes ? "writes " : "reads ",
                             registerName(slot, std::max(slot.index, result.index)), " while '",
                             toText(issued->op->instruction), "' at ", issued->op->address,
                             ", which writes it, is in flight (wave ", wave.number,
                             " of workgroup (", id[0], ", ", id[1], ", ", id[2],
                             ")); wait for it with s_waitcnt before"));
      }
    return Status();
  };
  const bool isBuffer = op.instruction.row->encoding == Encoding::mubuf;
  for (unsigned i = 0; i < op.sources.size(); ++i)
    if (!(isBuffer && i == 1 && op.writesRegisters))
      TILEWRIGHT_TRY(check(op.sources[i], false));
  TILEWRIGHT_TRY(check(op.scalarDestination, true));
  return check(op.counter == Counter::none ? op.destination : resultOf(op), true);
}

// -- Issue

void InFlight::issue(const Wave &wave, const Op &op) {
  auto issued = std::make_shared<Issued>();
  issued->op = &op;
  issued->scalars = wave.scalars;
  for (const Slot &slot : op.sources)
    if (slot.kind == SlotKind::vector)
      for (unsigned i = 0; i < slot.dwords; ++i)
        issued->vectors.emplace_back(static_cast<uint16_t>(slot.index + i),
                                     wave.vectors[slot.index + i]);
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
}

void InFlight::execute(Wave &wave, const Op &op) {
  if (!vector.empty() || !local.empty() || !scalar.empty()) {
    if (Status status = checkRegisters(wave, op); !status.isOk())
      return wave.fail(std::move(status));
    if (completion == Completion::seeded)
      completeSome(wave);
  }
  if (op.counter == Counter::none)
    op.run(wave, op);
  else
    issue(wave, op);
}

// -- Completion

/// Runs the operation with the registers of its issue. Afterwards these have the values that they
/// have now, but for the lanes that the operation wrote.
void InFlight::perform(Wave &wave, Issued &issued) {
  const Op &op = *issued.op;
  const Slot result = resultOf(op);
  std::swap(wave.scalars, issued.scalars);
  const LaneMask exec = wave.exec();
  for (auto &[slot, saved] : issued.vectors)
    std::swap(wave.vectors[slot], saved);
  op.run(wave, op);
  std::for_each(issued.vectors.rbegin(), issued.vectors.rend(), [&](auto &entry) {
    auto &[slot, saved] = entry;
    const bool isResult = result.kind == SlotKind::vector && slot >= result.index &&
                          slot < result.index + result.dwords;
    if (isResult)
      forLanes(~exec, [&](unsigned lane) { wave.vectors[slot].lanes[lane] = saved.lanes[lane]; });
    else
      std::swap(wave.vectors[slot], saved);
  });
  std::swap(wave.scalars, issued.scalars);
  if (result.kind == SlotKind::scalar)
    std::copy_n(&issued.scalars[result.index], result.dwords, &wave.scalars[result.index]);
}

void InFlight::complete(Wave &wave, Queue &queue, size_t index) {
  const std::shared_ptr<Issued> issued = std::move(queue[index]);
  queue.erase(queue.begin() + static_cast<ptrdiff_t>(index));
  if (--issued->counters == 0 && wave.state != WaveState::failed)
    perform(wave, *issued);
}

void InFlight::wait(Wave &wave, size_t vectorCount, size_t localCount) {
  while (vector.size() > vectorCount)
    complete(wave, vector, 0);
  // Scalar loads complete in any order, so that only a wait for all of them proves that one has.
  while (local.size() > localCount)
    complete(wave, local, 0);
  while (localCount == 0 && !scalar.empty())
    complete(wave, scalar, scalar.size() - 1);
}

void InFlight::completeSome(Wave &wave) {
  constexpr unsigned oneOf = 8;
  for (Queue *queue : {&vector, &local})
    if (!queue->empty() && random() % oneOf == 0)
      complete(wave, *queue, 0);
  if (!scalar.empty() && random() % oneOf == 0)
    complete(wave, scalar, random() % scalar.size());
}

} // namespace tilewright::vgpu::amdgcn
