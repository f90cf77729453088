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
#define TILEWRIGHT_NCCL_FIND(name, ...)                                                            \
  library->name = reinterpret_cast<decltype(library->name)>(dlsym(handle, "nccl" #name));
#define TILEWRIGHT_NCCL_NEED(name, ...)                                                            \
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
  if (library->GetVersion(&library->version) != abi::success || library->version < oldest ||
      library->version >= tooNew)
    return Status(Error::carrierUnavailable,
                  concat("nccl: '", file, "' is NCCL ", textOf(library->version),
                         "; a version from ", textOf(oldest), " to 2.x is needed"));
  library->forgetNewer();
  return library;
}

void Library::forgetNewer() {
  if (version < 22807)
    CommRevoke = nullptr;
  if (version < 22800)
    AlltoAll = nullptr;
  if (version < 22700) {
    CommShrink = nullptr;
    CommWindowRegister = nullptr;
    CommWindowDeregister = nullptr;
  }
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

Status Library::check(abi::Result result, std::string_view function, abi::Comm comm) const {
  if (result == abi::success)
    return Status();
  std::string text = concat("nccl", function, " failed: ", GetErrorString(result));
  if (const char *last = GetLastError(comm); last && *last)
    text += concat(" (", last, ")");
  return Status(Error::ncclCall, text);
}

std::optional<abi::DataType> Library::typeOf(ElementType element) const {
  switch (element) {
  case ElementType::i8:
    return abi::int8;
  case ElementType::ui8:
    return abi::uint8;
  case ElementType::i32:
    return abi::int32;
  case ElementType::ui32:
    return abi::uint32;
  case ElementType::i64:
    return abi::int64;
  case ElementType::ui64:
    return abi::uint64;
  case ElementType::f16:
    return abi::float16;
  case ElementType::bf16:
    return abi::bfloat16;
  case ElementType::f32:
    return abi::float32;
  case ElementType::f64:
    return abi::float64;
  default:
    return std::nullopt;
  }
}

std::optional<abi::RedOp> operationOf(ReductionKind operation, ElementType element) {
  switch (operation) {
  case ReductionKind::add:
    return abi::sum;
  case ReductionKind::multiply:
    return abi::prod;
  case ReductionKind::maximum:
    return numerics::isInteger(element) ? std::optional(abi::max) : std::nullopt;
  case ReductionKind::minimum:
    return numerics::isInteger(element) ? std::optional(abi::min) : std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace tilewright::collective::nccl
