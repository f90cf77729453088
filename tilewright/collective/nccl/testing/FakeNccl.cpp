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
  abi::Result failure = abi::success, state = abi::success;
  std::map<void *, int64_t> numbers; // of communicators that exist
  int64_t next = 0;
};

World &world() {
  static World the;
  return the;
}

template <typename... Parts> abi::Result record(std::string_view function, const Parts &...parts) {
  World &the = world();
  std::lock_guard lock(the.mutex);
  the.calls.push_back(concat(function, "(", parts..., ")"));
  return the.failing == function ? the.failure : abi::inProgress;
}

int64_t numberOf(abi::Comm comm) {
  std::lock_guard lock(world().mutex);
  return world().numbers.at(comm);
}

void make(abi::Comm *into) {
  World &the = world();
  std::lock_guard lock(the.mutex);
  *into = reinterpret_cast<abi::Comm>(new char());
  the.numbers[*into] = the.next++;
}

void destroy(abi::Comm comm) {
  World &the = world();
  std::lock_guard lock(the.mutex);
  the.numbers.erase(comm);
  delete reinterpret_cast<char *>(comm);
}

Library makeLibrary(bool isOld) {
  Library fake;
  fake.file = "fake";
  fake.version = isOld ? 22304 : 22809;
  fake.GetErrorString = [](abi::Result result) -> const char * {
    return result == abi::remoteError ? "remote process exited or there was a network error"
                                      : "unhandled system error";
  };
  fake.GetLastError = [](abi::Comm) -> const char * { return "the last words"; };
  fake.GetVersion = [](int *version) {
    *version = 22809;
    return abi::success;
  };
  fake.GetUniqueId = [](abi::UniqueId *id) {
    *id = {};
    id->internal[0] = 'i';
    id->internal[1] = static_cast<char>(-3);
    record("GetUniqueId");
    return abi::success;
  };
  fake.GroupStart = [] {
    record("GroupStart");
    return abi::success;
  };
  fake.GroupEnd = [] { return record("GroupEnd"); };
  fake.CommGetAsyncError = [](abi::Comm comm, abi::Result *state) {
    numberOf(comm); // must exist
    std::lock_guard lock(world().mutex);
    *state = world().state;
    return abi::success;
  };
  fake.CommInitRankConfig = [](abi::Comm *into, int ranks, abi::UniqueId id, int rank,
                               abi::Config *config) {
    const abi::Result result = record("Init", rank, " of ", ranks, ", id ", id.internal[0],
                                      static_cast<int>(id.internal[1]), ", blocking ",
                                      config->blocking, ", CTAs ", config->maxCTAs);
    if (result == abi::inProgress)
      make(into);
    return result;
  };
  fake.CommInitRankScalable = [](abi::Comm *into, int ranks, int rank, int ids, abi::UniqueId *,
                                 abi::Config *) {
    make(into);
    return record("InitScalable", rank, " of ", ranks, ", ids ", ids);
  };
  fake.CommSplit = [](abi::Comm parent, int color, int key, abi::Comm *into, abi::Config *) {
    if (color != abi::noColor)
      make(into);
    return record("Split", numberOf(parent), ", color ", color, ", key ", key);
  };
  fake.CommFinalize = [](abi::Comm comm) { return record("Finalize", numberOf(comm)); };
  fake.CommDestroy = [](abi::Comm comm) {
    record("Destroy", numberOf(comm));
    destroy(comm);
    return abi::success;
  };
  fake.CommAbort = [](abi::Comm comm) {
    record("Abort", numberOf(comm));
    destroy(comm);
    return abi::success;
  };
  fake.CommRegister = [](abi::Comm comm, void *, size_t bytes, void **handle) {
    *handle = comm;
    return record("Register", numberOf(comm), ", ", bytes);
  };
  fake.CommDeregister = [](abi::Comm comm, void *) { return record("Deregister", numberOf(comm)); };
  fake.MemAlloc = [](void **, size_t) { return abi::success; };
  fake.MemFree = [](void *) { return abi::success; };
  fake.AllReduce = [](const void *, void *, size_t count, abi::DataType type, abi::RedOp op,
                      abi::Comm comm, abi::Stream) {
    return record("AllReduce", numberOf(comm), ", ", count, ", type ", static_cast<int>(type),
                  ", op ", static_cast<int>(op));
  };
  fake.ReduceScatter = [](const void *, void *, size_t count, abi::DataType type, abi::RedOp op,
                          abi::Comm comm, abi::Stream) {
    return record("ReduceScatter", numberOf(comm), ", ", count, ", type ", static_cast<int>(type),
                  ", op ", static_cast<int>(op));
  };
  fake.AllGather = [](const void *, void *, size_t count, abi::DataType, abi::Comm comm,
                      abi::Stream) { return record("AllGather", numberOf(comm), ", ", count); };
  fake.Broadcast = [](const void *, void *, size_t count, abi::DataType, int root, abi::Comm comm,
                      abi::Stream) {
    return record("Broadcast", numberOf(comm), ", ", count, ", from ", root);
  };
  fake.Send = [](const void *, size_t count, abi::DataType, int to, abi::Comm comm, abi::Stream) {
    return record("Send", numberOf(comm), ", ", count, ", to ", to);
  };
  fake.Recv = [](void *, size_t count, abi::DataType, int from, abi::Comm comm, abi::Stream) {
    return record("Recv", numberOf(comm), ", ", count, ", from ", from);
  };
  if (isOld)
    return fake;
  fake.CommRevoke = [](abi::Comm comm, int) {
    setState(abi::success); // at once at rest
    return record("Revoke", numberOf(comm));
  };
  fake.CommShrink = [](abi::Comm parent, int *without, int count, abi::Comm *into, abi::Config *,
                       int flags) {
    make(into);
    return record("Shrink", numberOf(parent), ", without ", count == 1 ? without[0] : -1,
                  ", flags ", flags);
  };
  fake.CommWindowRegister = [](abi::Comm comm, void *data, size_t bytes, abi::Window *window, int) {
    *window = static_cast<abi::Window>(data);
    return record("Window", numberOf(comm), ", ", bytes);
  };
  fake.CommWindowDeregister = [](abi::Comm comm, abi::Window) {
    return record("WindowEnd", numberOf(comm));
  };
  fake.AlltoAll = [](const void *, void *, size_t count, abi::DataType, abi::Comm comm,
                     abi::Stream) { return record("AlltoAll", numberOf(comm), ", ", count); };
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
  the.state = abi::success;
  if (the.numbers.empty())
    the.next = 0;
}

void failCalls(std::string function, abi::Result result) {
  std::lock_guard lock(world().mutex);
  world().failing = std::move(function);
  world().failure = result;
}

void setState(abi::Result state) {
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
