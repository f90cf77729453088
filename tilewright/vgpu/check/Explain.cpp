// Describes findings in words.
#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Hex.h"
#include "tilewright/vgpu/check/Advice.h"
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

namespace tilewright::vgpu::check {

using machine::AccessKind;
using machine::GroupKind;
using machine::Proxy;

uint32_t LaunchState::instructionOf(const machine::Op *op) const {
  for (const Range &range : ranges)
    if (!std::less<>()(op, range.begin) && std::less<>()(op, range.end))
      return range.first + static_cast<uint32_t>(op - range.begin);
  return ~0u;
}

const machine::Op *LaunchState::opAt(uint32_t instruction) const {
  for (const Range &range : ranges)
    if (instruction >= range.first && instruction - range.first < range.end - range.begin)
      return range.begin + (instruction - range.first);
  return nullptr;
}

static constexpr uint64_t isSource = uint64_t(1) << 63;

uint64_t LaunchState::sourceKey(uint32_t instruction) {
  std::call_once(keysMade, [this] {
    for (const std::unique_ptr<machine::DecodedFunction> &function : program->functions)
      for (size_t index = 0; index < function->code.size(); ++index) {
        uint64_t key = keys.size();
        if (const machine::SourceLine source = program->sourceLineOf(*function, index);
            !source.file.empty())
          key = isSource |
                (std::hash<std::string_view>()(source.file) << 33 >> 1 & ~uint64_t(0xffffffffu)) |
                source.line;
        keys.push_back(key);
      }
  });
  return instruction < keys.size() ? keys[instruction] : instruction;
}

uint64_t LaunchState::programKey(uint32_t instruction) {
  return sourceKey(instruction) & isSource ? std::hash<std::string_view>()(program->entry().name)
                                           : reinterpret_cast<uint64_t>(program);
}

SourceLocation Detector::locationOf(const LaunchState &of, uint32_t number) {
  const machine::Op *op = of.opAt(number);
  const machine::DecodedFunction *function = op ? machine::functionOf(*of.program, op) : nullptr;
  if (!function)
    return {};
  return of.program->placeOf(*function, static_cast<size_t>(op - function->code.data()));
}

static std::string describeThread(const machine::Terms &terms, const machine::Dim3 &block,
                                  uint32_t warp, uint32_t lane) {
  std::string text = concat(terms.block, " ", listed(block), " ", terms.warp, " ", warp);
  return lane < 32 ? concat(text, " lane ", lane) : concat(text, " several lanes");
}

std::string Detector::describeActor(const AccessRecord &record, uint32_t byte) const {
  // The block may be in another group: compute its coordinates from its linear index.
  const std::shared_ptr<LaunchState> other = otherLaunchOf(record);
  const LaunchState &of = other ? *other : launch;
  const machine::Dim3 &grid = of.shape;
  const uint32_t linear = record.block - of.firstBlock;
  const machine::Dim3 id = {linear % grid[0], linear / grid[0] % grid[1],
                            linear / grid[0] / grid[1]};
  const machine::Terms &terms = of.program->terms;
  if (record.op == 0)
    return describeThread(terms, id, record.warp, record.laneOf(byte));
  return concat(
      describeThread(terms, id, record.warp, record.isLaneless ? 32 : record.laneOf(byte)),
      ", operation ", record.op);
}

Party Detector::partyOf(const AccessRecord &record, uint32_t byte) const {
  Party party;
  const std::shared_ptr<LaunchState> other = otherLaunchOf(record);
  party.location = locationOf(other ? *other : launch, record.instruction);
  std::string_view kind = record.accessKind() == AccessKind::read    ? "read"
                          : record.accessKind() == AccessKind::write ? "write"
                                                                     : "atomic access";
  party.what = concat(record.op != 0    ? "asynchronous "
                      : record.isStrong ? "strong "
                                        : "",
                      kind, record.op != 0 ? " issued by" : " by");
  party.actor = describeActor(record, byte);
  if (other)
    party.actor +=
        concat(" of kernel ", other->program->entry().name,
               other->device != launch.device ? concat(" on device ", other->device) : "");
  return party;
}

std::string Detector::describeAddress(uint64_t address) const {
  if ((address & machine::windowMask) == machine::sharedWindow) {
    const auto rank = static_cast<uint32_t>(address >> machine::sharedOffsetBits & 0xff);
    const uint64_t offset = address & machine::sharedOffsetMask;
    const bool isTensor = offset >= machine::tensorOffset;
    std::string text = isTensor ? "tensor memory" : std::string(launch.program->terms.shared);
    if (rank != 0 && machine::volume(launch.grid->cluster) > 1)
      text += concat(" of rank ", rank - 1, " of its cluster");
    if (isTensor)
      return concat(text, ", lane ",
                    (offset - machine::tensorOffset) / (4 * machine::tensorColumns), ", column ",
                    offset / 4 % machine::tensorColumns);
    return concat(text, ", offset ", hexNumber(offset));
  }
  std::string text = concat("global memory at ", hexNumber(address));
  if (const Allocation *allocation = launch.allocations->find(address))
    text += address < allocation->begin
                ? concat(", ", allocation->begin - address, " bytes before an allocation of ",
                         allocation->bytes)
                : concat(", offset ", hexNumber(address - allocation->begin),
                         " of an allocation of ", allocation->bytes, " bytes");
  return text;
}

/// The word in memory at `address`, for a finding. If the finding is a race, another thread may be
/// writing the word now; either value will do.
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
  return hexNumber(word);
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

/// The smallest scope that contains both threads.
Conflict::Width Detector::widthOf(const AccessRecord &now, const AccessRecord &earlier) const {
  if (!launch.owns(earlier.block))
    return Conflict::Width::launches;
  if (now.block == earlier.block)
    return now.warp == earlier.warp ? Conflict::Width::warp : Conflict::Width::block;
  const uint64_t size = machine::volume(launch.grid->cluster);
  const BlockState *other = nullptr;
  for (const BlockState &block : group.blocks)
    if (block.linear == earlier.block)
      other = &block;
  const bool isOneCluster = size > 1 && other && group.blocks.size() <= size;
  return isOneCluster ? Conflict::Width::cluster : Conflict::Width::grid;
}

void Detector::reportConflict(const Actor &actor, const AccessRecord &now,
                              const AccessRecord &earlier, uint32_t byte, uint64_t address,
                              Ordering ordering) {
  const FindingKind kind =
      ordering == Ordering::unfenced ? FindingKind::missingFence : FindingKind::race;
  const Conflict::Width width = widthOf(now, earlier);
  // The order of the two accesses is arbitrary, so sort the pair: both orders are the same finding.
  const std::shared_ptr<LaunchState> other = otherLaunchOf(earlier);
  const uint64_t one = launch.sourceKey(now.instruction),
                 two = (other ? *other : launch).sourceKey(earlier.instruction);
  const Report::Key key{kind, launch.programKey(now.instruction), std::min(one, two),
                        std::max(one, two)};
  if (!report.countOrReserve(key, static_cast<uint8_t>(width)))
    return;
  Finding finding;
  finding.kind = kind;
  finding.kernel = launch.program->entry().name;
  finding.parties = {partyOf(now, byte), partyOf(earlier, byte)};
  finding.where = describeAddress(address);
  finding.value = valueAt(address);
  const Producer producer = producerOf(finding.parties[0].location, finding.kernel);
  std::string_view pair = now.isRead()       ? "a read and an earlier write"
                          : earlier.isRead() ? "a write and an earlier read"
                                             : "two writes";
  if (kind == FindingKind::missingFence) {
    finding.message = concat(pair, " are ordered, but without a proxy fence between the ",
                             proxyName(earlier.accessProxy()), " and the ",
                             proxyName(now.accessProxy()), " proxy");
    finding.fix = fenceAdvice(now.accessProxy() == Proxy::tensormap, inShared, producer);
  } else {
    finding.message =
        concat(pair, " of the same bytes are not ordered",
               width == Conflict::Width::grid
                   ? concat(" (by different ", launch.program->terms.block, "s)")
               : !other                         ? std::string()
               : other->device != launch.device ? " (by launches on different devices)"
                                                : " (by launches on different streams)");
    Conflict conflict;
    conflict.width = width;
    conflict.isShared = inShared;
    conflict.isSameInstruction = now.instruction == earlier.instruction && !now.isRead();
    conflict.areBothStrong = earlier.isStrong && now.isStrong;
    conflict.issuesOperation = now.op != 0;
    conflict.isAfterOperation = earlier.op != 0;
    if (const auto found = group.operations.find(earlier.op); found != group.operations.end())
      conflict.earlierOperation = found->second->group;
    finding.fix = adviceFor(conflict, producer);
  }
  static_cast<void>(actor);
  report.add(std::move(finding), key, static_cast<uint8_t>(width));
}

void Detector::reportSimple(FindingKind kind, const AccessRecord &record, uint32_t byte,
                            std::string message, uint64_t address, std::string fix,
                            const AccessRecord *other, std::string otherWhat) {
  const Report::Key key{kind, launch.programKey(record.instruction),
                        launch.sourceKey(record.instruction),
                        other ? launch.sourceKey(other->instruction) : ~uint64_t(0)};
  if (!report.countOrReserve(key))
    return;
  Finding finding;
  finding.kind = kind;
  finding.kernel = launch.program->entry().name;
  finding.message = std::move(message);
  finding.fix = std::move(fix);
  if (address != 0)
    finding.where = describeAddress(address);
  Party party = partyOf(record, byte);
  if (kind == FindingKind::barrier || kind == FindingKind::registers ||
      kind == FindingKind::unfinished || kind == FindingKind::waitStates)
    party.what = record.op != 0 ? "operation issued by" : "by";
  finding.parties.push_back(std::move(party));
  if (other) {
    Party second = partyOf(*other, 0);
    second.what = std::move(otherWhat);
    finding.parties.push_back(std::move(second));
  }
  report.add(std::move(finding), key);
}

void Detector::failLaunch(uint32_t instruction) {
  const machine::Op *op = launch.opAt(instruction);
  launch.grid->fail(
      Status(Error::vgpuAccess, concat("access outside of every allocation, at ",
                                       machine::describePosition(*launch.program, op))));
}

void Detector::accessInFlight(const machine::Warp &machineWarp, const machine::Op *op,
                              uint32_t mask, machine::AsyncId id) {
  if (!options.races)
    return;
  const WarpState &warp = group.warpOf(machineWarp);
  AccessRecord now;
  now.block = warp.block->linear;
  now.warp = static_cast<uint8_t>(warp.index);
  now.instruction = launch.instructionOf(op);
  now.isMany = (mask & (mask - 1)) != 0;
  AccessRecord matrix = now;
  const AsyncState *operation = operationOf(id);
  matrix.instruction = operation ? operation->instruction : ~0u;
  matrix.op = static_cast<uint32_t>(id);
  if (operation && machine::isOfWave(operation->group))
    reportSimple(FindingKind::registers, now, 0,
                 "access to a register that an operation in flight will write", 0,
                 "wait for the operation (s_waitcnt) before using the register", &matrix,
                 "operation issued by");
  else
    reportSimple(FindingKind::registers, now, 0,
                 "access to a register of a wgmma that may still be running", 0,
                 "wait for the wgmma (wgmma.wait_group) before using its registers", &matrix,
                 "wgmma issued by");
}

void Detector::hazard(const machine::HazardEvent &event) {
  const bool isWait = event.kind == machine::HazardKind::waitStates;
  if (isWait ? !options.races : !options.uninit)
    return;
  const WarpState &warp = group.warpOf(event.warp);
  AccessRecord now;
  now.block = warp.block->linear;
  now.warp = static_cast<uint8_t>(warp.index);
  now.instruction = launch.instructionOf(event.op);
  now.isMany = 1;
  AccessRecord other = now;
  if (event.other)
    other.instruction = launch.instructionOf(event.other);
  reportSimple(isWait ? FindingKind::waitStates : FindingKind::uninitialised, now, 0, event.message,
               0, event.fix, event.other ? &other : nullptr, "after");
}

/// Whether any thread of `block` knows that the operation is complete.
bool Detector::isKnownIn(const BlockState &block, const AsyncState &operation) const {
  for (const CompletionMark &mark : operation.completions)
    for (const WarpState &warp : block.warps) {
      if (!mark.isPhase && mark.warp == warp.groupIndex)
        return true; // this warp waited itself
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
    // Among the tcgen05 instructions, only one that frees tensor memory requires that the
    // operations on it are complete.
    if (operation->group == GroupKind::copy || operation->group >= GroupKind::matrix)
      continue;
    for (const uint32_t index : operation->sharedOf) {
      if (isKnownIn(group.blocks[index], *operation))
        continue;
      AccessRecord record;
      record.block = operation->warp->block->linear;
      record.warp = static_cast<uint8_t>(operation->warp->index);
      record.instruction = operation->instruction;
      record.op = id;
      record.isLaneless = 1;
      reportSimple(FindingKind::unfinished, record, 0,
                   concat("no thread of block ", listed(group.blocks[index].id),
                          " waited for an asynchronous copy from or to its shared memory before "
                          "the block ended"),
                   0,
                   operation->group == GroupKind::bulk
                       ? "execute cp.async.bulk.wait_group.read 0 before the thread that issued "
                         "the copy exits"
                       : "wait for the phase of its mbarrier, or for the cluster "
                         "(barrier.cluster), before the block ends");
      break;
    }
  }
  // A block's shared memory becomes invalid when the block exits. Other blocks must complete their
  // accesses before that, and some thread of the block must know that they have.
  for (const BlockState &block : group.blocks)
    for (const auto &[from, record] : block.remote) {
      bool isKnown = false;
      for (const WarpState &warp : block.warps)
        for (const Cohort &cohort : warp.cohorts)
          isKnown = isKnown || cohort.knowledge.base.knows(from, record.laneOf(0), record.epoch);
      if (!isKnown)
        reportSimple(FindingKind::unfinished, record, 0,
                     concat("another block accesses the shared memory of block ", listed(block.id),
                            ", which may already have exited"),
                     0,
                     "execute barrier.cluster.arrive and barrier.cluster.wait after the last "
                     "access to memory of other blocks");
    }
  // Before it ends, a producer of the CuTe DSL announces one more copy that it never starts. No
  // thread can have waited for that phase.
  for (const BlockState &block : group.blocks)
    for (const auto &[offset, state] : block.mbarriers)
      if (state.isLive && state.expectedBytes != 0 && (state.isFed || options.strict))
        reportSimple(FindingKind::barrier, state.expect, 0,
                     state.expectedBytes > 0 ? concat("an mbarrier expects ", state.expectedBytes,
                                                      " bytes (expect_tx) that never arrived")
                                             : concat("an mbarrier received ", -state.expectedBytes,
                                                      " bytes that no expect_tx announced"),
                     machine::sharedWindow | machine::sharedAddress(block.rank, offset),
                     "the byte count of expect_tx must be the total of all copies that complete on "
                     "the mbarrier in that phase");
}

} // namespace tilewright::vgpu::check
