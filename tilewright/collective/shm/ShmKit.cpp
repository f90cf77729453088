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

/// `ranksEach` ranks in each process.
Kit kitOf(const char *name, int64_t ranksEach) {
  return {name,
          [=](int64_t ranks, std::chrono::nanoseconds patience) -> Result<std::unique_ptr<Job>> {
            std::vector<int64_t> processOfRank;
            for (int64_t rank = 0; rank < ranks; ++rank)
              processOfRank.push_back(rank / ranksEach);
            TILEWRIGHT_ASSIGN(auto job, ShmJob::create(processOfRank, [&](const Membership &members,
                                                                          KeyValueStore &store) {
                                shm::ShmEngine::Options options;
                                options.patience = patience;
                                return shm::ShmEngine::connect(members, store, options);
                              }));
            return std::unique_ptr<Job>(std::move(job));
          }};
}
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {kitOf("ProcessForEach", 1), kitOf("ProcessForTwo", 2)};
  return all;
}

} // namespace tilewright::collective::conformance
