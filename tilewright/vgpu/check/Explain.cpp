// Findings in words.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/Memory.h"
#include "tilewright/vgpu/ptx/Module.h"
#include "tilewright/vgpu/ptx/Printer.h"

#include <bit>
#include <cstring>
#include <functional>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::GroupKind;
using machine::Proxy;

static std::string hex(uint64_t value) {
  std::ostringstream out;
  out << "0x" << std::hex << value;
  return std::move(out).str();
}

uint32_t LaunchState::placeOf(const machine::Op *op) const {
  for (const Range &range : ranges)
    if (!std::less<>()(op, range.begin) && std::less<>()(op, range.end))
      return range.first + static_cast<uint32_t>(op - range.begin);
  return ~0u;
}

const machine::Op *LaunchState::opAt(uint32_t place) const {
  for (const Range &range : ranges)
    if (place >= range.first && place - range.first < range.end - range.begin)
      return range.begin + (place - range.first);
  return nullptr;
}

SourcePlace Detector::sourceOf(uint32_t place) const {
  SourcePlace result;
  const machine::Op *op = launch.opAt(place);
  const machine::Program &program = *launch.program;
  for (const std::unique_ptr<machine::DecodedFunction> &function : program.functions) {
    const machine::Op *begin = function->code.data(), *end = begin + function->code.size();
    if (!op || std::less<>()(op, begin) || !std::less<>()(op, end))
      continue;
    result.function = function->name;
    const uint32_t index = function->instructions[static_cast<size_t>(op - begin)];
    if (index >= function->source->instructions.size())
      break;
    const ptx::Instruction &instruction = function->source->instructions[index];
    result.line = instruction.position.line;
    result.instruction = ptx::print(*program.module, *function->source, instruction);
    if (instruction.location == ptx::noIndex)
      break;
    const ptx::SourceLocation &location = program.module->locations[instruction.location];
    for (const ptx::SourceFile &file : program.module->files)
      if (file.number == location.file) {
        result.file = program.module->name(file.name);
        result.fileLine = location.line;
      }
  }
  return result;
}

static std::string describeThread(const machine::Dim3 &block, uint32_t warp, uint32_t lane) {
  std::string text = concat("block ", listed(block), " warp ", warp);
  return lane < 32 ? concat(text, " lane ", lane) : concat(text, " several lanes");
}

std::string Detector::who(const Touch &touch, uint32_t byte) const {
  // The coordinates of a block of another group follow from its number.
  const machine::Dim3 &grid = launch.grid->grid;
  const machine::Dim3 id = {touch.block % grid[0], touch.block / grid[0] % grid[1],
                            touch.block / grid[0] / grid[1]};
  if (touch.op == 0)
    return describeThread(id, touch.warp, touch.laneOf(byte));
  return concat(describeThread(id, touch.warp, touch.isLaneless ? 32 : touch.laneOf(byte)),
                ", operation ", touch.op);
}

Party Detector::partyOf(const Touch &touch, uint32_t byte) const {
  Party party;
  party.place = sourceOf(touch.place);
  std::string_view kind = touch.accessKind() == AccessKind::read    ? "read"
                          : touch.accessKind() == AccessKind::write ? "write"
                                                                    : "atomic access";
  party.what = concat(touch.op != 0    ? "asynchronous "
                      : touch.isStrong ? "strong "
                                       : "",
                      kind, touch.op != 0 ? " issued by" : " by");
  party.who = who(touch, byte);
  return party;
}

std::string Detector::whereIs(uint64_t address) const {
  if ((address & machine::windowMask) == machine::sharedWindow) {
    const auto rank = static_cast<uint32_t>(address >> machine::sharedOffsetBits & 0xff);
    std::string text = "shared memory";
    if (rank != 0 && machine::volume(launch.grid->cluster) > 1)
      text += concat(" of rank ", rank - 1, " of its cluster");
    return concat(text, ", offset ", hex(address & machine::sharedOffsetMask));
  }
  std::string text = concat("global memory at ", hex(address));
  if (const Allocation *allocation = launch.allocations->find(address))
    text += address < allocation->begin
                ? concat(", ", allocation->begin - address, " bytes before an allocation of ",
                         allocation->bytes)
                : concat(", offset ", hex(address - allocation->begin), " of an allocation of ",
                         allocation->bytes, " bytes");
  return text;
}

/// The word at an address that has been accessed before. Somebody may be writing it right
/// now, since that is what is reported: any of the values will do.
[[gnu::no_sanitize("thread")]] std::string Detector::valueAt(uint64_t address) const {
  const std::byte *from = nullptr;
  const uint64_t aligned = address & ~uint64_t(3);
  if ((address & machine::windowMask) == machine::sharedWindow) {
    const auto rank = static_cast<uint32_t>(address >> machine::sharedOffsetBits & 0xff);
    const uint64_t offset = aligned & machine::sharedOffsetMask;
    for (const BlockState &block : group.blocks)
      if ((rank == 0 || block.rank == rank - 1) && block.memory &&
          offset + 4 <= block.sharedBytes) {
        from = block.memory + offset;
        break;
      }
  } else {
    from = reinterpret_cast<const std::byte *>(aligned);
  }
  if (!from)
    return "";
  const uint32_t word = __atomic_load_n(reinterpret_cast<const uint32_t *>(from), __ATOMIC_RELAXED);
  return hex(word);
}

