#include "tilewright/collective/nccl/Library.h"
#include "tilewright/support/Concat.h"

#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

namespace tilewright::collective::nccl {

using numerics::ElementType;
using numerics::ReductionKind;

/// The oldest version with CommInitRankScalable, and the first that is not tested.
static constexpr int oldest = 22300, tooNew = 30000;

static std::string textOf(int version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

static Result<std::unique_ptr<Library>> open(const std::string &file) {
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Status(Error::carrierUnavailable,
                  concat("nccl: cannot load '", file, "': ", dlerror(),
                         "; install NCCL (PyPI: nvidia-nccl-cu13) or set runtime.nccl-library to "
                         "the path of libnccl.so.2"));
  auto library = std::make_unique<Library>();
  library->file = file;
  const char *missing = nullptr;
#define TILEWRIGHT_NCCL_FIND(name)                                                                 \
  library->name = reinterpret_cast<decltype(library->name)>(dlsym(handle, "nccl" #name));
#define TILEWRIGHT_NCCL_NEED(name)                                                                 \
  TILEWRIGHT_NCCL_FIND(name)                                                                       \
  if (!library->name)                                                                              \
    missing = "nccl" #name;
  TILEWRIGHT_NCCL_FUNCTIONS(TILEWRIGHT_NCCL_NEED)
  TILEWRIGHT_NCCL_NEED(GetErrorString)
  TILEWRIGHT_NCCL_NEED(GetLastError)
  TILEWRIGHT_NCCL_LATER_FUNCTIONS(TILEWRIGHT_NCCL_FIND)
#undef TILEWRIGHT_NCCL_NEED
#undef TILEWRIGHT_NCCL_FIND
  if (missing)
    return Status(Error::carrierUnavailable,
                  concat("nccl: '", file, "' does not export ", missing, "; NCCL ", textOf(oldest),
                         " or later is needed"));
  if (library->GetVersion(&library->version) != abi::ncclSuccess || library->version < oldest ||
      library->version >= tooNew)
    return Status(Error::carrierUnavailable,
                  concat("nccl: '", file, "' is NCCL ", textOf(library->version),
                         "; a version from ", textOf(oldest), " to 2.x is needed"));
  library->forgetNewer();
  return library;
}

void Library::forgetNewer() {
#define TILEWRIGHT_NCCL_FORGET(name)                                                               \
  if (version < abi::nccl##name##Since)                                                            \
    name = nullptr;
  TILEWRIGHT_NCCL_LATER_FUNCTIONS(TILEWRIGHT_NCCL_FORGET)
#undef TILEWRIGHT_NCCL_FORGET
}

Result<const Library *> Library::load(const std::string &file) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Library>> loaded; // guarded by mutex
  std::lock_guard lock(mutex);
  std::unique_ptr<Library> &library = loaded[file];
  if (!library) {
    TILEWRIGHT_ASSIGN(library, open(file));
  }
  return library.get();
}

std::string Library::versionText() const { return textOf(version); }

Status Library::check(abi::ncclResult_t result, std::string_view function,
                      abi::ncclComm_t comm) const {
  if (result == abi::ncclSuccess)
    return Status();
  std::string text = concat("nccl", function, " failed: ", GetErrorString(result));
  if (const char *last = GetLastError(comm); last && *last)
    text += concat(" (", last, ")");
  return Status(Error::ncclCall, text);
}

std::optional<abi::ncclDataType_t> Library::typeOf(ElementType element) const {
  switch (element) {
  case ElementType::i8:
    return abi::ncclInt8;
  case ElementType::ui8:
    return abi::ncclUint8;
  case ElementType::i32:
    return abi::ncclInt32;
  case ElementType::ui32:
    return abi::ncclUint32;
  case ElementType::i64:
    return abi::ncclInt64;
  case ElementType::ui64:
    return abi::ncclUint64;
  case ElementType::f16:
    return abi::ncclFloat16;
  case ElementType::bf16:
    return abi::ncclBfloat16;
  case ElementType::f32:
    return abi::ncclFloat32;
  case ElementType::f64:
    return abi::ncclFloat64;
  default:
    return std::nullopt;
  }
}

std::optional<abi::ncclRedOp_t> operationOf(ReductionKind operation, ElementType element) {
  switch (operation) {
  case ReductionKind::add:
    return abi::ncclSum;
  case ReductionKind::multiply:
    return abi::ncclProd;
  case ReductionKind::maximum:
    return numerics::isInteger(element) ? std::optional(abi::ncclMax) : std::nullopt;
  case ReductionKind::minimum:
    return numerics::isInteger(element) ? std::optional(abi::ncclMin) : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace tilewright::collective::nccl
