// Generates the C symbols of libnccl.so.2 from Functions.def. Every call passes through invoke(),
// which records it and lets it fail on demand.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/nccl/Comm.h"
#include "tilewright/vgpu/nccl/Functions.h"
#include "tilewright/vgpu/nccl/Group.h"
#include "tilewright/vgpu/nccl/Record.h"

#include <tuple>

namespace tilewright::vgpu::nccl {

namespace {
/// The rank that makes a call, found from the arguments, and the arguments as text.
struct Caller {
  int rank = -1;
  uint64_t communicator = 0;
  std::string arguments;

  template <typename T> void add(std::string_view name, const T &value) {
    arguments += concat(arguments.empty() ? "\"" : ", \"", name, "\": ");
    if constexpr (std::is_same_v<T, ncclComm_t>) {
      if (const std::shared_ptr<Comm> comm = findComm(value)) {
        rank = comm->rank;
        communicator = comm->board.ranks() ? comm->board.id() : 0;
      }
      arguments += concat("\"", static_cast<const void *>(value), "\"");
    } else if constexpr (std::is_same_v<T, ncclUniqueId>) {
      arguments += "\"\"";
    } else if constexpr (std::is_pointer_v<T>) {
      arguments += concat("\"", static_cast<const void *>(value), "\"");
    } else if constexpr (std::is_enum_v<T>) {
      arguments += concat(static_cast<int>(value));
    } else {
      arguments += concat(value);
      // The calls that make communicators.
      if constexpr (std::is_same_v<T, int>)
        if (name == "rank" || name == "myrank")
          rank = value;
    }
  }
};

/// The next name in a list such as "(a, b, c)".
std::string_view nextName(std::string_view &names) {
  while (!names.empty() && (names[0] == '(' || names[0] == ' ' || names[0] == ','))
    names.remove_prefix(1);
  const size_t end = names.find_first_of(",)");
  const std::string_view name = names.substr(0, end);
  names.remove_prefix(std::min(names.size(), end));
  return name;
}

template <typename Call, typename... Arguments>
ncclResult_t invoke(const char *function, int since, std::string_view names, Call call,
                    const std::tuple<Arguments...> &arguments) {
  const Settings &settings = Settings::get();
  if (!settings.problem.empty())
    return failCall(ncclInvalidArgument, settings.problem);
  if (since > settings.version)
    return failCall(ncclInvalidUsage,
                    concat(function, " is new in NCCL ", since / 10000, ".", since / 100 % 100,
                           ", TILEWRIGHT_VGPU_NCCL_VERSION is ", settings.version / 10000, ".",
                           settings.version / 100 % 100));
  const bool isRecorded = isRecording();
  if (!isRecorded && settings.faults.empty())
    return call();
  Caller caller;
  std::apply([&](const Arguments &...values) { (caller.add(nextName(names), values), ...); },
             arguments);
  ncclResult_t result = meetFaults(function, caller.rank, false);
  if (result != ncclSuccess)
    noteGroupError(failCall(result, concat(function, " failed on demand")));
  else
    result = call();
  if (isRecorded)
    record(function, caller.communicator, caller.rank, caller.arguments, result);
  return result;
}
} // namespace

#define NCCL_EXPORTED extern "C" __attribute__((visibility("default")))

// clang-format off
#define TILEWRIGHT_NCCL_FUNCTION(name, since, parameters, arguments)                               \
  NCCL_EXPORTED ncclResult_t name parameters {                                                     \
    return invoke(#name, since, #arguments, [&] { return api::name arguments; },                   \
                  std::make_tuple arguments);                                                      \
  }                                                                                                \
  NCCL_EXPORTED ncclResult_t p##name parameters { return name arguments; }
// clang-format on
#include "tilewright/collective/nccl/Functions.def"
#undef TILEWRIGHT_NCCL_FUNCTION

NCCL_EXPORTED const char *ncclGetErrorString(ncclResult_t code) {
  switch (code) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
  case ncclSystemError:
    return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  case ncclInternalError:
    return "internal error - please report this issue to the NCCL developers";
  case ncclInvalidArgument:
    return "invalid argument (run with NCCL_DEBUG=WARN for details)";
  case ncclInvalidUsage:
    return "invalid usage (run with NCCL_DEBUG=WARN for details)";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInProgress:
    return "NCCL operation in progress";
  default:
    return "unknown result code";
  }
}
NCCL_EXPORTED const char *pncclGetErrorString(ncclResult_t code) {
  return ncclGetErrorString(code);
}

/// The text stays valid until the next call of the thread.
NCCL_EXPORTED const char *ncclGetLastError(ncclComm_t handle) {
  static thread_local std::string text;
  const std::shared_ptr<Comm> comm = findComm(handle);
  text = comm ? comm->lastError() : lastErrorText();
  if (text.empty())
    text = lastErrorText();
  return text.c_str();
}
NCCL_EXPORTED const char *pncclGetLastError(ncclComm_t comm) { return ncclGetLastError(comm); }

NCCL_EXPORTED void ncclResetDebugInit() {}
NCCL_EXPORTED void pncclResetDebugInit() {}

namespace api {
ncclResult_t ncclGetVersion(int *version) {
  if (!version)
    return failCall(ncclInvalidArgument, "the pointer for the version is null");
  *version = Settings::get().version;
  return ncclSuccess;
}
} // namespace api

} // namespace tilewright::vgpu::nccl
