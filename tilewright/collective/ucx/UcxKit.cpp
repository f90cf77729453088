#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/ucx/UcxEngine.h"

#include <cstdlib>

namespace tilewright::collective::conformance {

namespace {
class UcxJob final : public ConnectedJob<UcxJob, ucx::UcxEngine> {};

UcxJob::Connect connectWith(std::chrono::nanoseconds patience) {
  return [=](const Membership &members, KeyValueStore &store) {
    ucx::UcxEngine::Options options;
    if (const char *library = std::getenv("TILEWRIGHT_TEST_UCX")) // another than the system's
      options.library = library;
    options.canSpin = false; // ranks are threads of one process, and not alone
    options.patience = patience;
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
