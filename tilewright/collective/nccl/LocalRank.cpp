#include "tilewright/collective/nccl/LocalRank.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <ranges>
#include <thread>

namespace tilewright::collective::nccl {

namespace {
/// How long to wait between two queries of NCCL's state: most calls are done within microseconds,
/// but a call that connects ranks for the first time takes long.
class Pause {
public:
  void wait() {
    if (++count < 64)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(count < 256 ? 20 : 500));
  }

private:
  int count = 0;
};
} // namespace

Status LocalRank::failed() const { return Status(Error::collectiveAborted, failure.text()); }

Result<Comm *> LocalRank::make(std::string_view function, Comm *parent, const Make &make) {
  static_assert(sizeof(std::atomic<abi::ncclComm_t>) == sizeof(abi::ncclComm_t));
  std::lock_guard lock(mutex);
  if (parent && !parent->handle)
    return failed();
  auto comm = std::make_unique<Comm>();
  const abi::ncclResult_t result = make(parent ? parent->handle.load() : nullptr,
                                        reinterpret_cast<abi::ncclComm_t *>(&comm->handle));
  if (result != abi::ncclSuccess && result != abi::ncclInProgress)
    return nccl.check(result, function, parent ? parent->handle.load() : nullptr);
  if (parent)
    parent->isReady = false;
  comms.push_back(std::move(comm));
  return comms.back().get();
}

Status LocalRank::state(std::string_view function, Comm &comm, abi::ncclResult_t *state) {
  if (!comm.handle)
    return failure.isSet()
               ? failed()
               : Status(Error::ncclCall, concat("nccl", function, " made no communicator"));
  TILEWRIGHT_TRY(
      nccl.check(nccl.CommGetAsyncError(comm.handle, state), "CommGetAsyncError", comm.handle));
  if (*state != abi::ncclInProgress)
    TILEWRIGHT_TRY(nccl.check(*state, function, comm.handle));
  return Status();
}

Status LocalRank::settle(std::string_view function, std::span<Comm *const> comms,
                         Deadline deadline) {
  Pause pause;
  for (Comm *comm : comms)
    while (true) {
      if (failure.isSet())
        return failed();
      {
        std::lock_guard lock(mutex);
        abi::ncclResult_t now = abi::ncclSuccess;
        TILEWRIGHT_TRY(state(function, *comm, &now));
        if (now == abi::ncclSuccess) {
          comm->isReady = true;
          break;
        }
      }
      if (std::chrono::steady_clock::now() >= deadline)
        return Status(Error::collectiveStuck, concat("rank ", number, " timed out in nccl",
                                                     function, ": other ranks did not call it"));
      pause.wait();
    }
  return Status();
}

Status LocalRank::call(std::string_view function, Comm &comm, const Body &body, Deadline deadline) {
  auto callNow = [&]() -> Result<bool> {
    if (!comm.handle || failure.isSet())
      return failed();
    const abi::ncclResult_t result = body(comm.handle);
    if (result != abi::ncclSuccess && result != abi::ncclInProgress)
      return nccl.check(result, function, comm.handle);
    return result == abi::ncclSuccess;
  };
  if (hasGroup()) {
    TILEWRIGHT_TRY(callNow().takeStatus());
    if (std::find(inGroup.begin(), inGroup.end(), &comm) == inGroup.end())
      inGroup.push_back(&comm);
    return Status();
  }
  bool isDone = false;
  {
    std::lock_guard lock(mutex);
    TILEWRIGHT_ASSIGN(isDone, callNow());
  }
  Comm *const one[] = {&comm};
  return isDone ? Status() : settle(function, one, deadline);
}

Status LocalRank::beginGroup() {
  if (!hasGroup()) {
    std::unique_lock lock(mutex);
    TILEWRIGHT_TRY(nccl.check(nccl.GroupStart(), "GroupStart"));
    groupLock = std::move(lock);
    groupThread = std::this_thread::get_id();
    inGroup.clear();
    depth = 0;
  } else {
    TILEWRIGHT_TRY(nccl.check(nccl.GroupStart(), "GroupStart"));
  }
  ++depth;
  return Status();
}

Status LocalRank::endGroup(Deadline deadline) {
  if (!hasGroup())
    return Status(Code::failedPrecondition, "endGroup() without beginGroup()");
  const abi::ncclResult_t result = nccl.GroupEnd();
  Status status = result == abi::ncclInProgress ? Status() : nccl.check(result, "GroupEnd");
  if (--depth > 0)
    return status;
  const std::vector<Comm *> used = std::move(inGroup);
  groupThread = std::thread::id();
  groupLock.unlock();
  TILEWRIGHT_TRY(std::move(status));
  if (result == abi::ncclInProgress)
    TILEWRIGHT_TRY(settle("GroupEnd", used, deadline));
  return failure.isSet() ? failed() : Status();
}

