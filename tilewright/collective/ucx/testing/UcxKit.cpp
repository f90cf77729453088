#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/ucx/UcxEngine.h"

#include <cstdlib>

namespace tilewright::collective::conformance {

namespace {
class UcxJob final : public ConnectedJob<UcxJob, ucx::UcxEngine> {};

UcxJob::Connect connectWith(std::chrono::nanoseconds timeout) {
  return [=](const Membership &members, KeyValueStore &store) {
    ucx::UcxEngine::Options options;
    if (const char *library = std::getenv("TILEWRIGHT_TEST_UCX")) // overrides the system's library
      options.library = library;
    options.canSpin = false; // ranks are threads of one process and share its cores
    options.timeout = timeout;
    return ucx::UcxEngine::connect(members, store, options);
  };
}
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {connectedKit<UcxJob>("ProcessForEach", 1, connectWith),
                                       connectedKit<UcxJob>("ProcessForTwo", 2, connectWith)};
  return all;
}

} // namespace tilewright::collective::conformance
