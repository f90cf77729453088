#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/shm/ShmEngine.h"

namespace tilewright::collective::conformance {

namespace {
class ShmJob final : public ConnectedJob<ShmJob, shm::ShmEngine> {
public:
  std::byte *allocate(int64_t rank, size_t bytes) override {
    return engine(rank).arena().allocate(bytes);
  }
};

ShmJob::Connect connectWith(std::chrono::nanoseconds timeout) {
  return [=](const Membership &members, KeyValueStore &store) {
    shm::ShmEngine::Options options;
    options.timeout = timeout;
    return shm::ShmEngine::connect(members, store, options);
  };
}
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {connectedKit<ShmJob>("ProcessForEach", 1, connectWith),
                                       connectedKit<ShmJob>("ProcessForTwo", 2, connectWith)};
  return all;
}

} // namespace tilewright::collective::conformance