Status LocalRank::registerWith(Comm &comm, std::byte *data, size_t bytes, Deadline deadline) {
  {
    std::lock_guard lock(mutex);
    if (comm.registered[data].uses++ > 0)
      return Status();
  }
  // NCCL writes the handle before the call is done, so it needs a location that stays valid.
  Comm::Registration &registration = comm.registered[data];
  return call(
      "CommRegister", comm,
      [&](abi::ncclComm_t handle) {
        return nccl.CommRegister(handle, data, bytes, &registration.handle);
      },
      deadline);
}

Status LocalRank::deregisterFrom(Comm &comm, std::byte *data, Deadline deadline) {
  void *handle = nullptr;
  {
    std::lock_guard lock(mutex);
    const auto found = comm.registered.find(data);
    if (found == comm.registered.end() || --found->second.uses > 0)
      return Status();
    handle = found->second.handle;
    comm.registered.erase(found);
  }
  if (!handle || failure.isSet())
    return Status(); // gone with the communicator
  return call(
      "CommDeregister", comm,
      [&](abi::ncclComm_t each) { return nccl.CommDeregister(each, handle); }, deadline);
}

Result<void *> LocalRank::makeWindow(Comm &comm, std::byte *data, size_t bytes, Deadline deadline) {
  auto window = std::make_unique<abi::ncclWindow_t>(nullptr); // NCCL may write it after a failure
  abi::ncclWindow_t *const place = window.get();
  {
    std::lock_guard lock(mutex);
    comm.windows.push_back(std::move(window));
  }
  TILEWRIGHT_TRY(call(
      "CommWindowRegister", comm,
      [&](abi::ncclComm_t handle) {
        return nccl.CommWindowRegister(handle, data, bytes, place, abi::NCCL_WIN_COLL_SYMMETRIC);
      },
      deadline));
  return static_cast<void *>(*place);
}

void LocalRank::awaitRest(std::span<Comm *const> comms, Deadline deadline) {
  if (hasGroup())
    return; // not revoked before the group ends
  for (Comm *comm : comms)
    for (Pause pause; std::chrono::steady_clock::now() < deadline; pause.wait()) {
      std::lock_guard lock(mutex);
      abi::ncclResult_t now = abi::ncclSuccess;
      if (!comm->handle || nccl.CommGetAsyncError(comm->handle, &now) != abi::ncclSuccess ||
          now != abi::ncclInProgress)
        break;
    }
}

Status LocalRank::asyncError(std::span<Comm *const> comms) {
  if (failure.isSet())
    return failed();
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock)
    return Status();
  for (Comm *comm : comms) {
    abi::ncclResult_t now = abi::ncclSuccess;
    TILEWRIGHT_TRY(state("CommGetAsyncError", *comm, &now));
  }
  return Status();
}

void LocalRank::revoke() {
  std::lock_guard lock(mutex);
  if (std::exchange(isRevoked, true))
    return;
  (void)makeCurrent();
  for (const auto &comm : comms | std::views::reverse) {
    if (!comm->handle)
      continue;
    if (nccl.CommRevoke && comm->isReady) {
      (void)nccl.CommRevoke(comm->handle, abi::NCCL_REVOKE_DEFAULT);
    } else {
      (void)nccl.CommAbort(comm->handle.exchange(nullptr));
    }
  }
}

void LocalRank::finalize() {
  std::lock_guard lock(mutex);
  if (!makeCurrent().isOk() || failure.isSet())
    return;
  for (const auto &comm : comms | std::views::reverse) {
    if (!comm->handle)
      continue;
    for (const auto &[data, registration] : comm->registered)
      (void)nccl.CommDeregister(comm->handle, registration.handle);
    for (const auto &window : comm->windows)
      if (*window)
        (void)nccl.CommWindowDeregister(comm->handle, *window);
    (void)nccl.CommFinalize(comm->handle);
  }
}

void LocalRank::destroy(Deadline deadline) {
  if (!makeCurrent().isOk() || failure.isSet())
    return;
  std::vector<Comm *> ending;
  for (const auto &comm : comms | std::views::reverse)
    if (comm->handle)
      ending.push_back(comm.get());
  if (!settle("CommFinalize", ending, deadline).isOk())
    return;
  std::lock_guard lock(mutex);
  for (Comm *comm : ending)
    if (comm->handle)
      (void)nccl.CommDestroy(comm->handle.exchange(nullptr));
}

LocalRank::~LocalRank() {
  (void)makeCurrent();
  for (const auto &comm : comms | std::views::reverse)
    if (comm->handle)
      (void)nccl.CommAbort(comm->handle);
}

} // namespace tilewright::collective::nccl
