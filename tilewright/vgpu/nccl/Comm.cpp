#include "tilewright/vgpu/nccl/Comm.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/Cuda.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <unistd.h>

namespace tilewright::vgpu::nccl {

using namespace std::chrono_literals;

/// How often a waiting rank checks whether processes have ended. Any change of the board wakes it
/// immediately.
static constexpr auto tick = 5ms;

Comm::Comm(int rank, int ranks, CommConfig config)
    : rank(rank), ranks(ranks), config(std::move(config)), allRanks(static_cast<size_t>(ranks)) {
  std::iota(allRanks.begin(), allRanks.end(), 0);
}

Comm::~Comm() {
  if (lastEvent)
    cuEventDestroy_v2(lastEvent);
  if (ownsContext)
    cuDevicePrimaryCtxRelease_v2(device);
}

ncclResult_t Comm::join(const Board::Place &place, uint64_t agreed) {
  if (std::string problem = board.open(place, ranks); !problem.empty())
    return fail(board.ranks() ? ncclInvalidArgument : ncclSystemError, problem);
  RankSlot &own = board.slot(rank);
  if (own.claimed.exchange(1) != 0)
    return fail(ncclInvalidUsage, concat("rank ", rank, " has joined this communicator already"));
  own.device = device;
  own.process = getpid();
  own.state = aborted ? RankState::aborted : RankState::joined;
  board.notify();
  struct Introduction {
    int32_t process, device;
    uint64_t agreed;
  } mine{getpid(), device, agreed};
  std::vector<std::string> all;
  NCCL_TRY(exchange("ncclCommInitRank", std::as_bytes(std::span(&mine, 1)), all));
  for (int other = 0; other < ranks; ++other) {
    Introduction theirs;
    std::memcpy(&theirs, all[other].data(), sizeof theirs);
    if (theirs.agreed != agreed)
      return fail(ncclInvalidUsage,
                  concat("ranks ", rank, " and ", other, " passed different lists of unique ids"));
    // Devices of different processes are different devices, even if they have the same number.
    if (other != rank && theirs.process == mine.process && theirs.device == mine.device)
      return fail(ncclInvalidUsage, concat("ranks ", std::min(rank, other), " and ",
                                           std::max(rank, other), " both use device ", device));
  }
  return ncclSuccess;
}

ncclResult_t Comm::state() {
  const ncclResult_t now = local;
  if ((now != ncclSuccess && now != ncclInProgress) || !board.ranks() || deviceStopped)
    return now;
  const std::string gone = describeGone(allRanks);
  return gone.empty() ? now : fail(ncclRemoteError, gone);
}

std::string Comm::describeGone(std::span<const int> members) {
  // If a process has ended, report that: the other ranks abort because of it.
  if (const int other = peers.ended(board, members); other >= 0)
    return concat("rank ", other, " is gone: process ", board.slot(other).process.load(),
                  " has ended");
  for (int other : members)
    if (other != rank && board.slot(other).state == RankState::aborted)
      return concat("rank ", other, " aborted the communicator");
  return "";
}

void Comm::setState(ncclResult_t state) {
  ncclResult_t now = local;
  while ((now == ncclSuccess || now == ncclInProgress) &&
         !local.compare_exchange_weak(now, state)) {
  }
}

ncclResult_t Comm::checkReady() {
  const ncclResult_t now = local;
  if (now == ncclInProgress)
    return fail(ncclInvalidArgument, "the communicator was used before its previous call was done; "
                                     "call ncclCommGetAsyncError until it gives ncclSuccess");
  return now;
}

ncclResult_t Comm::fail(ncclResult_t code, std::string message) {
  message = concat("rank ", rank, " of ", ranks, ": ", message);
  failCall(code, message);
  std::lock_guard lock(mutex);
  text = std::move(message);
  return code;
}

std::string Comm::lastError() {
  std::lock_guard lock(mutex);
  return text;
}

void Comm::stopDevice(RankState reason) {
  deviceStopped = true;
  if (board.ranks()) {
    board.slot(rank).state = reason;
    board.notify();
  }
}

void Comm::abort() {
  aborted = true;
  stopDevice(RankState::aborted);
}

void Comm::waitForRunning() { std::lock_guard wait(turn); }

void Comm::interruptCalls() {
  isInterrupting = true;
  while (calls != 0) {
    if (board.ranks())
      board.notify();
    std::this_thread::sleep_for(100us);
  }
  isInterrupting = false;
}

ncclResult_t Comm::flush() {
  while (outstanding != 0) {
    if (isEnding())
      return ncclInternalError;
    std::this_thread::sleep_for(200us);
  }
  return ncclSuccess;
}

void Comm::leave() {
  if (!board.ranks())
    return;
  board.slot(rank).state = RankState::left;
  board.notify();
}

ncclResult_t Comm::waitForMembers(std::span<const int> members,
                                  const std::function<bool(int)> &isThere, std::string_view what,
                                  const std::function<bool()> &isOver) {
  const auto begin = std::chrono::steady_clock::now();
  const auto limit = Settings::get().timeLimit;
  for (;;) {
    const uint32_t seen = board.changes();
    std::vector<int> missing;
    for (int other : members)
      if (!isThere(other))
        missing.push_back(other);
    if (missing.empty())
      return ncclSuccess;
    auto describe = [&] { return concat(what, " waits for ", nameRanks(missing)); };
    if (isEnding() || (isOver && isOver()))
      return fail(ncclInternalError, concat("ended by an abort or a revoke: ", describe()));
    if (const std::string gone = describeGone(members); !gone.empty())
      return fail(ncclRemoteError, concat(gone, "; ", describe()));
    if (limit.count() > 0 && std::chrono::steady_clock::now() - begin >= limit)
      return fail(ncclSystemError,
                  concat("stopped after ", limit.count() / 1000000, " ms: ", describe()));
    board.wait(seen, tick);
  }
}

ncclResult_t Comm::exchange(HostLane RankSlot::*lane, std::span<const int> members, uint64_t key,
                            uint64_t step, std::string_view what, std::span<const std::byte> mine,
                            std::vector<std::string> &all) {
  HostLane &own = board.slot(rank).*lane;
  const size_t at = step % 2;
  std::memset(own.what[at], 0, sizeof own.what[at]);
  what.copy(own.what[at], sizeof own.what[at] - 1);
  std::memcpy(own.payload[at], mine.data(), std::min(mine.size(), HostLane::payloadBytes));
  own.key = key;
  own.step = step;
  board.notify();
  NCCL_TRY(waitForMembers(
      members,
      [&](int other) {
        const HostLane &their = board.slot(other).*lane;
        return their.key == key && their.step >= step;
      },
      what));
  for (int other : members) {
    const HostLane &their = board.slot(other).*lane;
    if (their.what[at] != what.substr(0, sizeof own.what[at] - 1))
      return fail(ncclInvalidUsage, concat("ranks are in different calls: rank ", rank, " in ",
                                           what, ", rank ", other, " in ", their.what[at]));
    all.emplace_back(their.payload[at], HostLane::payloadBytes);
  }
  return ncclSuccess;
}

ncclResult_t Comm::exchange(std::string_view what, std::span<const std::byte> mine,
                            std::vector<std::string> &all) {
  return exchange(&RankSlot::calls, allRanks, 0, ++exchanges, what, mine, all);
}

namespace {
struct Table {
  std::mutex mutex;
  // All are guarded by mutex.
  std::map<ncclComm_t, std::shared_ptr<Comm>> comms;
  uintptr_t last = 0x1000;
  std::string lastError;
};
} // namespace

// Outlives main(), as the threads of streams do.
static Table &table() {
  static auto &only = *new Table();
  return only;
}

ncclComm_t addComm(const std::shared_ptr<Comm> &comm) {
  std::lock_guard lock(table().mutex);
  comm->handle = reinterpret_cast<ncclComm_t>(table().last += 0x10);
  table().comms[comm->handle] = comm;
  return comm->handle;
}
std::shared_ptr<Comm> findComm(ncclComm_t handle) {
  std::lock_guard lock(table().mutex);
  auto found = table().comms.find(handle);
  return found == table().comms.end() ? nullptr : found->second;
}
void removeComm(ncclComm_t handle) {
  std::shared_ptr<Comm> dropped; // after the lock
  std::lock_guard lock(table().mutex);
  if (auto found = table().comms.find(handle); found != table().comms.end()) {
    dropped = std::move(found->second);
    table().comms.erase(found);
  }
}
std::vector<std::shared_ptr<Comm>> allComms() {
  std::lock_guard lock(table().mutex);
  std::vector<std::shared_ptr<Comm>> all;
  for (const auto &[handle, comm] : table().comms)
    all.push_back(comm);
  return all;
}

std::string nameRanks(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += concat(i == 0 ? "" : ", ", ranks[i]);
  return text;
}

ncclResult_t failCall(ncclResult_t code, const std::string &text) {
  std::lock_guard lock(table().mutex);
  table().lastError = text;
  return code;
}
std::string lastErrorText() {
  std::lock_guard lock(table().mutex);
  return table().lastError;
}

ContextScope::ContextScope(CUcontext context) { cuCtxPushCurrent_v2(context); }
ContextScope::~ContextScope() {
  CUcontext dropped = nullptr;
  cuCtxPopCurrent_v2(&dropped);
}

} // namespace tilewright::vgpu::nccl
