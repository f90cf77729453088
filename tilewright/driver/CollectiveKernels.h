// Compiles collectives that kernels of several GPUs execute themselves.
#ifndef TILEWRIGHT_DRIVER_COLLECTIVEKERNELS_H
#define TILEWRIGHT_DRIVER_COLLECTIVEKERNELS_H

#include "tilewright/artifact/Executable.h"
#include "tilewright/numerics/CollectiveKernel.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"

namespace tilewright::driver {

struct CollectiveCode {
  std::string ptx, symbol;
  artifact::GpuLaunch launch;
};

/// Compiles for `options.compile.target`, a GPU. Thread-safe.
///  - unimplemented: there is no kernel of this form.
Result<CollectiveCode> compileCollectiveKernel(const numerics::CollectiveKernel &wanted,
                                               const Options &options);

} // namespace tilewright::driver

#endif // TILEWRIGHT_DRIVER_COLLECTIVEKERNELS_H
