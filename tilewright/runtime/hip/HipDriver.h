// HipDriver: fills the runtime's table of driver functions from AMD's libamdhip64.
#ifndef TILEWRIGHT_RUNTIME_HIP_HIPDRIVER_H
#define TILEWRIGHT_RUNTIME_HIP_HIPDRIVER_H

#include "tilewright/runtime/cuda/DriverApi.h"

#include <functional>
#include <string>

namespace tilewright::runtime::hip {

/// Returns the address of a function of the library; null if it does not exist.
using Lookup = std::function<void *(const char *name)>;

/// Sets the functions of `api`, whose library path appears in messages. The functions of a process
/// belong to the last library for which this succeeded; DriverApi::load opens only one.
///  - cudaFunction (E5121): the library is too old.
Status fill(cuda::DriverApi &api, const Lookup &lookup);

/// HIP's name of a function of the table: "hipStreamSynchronize" for "cuStreamSynchronize". The
/// name itself if HIP has no such function.
const char *nameOf(const char *function);

/// The chip of a device, "gfx950", without the settings that follow its name ("gfx950:sramecc+").
/// Requires a previous fill().
///  - cudaCall (E5122)
Result<std::string> chipOf(const cuda::DriverApi &api, int device);

} // namespace tilewright::runtime::hip

#endif // TILEWRIGHT_RUNTIME_HIP_HIPDRIVER_H
