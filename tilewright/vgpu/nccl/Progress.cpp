#include "tilewright/vgpu/nccl/Progress.h"

#include "tilewright/collective/Reduction.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/Arithmetic.h"
#include "tilewright/vgpu/nccl/Cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tilewright::vgpu::nccl {

using namespace std::chrono_literals;

static bool hasBlocks(CallKind kind) {
  return kind == CallKind::reduceScatter || kind == CallKind::allToAll || kind == CallKind::scatter;
}
static bool isShared(CallKind kind) {
  return kind == CallKind::allReduce || kind == CallKind::reduce;
}

/// Pointers may be null if there are no bytes.
static void copyBytes(std::byte *to, const std::byte *from, size_t bytes) {
  if (bytes != 0 && to != from)
    std::memmove(to, from, bytes);
}

Progress::Progress(Comm &comm, std::span<const Operation> operations)
    : comm(comm), board(comm.board) {
  for (const Operation &operation : operations)
    if (operation.kind == CallKind::send)
      messages.push_back({&operation, comm.sends[operation.root]++});
    else if (operation.kind == CallKind::receive)
      messages.push_back({&operation, comm.receives[operation.root]++});
    else
      collectives.push_back({&operation});
}

int Progress::run() {
  const auto begin = std::chrono::steady_clock::now();
  const auto limit = Settings::get().timeLimit;
  for (;;) {
    const uint32_t seen = board.changes();
    if (comm.isDeviceStopped())
      return CUDA_SUCCESS;
    bool hasChanged = false, isDone = true;
    for (Collective &collective : collectives)
      if (collective.stage != Collective::Stage::done) {
        while (!isMismatched && advance(collective))
          hasChanged = true;
        if (collective.stage != Collective::Stage::done) {
          isDone = false;
          break; // collectives keep their order
        }
      }
    for (Message &message : messages) {
      const bool isSend = message.operation->kind == CallKind::send;
      while (message.stage != Message::Stage::done && !isMismatched &&
             (isSend ? advanceSend(message) : advanceReceive(message)))
        hasChanged = true;
      isDone &= message.stage == Message::Stage::done;
    }
    if (isDone)
      return CUDA_SUCCESS;
    if (hasChanged)
      continue;
    comm.state(); // notices the end of processes
    if (limit.count() > 0 && std::chrono::steady_clock::now() - begin >= limit) {
      const std::string text = concat("stopped after ", limit.count() / 1000000,
                                      " ms: ", describe(collectives, messages));
      comm.setState(comm.fail(ncclSystemError, text));
      std::fprintf(stderr, "tilewright vgpu nccl: %s\n", comm.lastError().c_str());
      comm.stopDevice(RankState::revoked);
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
    board.wait(seen, 5ms);
  }
}

bool Progress::haveAll(std::atomic<uint64_t> RankSlot::*counter, uint64_t value) const {
  for (int rank = 0; rank < comm.ranks; ++rank)
    if ((board.slot(rank).*counter).load() < value)
      return false;
  return true;
}

size_t Progress::stepElements(const Operation &operation) const {
  const size_t blocks = hasBlocks(operation.kind) ? static_cast<size_t>(comm.ranks) : 1;
  return std::max<size_t>(1, Board::chunkBytes / bytesOf(operation.type) / blocks);
}

/// Whether other ranks receive data of this rank in a collective (tells), or this rank receives
/// data of others (learns). Such data order what precedes them at the sender before what follows
/// them at the receiver.
static bool tells(const Operation &operation, int rank) {
  const bool isFromRoot =
      operation.kind == CallKind::broadcast || operation.kind == CallKind::scatter;
  return !isFromRoot || operation.root == rank;
}
static bool learns(const Operation &operation, int rank) {
  const bool isToRoot = operation.kind == CallKind::reduce || operation.kind == CallKind::gather;
  return !isToRoot || operation.root == rank;
}

/// 0 stands for a collective.
static uint64_t rankKey(int rank) { return static_cast<uint64_t>(rank) + 1; }

unsigned Progress::learnersOf(const Operation &operation) const {
  unsigned found = 0;
  for (int rank = 0; rank < comm.ranks; ++rank)
    if (learns(operation, rank) && board.slot(rank).process == board.slot(comm.rank).process)
      ++found;
  return found;
}

uint64_t Progress::meetingOf(uint64_t from, uint64_t to, uint64_t number) const {
  // Odd factors make the keys within a communicator distinct; the random ids make those of
  // different communicators distinct.
  return board.id() ^
         (number * 0x9e3779b97f4a7c15 + from * 0xc2b2ae3d27d4eb4f + to * 0x165667b19e3779f9);
}

static bool areEqual(const CallRecord &a, const CallRecord &b) {
  return a.function == b.function && a.type == b.type && a.operation == b.operation &&
         a.root == b.root && a.count == b.count;
}

bool Progress::advance(Collective &now) {
  const Operation &operation = *now.operation;
  RankSlot &own = board.slot(comm.rank);
  const uint64_t step = comm.steps;
  const size_t elements = std::min(stepElements(operation), operation.count - now.offset);
  using Stage = Collective::Stage;
  switch (now.stage) {
  case Stage::begin:
    if (tells(operation, comm.rank))
      tilewright_vgpu_publish(meetingOf(0, 0, comm.collectives), learnersOf(operation));
    own.call[comm.collectives % 2] = operation.record();
    own.announced = comm.collectives + 1;
    board.notify();
    now.stage = Stage::announced;
    return true;
  case Stage::announced:
    if (!haveAll(&RankSlot::announced, comm.collectives + 1))
      return false;
    for (int rank = 0; rank < comm.ranks; ++rank)
      if (const CallRecord &theirs = board.slot(rank).call[comm.collectives % 2];
          !areEqual(theirs, operation.record())) {
        noteMismatch(operation.record(), rank, theirs);
        return false;
      }
    now.stage = Stage::fill;
    return true;
  case Stage::fill:
    // The staging memory has two halves: wait until all ranks have drained the step before the
    // last.
    if (step >= 2 && !haveAll(&RankSlot::drained, step - 1))
      return false;
    fill(operation, now.offset, elements);
    own.filled = step + 1;
    board.notify();
    now.stage = Stage::filled;
    return true;
  case Stage::filled:
    if (!haveAll(&RankSlot::filled, step + 1))
      return false;
    if (isShared(operation.kind))
      reduceShare(operation, elements);
    own.reduced = step + 1;
    if (isShared(operation.kind))
      board.notify();
    now.stage = Stage::reduced;
    return true;
  case Stage::reduced:
    if (isShared(operation.kind) && !haveAll(&RankSlot::reduced, step + 1))
      return false;
    drain(operation, now.offset, elements);
    own.drained = step + 1;
    board.notify();
    ++comm.steps;
    now.offset += elements;
    now.stage = now.offset < operation.count ? Stage::fill : Stage::done;
    if (now.stage == Stage::done) {
      if (learns(operation, comm.rank))
        tilewright_vgpu_learn(meetingOf(0, 0, comm.collectives));
      ++comm.collectives;
    }
    return true;
  case Stage::done:
    break;
  }
  return false;
}

void Progress::fill(const Operation &operation, size_t offset, size_t elements) {
  std::byte *slot = board.data(comm.rank, comm.steps);
  const size_t size = bytesOf(operation.type), step = stepElements(operation);
  const bool isRoot = operation.root == comm.rank;
  if ((operation.kind == CallKind::broadcast || operation.kind == CallKind::scatter) && !isRoot)
    return;
  const size_t blocks = hasBlocks(operation.kind) ? static_cast<size_t>(comm.ranks) : 1;
  for (size_t block = 0; block < blocks; ++block) {
    std::byte *to = slot + block * step * size;
    copyBytes(to, operation.in + (block * operation.count + offset) * size, elements * size);
    scale(operation, to, elements);
  }
}

/// combines the elements [begin, begin + count) of all ranks, in the order of the ranks.
static void combineAll(const Board &board, const Operation &operation, uint64_t step, size_t begin,
                       size_t count, std::byte *into) {
  const size_t size = bytesOf(operation.type);
  const collective::Combine combine = combineOf(operation.operation, operation.type);
  copyBytes(into, board.data(0, step) + begin * size, count * size);
  for (int rank = 1; rank < board.ranks(); ++rank)
    combine(into, board.data(rank, step) + begin * size, count);
  if (operation.operation == ncclAvg)
    divide(into, count, operation.type, static_cast<uint64_t>(board.ranks()));
}

/// The part of a step that one rank of an all-reduce combines.
static std::pair<size_t, size_t> shareOf(size_t elements, int rank, int ranks) {
  const size_t begin = elements * static_cast<size_t>(rank) / static_cast<size_t>(ranks);
  const size_t end = elements * (static_cast<size_t>(rank) + 1) / static_cast<size_t>(ranks);
  return {begin, end - begin};
}

void Progress::reduceShare(const Operation &operation, size_t elements) {
  const auto [begin, count] = shareOf(elements, comm.rank, comm.ranks);
  combineAll(board, operation, comm.steps, begin, count, board.result(comm.rank, comm.steps));
}

void Progress::drain(const Operation &operation, size_t offset, size_t elements) {
  const size_t size = bytesOf(operation.type), step = stepElements(operation);
  const uint64_t now = comm.steps;
  const auto own = static_cast<size_t>(comm.rank);
  if ((operation.kind == CallKind::reduce || operation.kind == CallKind::gather) &&
      operation.root != comm.rank)
    return; // `out` may be null
  std::byte *out = operation.out + offset * size;
  switch (operation.kind) {
  case CallKind::allReduce:
  case CallKind::reduce:
    for (int rank = 0; rank < comm.ranks; ++rank) {
      const auto [begin, count] = shareOf(elements, rank, comm.ranks);
      copyBytes(out + begin * size, board.result(rank, now), count * size);
    }
    return;
  case CallKind::allGather:
  case CallKind::gather:
    for (int rank = 0; rank < comm.ranks; ++rank)
      copyBytes(out + static_cast<size_t>(rank) * operation.count * size, board.data(rank, now),
                elements * size);
    return;
  case CallKind::reduceScatter:
    combineAll(board, operation, now, own * step, elements, board.result(comm.rank, now));
    copyBytes(out, board.result(comm.rank, now), elements * size);
    return;
  case CallKind::broadcast:
    copyBytes(out, board.data(operation.root, now), elements * size);
    return;
  case CallKind::allToAll:
    for (int rank = 0; rank < comm.ranks; ++rank)
      copyBytes(out + static_cast<size_t>(rank) * operation.count * size,
                board.data(rank, now) + own * step * size, elements * size);
    return;
  case CallKind::scatter:
    copyBytes(out, board.data(operation.root, now) + own * step * size, elements * size);
    return;
  case CallKind::send:
  case CallKind::receive:
    return;
  }
}

void Progress::scale(const Operation &operation, std::byte *elements, size_t count) {
  const size_t size = bytesOf(operation.type);
  std::byte one[8];
  if (operation.factor)
    std::memcpy(one,
                operation.factor->onDevice ? operation.factor->onDevice : operation.factor->value,
                size);
  else if (operation.operation != ncclAvg || !reciprocal(comm.ranks, operation.type, one))
    return;
  factors.resize(count * size);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(factors.data() + i * size, one, size);
  combineOf(ncclProd, operation.type)(elements, factors.data(), count);
}

void Progress::noteMismatch(const CallRecord &own, int other, const CallRecord &theirs) {
  isMismatched = true;
  comm.setState(
      comm.fail(ncclInvalidUsage,
                concat("ranks called different things: rank ", comm.rank, " ", nccl::describe(own),
                       ", rank ", other, " ", nccl::describe(theirs),
                       "; NCCL would hang or give wrong results, here the stream waits until "
                       "ncclCommAbort or ncclCommRevoke")));
  std::fprintf(stderr, "tilewright vgpu nccl: %s\n", comm.lastError().c_str());
}

bool Progress::beginTransfer(Message &now, const CallRecord &theirs) {
  const Operation &operation = *now.operation;
  if (theirs.count != operation.count || theirs.type != static_cast<uint32_t>(operation.type)) {
    noteMismatch(operation.record(), operation.root, theirs);
    return false;
  }
  now.stage = Message::Stage::transfer;
  return true;
}

/// Moves the next chunk with `copy(bytes)`, unless the mailbox `isBlocked`; `finish()` follows the
/// last chunk.
template <typename Copy, typename Finish>
bool Progress::transferChunk(Message &now, bool isBlocked, Copy copy, Finish finish) {
  const size_t bytes = std::min(board.mailboxChunkBytes(), now.operation->bytes() - now.offset);
  if (bytes != 0) {
    if (isBlocked)
      return false;
    copy(bytes);
    now.offset += bytes;
  }
  if (now.offset == now.operation->bytes()) {
    finish();
    now.stage = Message::Stage::done;
  }
  board.notify();
  return true;
}

/// A send matches the receive with the same number between the same ranks. Neither side proceeds
/// before the other has arrived.
bool Progress::advanceSend(Message &now) {
  const Operation &operation = *now.operation;
  Mailbox &box = board.mailbox(comm.rank, operation.root);
  using Stage = Message::Stage;
  switch (now.stage) {
  case Stage::begin:
    // The message before this one must be done on both sides.
    if (box.sent != now.number || box.received != now.number)
      return false;
    tilewright_vgpu_publish(meetingOf(rankKey(comm.rank), rankKey(operation.root), now.number), 1);
    box.send = operation.record();
    box.sends = now.number + 1;
    board.notify();
    now.stage = Stage::announced;
    return true;
  case Stage::announced:
    return box.receives > now.number && beginTransfer(now, box.receive);
  case Stage::transfer:
    return transferChunk(
        now, box.filled != box.drained,
        [&](size_t bytes) {
          copyBytes(board.mailboxChunk(comm.rank, operation.root), operation.in + now.offset,
                    bytes);
          ++box.filled;
        },
        [&] { box.sent = now.number + 1; });
  case Stage::done:
    break;
  }
  return false;
}

bool Progress::advanceReceive(Message &now) {
  const Operation &operation = *now.operation;
  Mailbox &box = board.mailbox(operation.root, comm.rank);
  using Stage = Message::Stage;
  switch (now.stage) {
  case Stage::begin:
    if (box.sent < now.number || box.received != now.number)
      return false;
    box.receive = operation.record();
    box.receives = now.number + 1;
    board.notify();
    now.stage = Stage::announced;
    return true;
  case Stage::announced:
    return box.sends > now.number && beginTransfer(now, box.send);
  case Stage::transfer:
    return transferChunk(
        now, box.filled == box.drained,
        [&](size_t bytes) {
          copyBytes(operation.out + now.offset, board.mailboxChunk(operation.root, comm.rank),
                    bytes);
          ++box.drained;
        },
        [&] {
          tilewright_vgpu_learn(meetingOf(rankKey(operation.root), rankKey(comm.rank), now.number));
          box.received = now.number + 1;
        });
  case Stage::done:
    break;
  }
  return false;
}

std::string Progress::describe(std::span<const Collective> all,
                               std::span<const Message> allMessages) const {
  std::string text;
  for (const Collective &one : all)
    if (one.stage != Collective::Stage::done) {
      text = nccl::describe(one.operation->record());
      std::vector<int> missing;
      for (int rank = 0; rank < comm.ranks; ++rank)
        if (board.slot(rank).announced <= comm.collectives)
          missing.push_back(rank);
      text +=
          missing.empty() ? " is not done on all ranks" : concat(" waits for ", nameRanks(missing));
      break;
    }
  for (const Message &one : allMessages)
    if (one.stage != Message::Stage::done)
      text += concat(text.empty() ? "" : "; ", nccl::describe(one.operation->record()),
                     " waits for rank ", one.operation->root);
  return text;
}

} // namespace tilewright::vgpu::nccl
