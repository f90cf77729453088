// Compiles collectives that kernels of several GPUs execute themselves.
#ifndef TILEWRIGHT_DRIVER_COLLECTIVEKERNELS_H
#define TILEWRIGHT_DRIVER_COLLECTIVEKERNELS_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/numerics/CollectiveKernel.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

#include <functional>

namespace tilewright::driver {

struct CollectiveCode {
  std::string ptx, symbol;
  artifact::GpuLaunch launch;
};

/// Compiles for `options.compile.target`, a GPU. Thread-safe.
///  - unimplemented: there is no kernel of this form.
Result<CollectiveCode> compileCollectiveKernel(const numerics::CollectiveKernel &wanted,
                                               const Options &options);

/// Returns a function that says whether such kernels are faster than NCCL, according to predict/'s
/// tables for the chip of `options.compile.target`, which the first call reads. Its arguments are
/// the kind, the bytes of an operand, and the number of members of the group. The function is
/// thread-safe, and `options` must outlive it.
std::function<bool(numerics::CollectiveKind, double, int64_t)>
choiceOfOwnKernels(const Options &options);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COLLECTIVEKERNELS_H
