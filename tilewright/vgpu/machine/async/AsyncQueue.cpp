#include "tilewright/vgpu/machine/async/AsyncQueue.h"

#include <algorithm>
#include <bit>

namespace tilewright::vgpu::machine {

// Performing.

void AsyncQueue::reset() {
  waiting.clear();
  records.clear();
}

size_t AsyncQueue::indexOf(AsyncId id) const {
  // Ids increase in the order of issue.
  auto it = std::lower_bound(waiting.begin(), waiting.end(), id,
                             [](const auto &one, AsyncId wanted) { return one->id < wanted; });
  return it != waiting.end() && (*it)->id == id ? static_cast<size_t>(it - waiting.begin())
                                                : waiting.size();
}

size_t AsyncQueue::firstBefore(size_t index) const {
  const AsyncOperation &operation = *waiting[index];
  if (operation.group == GroupKind::matrix) {
    for (size_t i = 0; i < index; ++i)
      if (waiting[i]->group == GroupKind::matrix && waiting[i]->warp == operation.warp)
        return i;
    return index;
  }
  if (operation.group == GroupKind::tensor) {
    for (size_t i = 0; i < index; ++i)
      if (waiting[i]->group == GroupKind::tensor && waiting[i]->warp == operation.warp &&
          waiting[i]->mask == operation.mask)
        return i;
    return index;
  }
  for (AsyncId id : operation.after)
    if (const size_t other = indexOf(id); other != waiting.size())
      return firstBefore(other);
  return index;
}

bool AsyncQueue::run(AsyncOperation &operation, Part part) {
  if (!operation.perform)
    return operation.performMatrix(*operation.warp, operation.op, operation.registers,
                                   operation.matrix, operation.id);
  if (part == Part::reads)
    operation.staged.resize(operation.requests.size());
  return operation.perform(*operation.warp, operation.op, operation.requests, operation.id, part,
                           operation.staged);
}

bool AsyncQueue::performAt(size_t index) {
  // Remove the operation before running it, so that it does not find itself in the queue.
  std::unique_ptr<AsyncOperation> operation = std::move(waiting[index]);
  waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(index));
  ++group.progress;
  return run(*operation, operation->isStaged ? Part::writes : Part::whole);
}

bool AsyncQueue::issue(std::unique_ptr<AsyncOperation> operation) {
  Grid &grid = *group.grid;
  operation->id = grid.nextAsync.fetch_add(1, std::memory_order_relaxed);
  AsyncGroups &groups = groupsOf(*operation->warp);
  if (operation->group == GroupKind::matrix) {
    groups.lastMatrixIssued = operation->id;
    groups.matrices.push_back(operation->id);
  }
  const bool isTensor =
      operation->group == GroupKind::tensor || operation->group == GroupKind::tensorCommit;
  if (operation->group != GroupKind::none && !isTensor)
    groups.sequences[static_cast<size_t>(operation->group)].open.push_back(
        {operation->id, operation->mask});
  // A later cp.async.mbarrier.arrive waits for the operations in this list: for copies, and for an
  // earlier arrival in place of the copies that it already covers.
  if (operation->group == GroupKind::copy || (!operation->after.empty() && !isTensor))
    groups.unarrived.push_back({operation->id, operation->mask});
  if (grid.observer)
    grid.observer->synchronise({.warp = *operation->warp,
                                .op = operation->op,
                                .mask = operation->mask,
                                .kind = SyncKind::asyncIssue,
                                .count = operation->follows,
                                .async = operation->id,
                                .group = operation->group,
                                .operations = operation->after});
  const bool isNow = grid.completion == Completion::eager ||
                     (grid.completion == Completion::seeded && group.nextRandom() % 4 == 0);
  waiting.push_back(std::move(operation));
  if (isNow && firstBefore(waiting.size() - 1) == waiting.size() - 1)
    return performAt(waiting.size() - 1);
  return true;
}

AsyncId AsyncQueue::noteIssue(Warp &warp, const Op *op, uint32_t mask, GroupKind kind) {
  const AsyncId id = group.grid->nextAsync.fetch_add(1, std::memory_order_relaxed);
  groupsOf(warp).sequences[static_cast<size_t>(kind)].open.push_back({id, mask});
  tell(warp, {.warp = warp,
              .op = op,
              .mask = mask,
              .kind = SyncKind::asyncIssue,
              .async = id,
              .group = kind});
  return id;
}

