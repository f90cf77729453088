// Replaces the UCX engine in builds without UCX's headers.
#include "tilewright/collective/ucx/UcxEngine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::ucx {

Status isAvailable(const std::string &library) {
  return Status(Error::carrierUnavailable,
                concat("ucx: '", library,
                       "' cannot be used: Tilewright was built without UCX's headers "
                       "(libucx-dev)"));
}

Result<std::unique_ptr<messages::Messages>> connectFabric(const Membership &, KeyValueStore &,
                                                          const UcxEngine::Options &options,
                                                          FailureBox &) {
  return isAvailable(options.library);
}

} // namespace tilewright::collective::ucx
