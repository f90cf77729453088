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

/// Whether such kernels take less time than NCCL, by the tables of predict/ for the chip of
/// `options.compile.target`, which is read by the first call: kind, bytes of an operand, members of
/// the group. The result is thread-safe, and `options` must outlive it.
std::function<bool(numerics::CollectiveKind, double, int64_t)>
choiceOfOwnKernels(const Options &options);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COLLECTIVEKERNELS_H