bool AsyncQueue::complete(AsyncId id, bool onlyReads) {
  for (;;) {
    const size_t index = indexOf(id);
    if (index == waiting.size())
      return true;
    const size_t first = firstBefore(index);
    if (first == index && onlyReads && waiting[index]->canStage) {
      AsyncOperation &operation = *waiting[index];
      if (operation.isStaged)
        return true;
      operation.isStaged = true;
      return run(operation, Part::reads);
    }
    if (!performAt(first))
      return false;
  }
}

bool AsyncQueue::performNext() {
  if (waiting.empty())
    return false;
  size_t chosen = 0;
  for (size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i]->signalsMbarrier) {
      chosen = i;
      break;
    }
  performAt(firstBefore(chosen));
  return true;
}

bool AsyncQueue::performRandom() {
  if (waiting.empty())
    return false;
  const size_t index = firstBefore(group.nextRandom() % waiting.size());
  AsyncOperation &operation = *waiting[index];
  if (operation.canStage && !operation.isStaged && group.nextRandom() % 2 == 0) {
    operation.isStaged = true;
    run(operation, Part::reads);
    return true;
  }
  performAt(index);
  return true;
}

bool AsyncQueue::finish() {
  while (!waiting.empty())
    if (!performAt(firstBefore(0)))
      return false;
  return true;
}

void AsyncQueue::finishMatrices(const Warp &warp, const std::byte *registers) {
  for (size_t i = 0; i < waiting.size();) {
    const AsyncOperation &one = *waiting[i];
    if (one.warp == &warp && one.group == GroupKind::matrix && one.registers == registers) {
      if (!performAt(firstBefore(i)))
        return;
      i = 0;
    } else {
      ++i;
    }
  }
}

MbarrierRecord &AsyncQueue::recordOf(const std::byte *where, uint32_t phase) {
  auto [it, isNew] = records.try_emplace(where);
  if (isNew)
    it->second.phase = phase;
  return it->second;
}
const MbarrierRecord *AsyncQueue::findRecord(const std::byte *where) const {
  auto it = records.find(where);
  return it == records.end() ? nullptr : &it->second;
}

// Groups.

AsyncGroups &groupsOf(Warp &warp) {
  if (!warp.async)
    warp.async = std::make_shared<AsyncGroups>();
  return *warp.async;
}

void finishMatrices(Warp &warp, const std::byte *registers) {
  if (AsyncQueue *queue = warp.block->group->async.get())
    queue->finishMatrices(warp, registers);
  warp.async->registers.erase(registers);
}

std::span<Warp> matrixWarps(const Warp &warp) {
  std::vector<Warp> &warps = warp.block->warps;
  const size_t first = warp.index / 4 * 4;
  return std::span(warps).subspan(first, std::min<size_t>(4, warps.size() - first));
}

bool areMatricesIssued(const Warp &warp, uint64_t count) {
  for (const Warp &one : matrixWarps(warp))
    if (one.alive != 0 && one.matricesIssued < count)
      return false;
  return true;
}

/// Completes the wgmma of the other warps of the warpgroup, which are parts of the same operations.
static bool completeMatrices(Warp &warp, uint64_t count, std::vector<AsyncId> &ids) {
  AsyncQueue &queue = *warp.block->group->async;
  for (Warp &other : matrixWarps(warp)) {
    if (&other == &warp || !other.async)
      continue;
    const std::vector<AsyncId> &matrices = other.async->matrices;
    for (uint64_t i = warp.matricesWaited; i < std::min<uint64_t>(count, matrices.size()); ++i) {
      if (!queue.complete(matrices[i]))
        return false;
      ids.push_back(matrices[i]);
    }
  }
  return true;
}

static void commit(Warp &warp, const Op *op, uint32_t mask, GroupKind kind) {
  AsyncGroups::Sequence &sequence = groupsOf(warp).sequences[static_cast<size_t>(kind)];
  AsyncGroups::Committed group{mask, mask, {}};
  std::vector<AsyncId> ids;
  for (AsyncGroups::IssuedOperation &issued : sequence.open)
    if (const uint32_t lanes = issued.mask & mask) {
      group.operations.push_back({issued.id, lanes});
      ids.push_back(issued.id);
      issued.mask &= ~mask;
    }
  std::erase_if(sequence.open,
                [](const AsyncGroups::IssuedOperation &issued) { return issued.mask == 0; });
  sequence.committed.push_back(std::move(group));
  tell(warp, {.warp = warp,
              .op = op,
              .mask = mask,
              .kind = SyncKind::asyncCommit,
              .group = kind,
              .operations = ids});
}

