#include "tilewright/collective/nccl/testing/FakeNccl.h"
#include "tilewright/support/Concat.h"

#include <map>
#include <mutex>

namespace tilewright::collective::nccl::test {

namespace {
struct World {
  std::mutex mutex;
  std::vector<std::string> calls;
  std::string failing;
  abi::ncclResult_t failure = abi::ncclSuccess, state = abi::ncclSuccess;
  std::map<void *, int64_t> numbers; // of communicators that exist
  int64_t next = 0;
};

World &world() {
  static World the;
  return the;
}

template <typename... Parts>
abi::ncclResult_t record(std::string_view function, const Parts &...parts) {
  World &the = world();
  std::lock_guard lock(the.mutex);
  the.calls.push_back(concat(function, "(", parts..., ")"));
  return the.failing == function ? the.failure : abi::ncclInProgress;
}

int64_t numberOf(abi::ncclComm_t comm) {
  std::lock_guard lock(world().mutex);
  return world().numbers.at(comm);
}

void make(abi::ncclComm_t *into) {
  World &the = world();
  std::lock_guard lock(the.mutex);
  *into = reinterpret_cast<abi::ncclComm_t>(new char());
  the.numbers[*into] = the.next++;
}

void destroy(abi::ncclComm_t comm) {
  World &the = world();
  std::lock_guard lock(the.mutex);
  the.numbers.erase(comm);
  delete reinterpret_cast<char *>(comm);
}

Library makeLibrary(bool isOld) {
  Library fake;
  fake.file = "fake";
  fake.version = isOld ? 22304 : 22809;
  fake.GetErrorString = [](abi::ncclResult_t result) -> const char * {
    return result == abi::ncclRemoteError ? "remote process exited or there was a network error"
                                          : "unhandled system error";
  };
  fake.GetLastError = [](abi::ncclComm_t) -> const char * { return "the last words"; };
  fake.GetVersion = [](int *version) {
    *version = 22809;
    return abi::ncclSuccess;
  };
  fake.GetUniqueId = [](abi::ncclUniqueId *id) {
    *id = {};
    id->internal[0] = 'i';
    id->internal[1] = static_cast<char>(-3);
    record("GetUniqueId");
    return abi::ncclSuccess;
  };
  fake.GroupStart = [] {
    record("GroupStart");
    return abi::ncclSuccess;
  };
  fake.GroupEnd = [] { return record("GroupEnd"); };
  fake.CommGetAsyncError = [](abi::ncclComm_t comm, abi::ncclResult_t *state) {
    numberOf(comm); // must exist
    std::lock_guard lock(world().mutex);
    *state = world().state;
    return abi::ncclSuccess;
  };
  fake.CommInitRankConfig = [](abi::ncclComm_t *into, int ranks, abi::ncclUniqueId id, int rank,
                               abi::ncclConfig_t *config) {
    const abi::ncclResult_t result = record("Init", rank, " of ", ranks, ", id ", id.internal[0],
                                            static_cast<int>(id.internal[1]), ", blocking ",
                                            config->blocking, ", CTAs ", config->maxCTAs);
    if (result == abi::ncclInProgress)
      make(into);
    return result;
  };
  fake.CommInitRankScalable = [](abi::ncclComm_t *into, int ranks, int rank, int ids,
                                 abi::ncclUniqueId *, abi::ncclConfig_t *) {
    make(into);
    return record("InitScalable", rank, " of ", ranks, ", ids ", ids);
  };
  fake.CommSplit = [](abi::ncclComm_t parent, int color, int key, abi::ncclComm_t *into,
                      abi::ncclConfig_t *) {
    if (color != abi::NCCL_SPLIT_NOCOLOR)
      make(into);
    return record("Split", numberOf(parent), ", color ", color, ", key ", key);
  };
  fake.CommFinalize = [](abi::ncclComm_t comm) { return record("Finalize", numberOf(comm)); };
  fake.CommDestroy = [](abi::ncclComm_t comm) {
    record("Destroy", numberOf(comm));
    destroy(comm);
    return abi::ncclSuccess;
  };
  fake.CommAbort = [](abi::ncclComm_t comm) {
    record("Abort", numberOf(comm));
    destroy(comm);
    return abi::ncclSuccess;
  };
  fake.CommRegister = [](abi::ncclComm_t comm, void *, size_t bytes, void **handle) {
    *handle = comm;
    return record("Register", numberOf(comm), ", ", bytes);
  };
  fake.CommDeregister = [](abi::ncclComm_t comm, void *) {
    return record("Deregister", numberOf(comm));
  };
  fake.MemAlloc = [](void **, size_t) { return abi::ncclSuccess; };
  fake.MemFree = [](void *) { return abi::ncclSuccess; };
  fake.AllReduce = [](const void *, void *, size_t count, abi::ncclDataType_t type,
                      abi::ncclRedOp_t op, abi::ncclComm_t comm, abi::cudaStream_t) {
    return record("AllReduce", numberOf(comm), ", ", count, ", type ", static_cast<int>(type),
                  ", op ", static_cast<int>(op));
  };
  fake.ReduceScatter = [](const void *, void *, size_t count, abi::ncclDataType_t type,
                          abi::ncclRedOp_t op, abi::ncclComm_t comm, abi::cudaStream_t) {
    return record("ReduceScatter", numberOf(comm), ", ", count, ", type ", static_cast<int>(type),
                  ", op ", static_cast<int>(op));
  };
  fake.AllGather = [](const void *, void *, size_t count, abi::ncclDataType_t, abi::ncclComm_t comm,
                      abi::cudaStream_t) {
    return record("AllGather", numberOf(comm), ", ", count);
  };
  fake.Broadcast = [](const void *, void *, size_t count, abi::ncclDataType_t, int root,
                      abi::ncclComm_t comm, abi::cudaStream_t) {
    return record("Broadcast", numberOf(comm), ", ", count, ", from ", root);
  };
  fake.Send = [](const void *, size_t count, abi::ncclDataType_t, int to, abi::ncclComm_t comm,
                 abi::cudaStream_t) {
    return record("Send", numberOf(comm), ", ", count, ", to ", to);
  };
  fake.Recv = [](void *, size_t count, abi::ncclDataType_t, int from, abi::ncclComm_t comm,
                 abi::cudaStream_t) {
    return record("Recv", numberOf(comm), ", ", count, ", from ", from);
  };
  if (isOld)
    return fake;
  fake.CommRevoke = [](abi::ncclComm_t comm, int) {
    setState(abi::ncclSuccess); // at once at rest
    return record("Revoke", numberOf(comm));
  };
  fake.CommShrink = [](abi::ncclComm_t parent, int *without, int count, abi::ncclComm_t *into,
                       abi::ncclConfig_t *, int flags) {
    make(into);
    return record("Shrink", numberOf(parent), ", without ", count == 1 ? without[0] : -1,
                  ", flags ", flags);
  };
  fake.CommWindowRegister = [](abi::ncclComm_t comm, void *data, size_t bytes,
                               abi::ncclWindow_t *window, int) {
    *window = static_cast<abi::ncclWindow_t>(data);
    return record("Window", numberOf(comm), ", ", bytes);
  };
  fake.CommWindowDeregister = [](abi::ncclComm_t comm, abi::ncclWindow_t) {
    return record("WindowEnd", numberOf(comm));
  };
  fake.AlltoAll = [](const void *, void *, size_t count, abi::ncclDataType_t, abi::ncclComm_t comm,
                     abi::cudaStream_t) { return record("AlltoAll", numberOf(comm), ", ", count); };
  return fake;
}
} // namespace

std::vector<std::string> calls() {
  std::lock_guard lock(world().mutex);
  return world().calls;
}

void clear() {
  World &the = world();
  std::lock_guard lock(the.mutex);
  the.calls.clear();
  the.failing.clear();
  the.state = abi::ncclSuccess;
  if (the.numbers.empty())
    the.next = 0;
}

void failCalls(std::string function, abi::ncclResult_t result) {
  std::lock_guard lock(world().mutex);
  world().failing = std::move(function);
  world().failure = result;
}

void setState(abi::ncclResult_t state) {
  std::lock_guard lock(world().mutex);
  world().state = state;
}

const Library &library() {
  static const Library fake = makeLibrary(false);
  return fake;
}

const Library &oldLibrary() {
  static const Library fake = makeLibrary(true);
  return fake;
}

Status FakeAccess::makeCurrent(int64_t) { return Status(); }
Status FakeAccess::copy(DeviceStream, std::byte *, const std::byte *, size_t bytes) {
  record("copy", bytes);
  return Status();
}
Status FakeAccess::fillWithZeros(DeviceStream, std::byte *, size_t bytes) {
  record("zeros", bytes);
  return Status();
}

} // namespace tilewright::collective::nccl::test
