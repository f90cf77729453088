// Library: NCCL's functions, from a library that is loaded at run time.
#ifndef TILEWRIGHT_COLLECTIVE_NCCL_LIBRARY_H
#define TILEWRIGHT_COLLECTIVE_NCCL_LIBRARY_H

#include "tilewright/collective/nccl/Abi.h"
#include "tilewright/numerics/Collective.h"
#include "tilewright/numerics/ElementType.h"
#include "tilewright/support/Status.h"

#include <optional>
#include <string>

namespace tilewright::collective::nccl {

/// A pointer to each NCCL function that we use.
struct Library {
#define TILEWRIGHT_NCCL_POINTER(name) decltype(&abi::nccl##name) name = nullptr;
  TILEWRIGHT_NCCL_FUNCTIONS(TILEWRIGHT_NCCL_POINTER)
  TILEWRIGHT_NCCL_LATER_FUNCTIONS(TILEWRIGHT_NCCL_POINTER)
#undef TILEWRIGHT_NCCL_POINTER
  const char *(*GetErrorString)(abi::ncclResult_t) = nullptr;
  const char *(*GetLastError)(abi::ncclComm_t) = nullptr;

  std::string file;
  int version = 0; // 22809 for 2.28.9

  std::string versionText() const;
  /// OK, or ncclCall (E6061) with NCCL's text and last error. `comm` may be null.
  Status check(abi::ncclResult_t result, std::string_view function,
               abi::ncclComm_t comm = nullptr) const;
  /// NCCL's type for reductions; nullopt if this version has none.
  std::optional<abi::ncclDataType_t> typeOf(numerics::ElementType element) const;

  /// Sets to null the functions that are newer than `version`: a library that stands for an older
  /// version may export them.
  void forgetNewer();

  /// Loads the library, which stays loaded: NCCL has threads.
  ///  - carrierUnavailable (E6060): the message contains dlerror(), the name of the missing
  ///    function, or the version.
  static Result<const Library *> load(const std::string &file);
};

/// NCCL's operation, if it computes what StableHLO defines. nullopt for bitwise operations, and for
/// the maximum and minimum of floats: NCCL's drop a NaN that a rank contributes.
std::optional<abi::ncclRedOp_t> operationOf(numerics::ReductionKind operation,
                                            numerics::ElementType element);

} // namespace tilewright::collective::nccl

#endif // TILEWRIGHT_COLLECTIVE_NCCL_LIBRARY_H