/// `matrices` is the number of the warp's wgmma that must be complete.
static bool wait(Warp &warp, const Op *op, uint32_t mask, const GroupForm &form,
                 uint64_t matrices) {
  AsyncGroups &groups = groupsOf(warp);
  AsyncGroups::Sequence &sequence = groups.sequences[static_cast<size_t>(form.kind)];
  // The newest `leave` groups of each lane may stay in flight.
  uint32_t newer[32] = {};
  std::vector<std::pair<size_t, uint32_t>> needed;
  for (size_t i = sequence.committed.size(); i-- > 0;) {
    AsyncGroups::Committed &group = sequence.committed[i];
    uint32_t lanes = 0;
    for (uint32_t rest = group.mask & mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if (newer[lane]++ >= form.leave)
        lanes |= 1u << lane;
    }
    if (form.isReadOnly)
      lanes &= group.unread;
    if (lanes != 0)
      needed.emplace_back(i, lanes);
  }
  std::vector<AsyncId> ids;
  AsyncQueue &queue = *warp.block->group->async;
  for (auto it = needed.rbegin(); it != needed.rend(); ++it) {
    AsyncGroups::Committed &group = sequence.committed[it->first];
    for (const AsyncGroups::IssuedOperation &issued : group.operations)
      if (issued.mask & it->second) {
        if (!queue.complete(issued.id, form.isReadOnly))
          return false;
        ids.push_back(issued.id);
      }
    group.unread &= ~it->second;
    if (!form.isReadOnly)
      group.mask &= ~it->second;
  }
  std::erase_if(sequence.committed,
                [](const AsyncGroups::Committed &group) { return group.mask == 0; });
  if (form.kind == GroupKind::matrix && !ids.empty()) {
    groups.lastMatrixWaited = std::max(groups.lastMatrixWaited, ids.back());
    if (!completeMatrices(warp, matrices, ids))
      return false;
  }
  tell(warp, {.warp = warp,
              .op = op,
              .mask = mask,
              .kind = SyncKind::asyncWait,
              .count = form.leave,
              .group = form.kind,
              .isReadOnly = form.isReadOnly,
              .operations = ids});
  return true;
}

/// wgmma.wait_group: a warp continues once all four warps have issued the wgmma that it waits for,
/// because the warpgroup performs them together. Otherwise a warp that is ahead could release the
/// tiles before the other warps have read them.
static After waitForMatrices(Warp &warp, const Op *op, uint32_t mask, uint32_t active,
                             const GroupForm &form) {
  std::vector<uint64_t> &commits = warp.matrixCommits;
  uint64_t count = warp.matricesWaited;
  if (commits.size() > form.leave) {
    count = commits[commits.size() - 1 - form.leave];
    if (!areMatricesIssued(warp, count)) {
      parkFragment(warp, {op, warp.frame, mask, Wait::matrices, 0, count});
      return After::resume;
    }
    commits.erase(commits.begin(), commits.end() - form.leave);
  }
  if (warp.block->group->async && !wait(warp, op, active, form, count))
    return After::stop;
  warp.matricesWaited = std::max(warp.matricesWaited, count);
  return After::next;
}

After runGroup(Warp &warp, const Op *op, std::byte *, uint32_t mask, uint32_t active) {
  const auto &form = *static_cast<const GroupForm *>(op->extra);
  const bool isTracked = warp.block->group->async != nullptr;
  switch (form.action) {
  case GroupAction::fence:
    ++groupsOf(warp).fences;
    tell(warp, {.warp = warp, .op = op, .mask = active, .kind = SyncKind::wgmmaFence});
    return After::next;
  case GroupAction::commit:
    if (form.kind == GroupKind::matrix)
      warp.matrixCommits.push_back(warp.matricesIssued);
    if (isTracked)
      commit(warp, op, active, form.kind);
    return After::next;
  case GroupAction::waitAll:
    // cp.async.wait_all is a commit followed by a wait for all groups.
    commit(warp, op, active, form.kind);
    break;
  case GroupAction::wait:
    break;
  }
  if (form.kind == GroupKind::matrix)
    return waitForMatrices(warp, op, mask, active, form);
  if (!wait(warp, op, active, form, 0))
    return After::stop;
  if (form.kind == GroupKind::tensorLoad && isTracked)
    groupsOf(warp).tensorLoads.clear();
  // tcgen05.wait::ld and tcgen05.wait::st apply to the whole warp.
  if (form.kind == GroupKind::tensorLoad || form.kind == GroupKind::tensorStore)
    tell(warp, {.warp = warp, .op = op, .mask = active, .kind = SyncKind::warpBarrier});
  return After::next;
}