static std::string_view proxyName(Proxy proxy) {
  switch (proxy) {
  case Proxy::generic:
    return "generic";
  case Proxy::async:
    return "async";
  case Proxy::tensormap:
    return "tensormap";
  }
  return "";
}

void Detector::reportConflict(const Actor &actor, const Touch &now, const Touch &earlier,
                              uint32_t byte, uint64_t address, Ordering ordering) {
  const FindingKind kind =
      ordering == Ordering::unfenced ? FindingKind::missingFence : FindingKind::race;
  const auto program = reinterpret_cast<uint64_t>(launch.program);
  if (!report.countOrReserve(kind, program, now.place, earlier.place))
    return;
  Finding finding;
  finding.kind = kind;
  finding.kernel = launch.program->entry().name;
  finding.parties = {partyOf(now, byte), partyOf(earlier, byte)};
  finding.where = whereIs(address);
  finding.value = valueAt(address);
  std::string_view pair = now.isRead()       ? "a read and a write before it"
                          : earlier.isRead() ? "a write and a read before it"
                                             : "two writes";
  if (kind == FindingKind::missingFence) {
    finding.message = concat(pair, " are ordered, but no proxy fence lies between the ",
                             proxyName(earlier.accessProxy()), " and the ",
                             proxyName(now.accessProxy()), " proxy");
    finding.fix =
        now.accessProxy() == Proxy::tensormap
            ? "fence.proxy.tensormap::generic.release after the change, .acquire with the address "
              "of the map before its use"
        : inShared ? "put fence.proxy.async.shared::cta after the first access, before the barrier "
                     "that orders the two"
                   : "put fence.proxy.async.global after the first access, before what orders the "
                     "two";
  } else {
    finding.message = concat(pair, " of the same bytes have no order");
    const bool sameWarp = now.block == earlier.block && now.warp == earlier.warp;
    if (earlier.op != 0) {
      const auto found = group.operations.find(earlier.op);
      const GroupKind by = found == group.operations.end() ? GroupKind::none : found->second->group;
      finding.fix = by == GroupKind::copy
                        ? "cp.async.wait_group for the copy, then a barrier for other threads"
                    : by == GroupKind::bulk
                        ? "cp.async.bulk.wait_group for the copy (.read is enough to overwrite "
                          "its source), then a barrier for other threads"
                    : by == GroupKind::matrix
                        ? "wgmma.wait_group for the product before its operands are overwritten"
                        : "wait for the phase of the mbarrier that the copy completes";
    } else if (sameWarp && now.op == 0 && now.place == earlier.place && !now.isRead()) {
      finding.fix = "lanes store different values at one address, and any of them may stay: let "
                    "one lane store, or all of them the same (in rounds of a loop: __syncwarp() "
                    "between the two)";
    } else if (sameWarp && now.op == 0) {
      finding.fix = "lanes of one warp are not ordered by themselves: __syncwarp() "
                    "(bar.warp.sync) between the two";
    } else if (now.block == earlier.block) {
      finding.fix = now.op != 0 ? "a barrier (and a proxy fence) before the operation is issued"
                                : "__syncthreads() (bar.sync) between the two";
      const std::string &file = finding.parties[0].place.file;
      if (!inShared && now.isRead() != earlier.isRead() && file.ends_with(".py"))
        finding.fix += "; in Triton tl.debug_barrier() between tl.load and tl.store of the same "
                       "address";
    } else if (earlier.isStrong && now.isStrong) {
      finding.fix = "the scope of one of them does not include the other's thread: use .gpu, or "
                    ".cluster within a cluster";
    } else if (inShared) {
      finding.fix = "barrier.cluster.arrive.release and barrier.cluster.wait.acquire between the "
                    "two";
    } else {
      finding.fix = "blocks are only ordered by flags: release (or fence and store) after the "
                    "first, acquire (or load and fence) before the second, with scope .gpu";
    }
  }
  static_cast<void>(actor);
  report.add(std::move(finding), program, now.place, earlier.place);
}