// Registers of wgmma.

MatrixRegister &AsyncGroups::at(std::vector<MatrixRegister> &list, uint32_t slot) {
  if (list.size() <= slot / 64)
    list.resize(slot / 64 + 1);
  return list[slot / 64];
}

/// Tells the observer of the tcgen05.ld whose results an instruction uses.
static void reportUses(Warp &warp, const Op *op, AsyncGroups &groups,
                       std::span<const uint32_t> slots, uint32_t mask) {
  std::vector<AsyncId> used;
  std::erase_if(groups.tensorLoads, [&](const AsyncGroups::TensorLoad &load) {
    const bool isUsed = std::ranges::find_first_of(load.slots, slots) != load.slots.end();
    if (isUsed)
      used.push_back(load.id);
    return isUsed;
  });
  if (!used.empty())
    tell(warp,
         {.warp = warp, .op = op, .mask = mask, .kind = SyncKind::tensorUse, .operations = used});
}

void reportMatrixRegisters(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask) {
  const auto &form = *static_cast<const RegisterAccessForm *>(op->extra);
  AsyncGroups &groups = groupsOf(warp);
  if (!groups.tensorLoads.empty())
    reportUses(warp, op, groups, form.slots, mask);
  Observer *observer = warp.block->group->grid->observer;
  std::vector<MatrixRegister> &list = groups.registers[registers];
  for (uint32_t slot : form.slots) {
    MatrixRegister &reg = AsyncGroups::at(list, slot);
    reg.touched = groups.fences + 1;
    if (groups.isInFlight(reg.writer))
      observer->accessInFlight(warp, op, mask, slot, reg.writer);
    else if (groups.isInFlight(reg.reader))
      observer->accessInFlight(warp, op, mask, slot, reg.reader);
  }
}

void checkMatrixRegisters(Warp &warp, const Op *op, const std::byte *registers, uint32_t mask) {
  const auto &form = *static_cast<const MatrixForm *>(op->extra);
  AsyncGroups &groups = groupsOf(warp);
  Observer *observer = warp.block->group->grid->observer;
  const AsyncId id = groups.lastMatrixIssued;
  bool isUnfenced = false;
  auto checkFence = [&](uint32_t slot, const MatrixRegister &reg) {
    if (isUnfenced || (groups.fences != 0 && reg.touched != groups.fences + 1))
      return;
    isUnfenced = true;
    observer->synchronise({.warp = warp,
                           .op = op,
                           .mask = mask,
                           .kind = SyncKind::wgmmaUnfenced,
                           .object = slot,
                           .async = id});
  };
  // Consecutive wgmma may accumulate into the same registers without a wait if the shape is the
  // same.
  const Op *same = op; // the last op that was found to have the same shape
  auto isSameShape = [&](const Op *other) {
    const auto &before = *static_cast<const MatrixForm *>(other->extra);
    if (other != same && before.n == form.n && before.dType == form.dType && before.d == form.d)
      same = other;
    return other == same;
  };
  std::vector<MatrixRegister> &list = groups.registers[registers];
  for (uint32_t slot : form.d) {
    MatrixRegister &reg = AsyncGroups::at(list, slot);
    checkFence(slot, reg);
    if (groups.isInFlight(reg.writer) && !isSameShape(reg.op))
      observer->accessInFlight(warp, op, mask, slot, reg.writer);
    else if (groups.isInFlight(reg.reader))
      observer->accessInFlight(warp, op, mask, slot, reg.reader);
    reg.writer = id;
    reg.op = op;
  }
  for (uint32_t slot : form.a) {
    MatrixRegister &reg = AsyncGroups::at(list, slot);
    checkFence(slot, reg);
    if (groups.isInFlight(reg.writer))
      observer->accessInFlight(warp, op, mask, slot, reg.writer);
    reg.reader = id;
  }
}

// Notifying the observer.

AccessTeller::AccessTeller(Warp &warp, const Op *op, AccessKind kind, Proxy proxy, AsyncId id,
                           Order order, Scope scope)
    : observer(warp.block->group->grid->observer), warp(warp), op(op), kind(kind), proxy(proxy),
      id(id), order(order), scope(scope) {}

void AccessTeller::flush() {
  if (mask == 0)
    return;
  MemoryEvent event{warp, op, mask, addresses, bytes, kind, proxy, order, scope, id};
  const StoredValues values{.rows = rows};
  if (hasRows)
    event.values = &values;
  observer->access(event);
  mask = 0;
}

} // namespace tilewright::vgpu::machine