void Detector::reportSimple(FindingKind kind, const Touch &touch, uint32_t byte,
                            std::string message, uint64_t address, std::string fix,
                            const Touch *other, std::string otherWhat) {
  const auto program = reinterpret_cast<uint64_t>(launch.program);
  const uint64_t otherPlace = other ? other->place : ~uint64_t(0);
  if (!report.countOrReserve(kind, program, touch.place, otherPlace))
    return;
  Finding finding;
  finding.kind = kind;
  finding.kernel = launch.program->entry().name;
  finding.message = std::move(message);
  finding.fix = std::move(fix);
  if (address != 0)
    finding.where = whereIs(address);
  Party party = partyOf(touch, byte);
  if (kind == FindingKind::barrier || kind == FindingKind::registers ||
      kind == FindingKind::unfinished)
    party.what = touch.op != 0 ? "operation issued by" : "by";
  finding.parties.push_back(std::move(party));
  if (other) {
    Party second = partyOf(*other, 0);
    second.what = std::move(otherWhat);
    finding.parties.push_back(std::move(second));
  }
  report.add(std::move(finding), program, touch.place, otherPlace);
}

void Detector::failLaunch(uint32_t place) {
  const machine::Op *op = launch.opAt(place);
  launch.grid->fail(
      Status(Error::vgpuAccess, concat("an access outside of every allocation, at ",
                                       machine::describePosition(*launch.program, op))));
}

void Detector::touchInFlight(const machine::Warp &machineWarp, const machine::Op *op, uint32_t mask,
                             machine::AsyncId id) {
  if (!options.races)
    return;
  const WarpState &warp = group.warpOf(machineWarp);
  Touch now;
  now.block = warp.block->linear;
  now.warp = static_cast<uint8_t>(warp.index);
  now.place = launch.placeOf(op);
  now.isMany = (mask & (mask - 1)) != 0;
  Touch matrix = now;
  const AsyncState *operation = operationOf(id);
  matrix.place = operation ? operation->place : ~0u;
  matrix.op = static_cast<uint32_t>(id);
  reportSimple(FindingKind::registers, now, 0,
               "a register of a wgmma that may still run is touched", 0,
               "wgmma.wait_group for it before its registers are used", &matrix, "wgmma issued by");
}

/// Whether some thread of `block` knows that the operation is over.
bool Detector::isKnownIn(const BlockState &block, const AsyncState &operation) const {
  for (const CompletionMark &mark : operation.completions)
    for (const WarpState &warp : block.warps) {
      if (!mark.isPhase && mark.warp == warp.groupIndex)
        return true; // it waited itself
      for (const Cohort &cohort : warp.cohorts)
        if (mark.isPhase ? cohort.knowledge.base.knowsPhase(mark.warp, mark.epoch)
                         : cohort.knowledge.base.knows(
                               mark.warp, static_cast<uint32_t>(std::countr_zero(mark.mask)),
                               static_cast<uint32_t>(mark.epoch)))
          return true;
    }
  return false;
}

void Detector::finish() {
  if (!options.barriers || launch.grid->failed)
    return;
  for (const auto &[id, operation] : group.operations) {
    if (operation->group == GroupKind::copy || operation->group == GroupKind::matrix)
      continue;
    for (const uint32_t index : operation->sharedOf) {
      if (isKnownIn(group.blocks[index], *operation))
        continue;
      Touch touch;
      touch.block = operation->warp->block->linear;
      touch.warp = static_cast<uint8_t>(operation->warp->index);
      touch.place = operation->place;
      touch.op = id;
      touch.isLaneless = 1;
      reportSimple(FindingKind::unfinished, touch, 0,
                   concat("no thread of block ", listed(group.blocks[index].id),
                          " waited for an asynchronous copy on its shared memory before it ended"),
                   0,
                   operation->group == GroupKind::bulk
                       ? "cp.async.bulk.wait_group.read 0 before the thread that issued it exits"
                       : "wait for the phase of its mbarrier, or for the cluster "
                         "(barrier.cluster), before the block ends");
      break;
    }
  }
  // Shared memory ends with its block; whoever accesses it from outside must be
  // done before, and somebody of the block must know that.
  for (const BlockState &block : group.blocks)
    for (const auto &[from, touch] : block.remote) {
      bool isKnown = false;
      for (const WarpState &warp : block.warps)
        for (const Cohort &cohort : warp.cohorts)
          isKnown = isKnown || cohort.knowledge.base.knows(from, touch.laneOf(0), touch.epoch);
      if (!isKnown)
        reportSimple(FindingKind::unfinished, touch, 0,
                     concat("the shared memory of block ", listed(block.id),
                            " is accessed by another block, and may have ended before"),
                     0,
                     "barrier.cluster.arrive and barrier.cluster.wait after the last access to "
                     "memory of other blocks");
    }
  for (const BlockState &block : group.blocks)
    for (const auto &[offset, state] : block.mbarriers)
      if (state.isLive && state.expectedBytes != 0)
        reportSimple(
            FindingKind::barrier, state.expect, 0,
            state.expectedBytes > 0
                ? concat(state.expectedBytes, " bytes were announced to an mbarrier and never came")
                : concat(-state.expectedBytes,
                         " bytes came to an mbarrier and were never announced"),
            machine::sharedWindow | machine::sharedAddress(block.rank, offset),
            "the bytes of expect_tx must be those of all copies that complete on the "
            "mbarrier in that phase");
}

} // namespace tilewright::vgpu::check
