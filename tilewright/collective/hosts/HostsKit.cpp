#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/hosts/HostsEngine.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::conformance {

namespace {
class HostsJob final : public ConnectedJob<HostsJob, hosts::HostsEngine> {
public:
  std::byte *allocate(int64_t rank, size_t bytes) override {
    return engine(rank).arena().allocate(bytes);
  }
};
} // namespace

/// Two processes a host, one rank each.
const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {
      {"TwoProcessesEach",
       [](int64_t ranks, std::chrono::nanoseconds patience) -> Result<std::unique_ptr<Job>> {
         std::vector<int64_t> processOfRank;
         for (int64_t rank = 0; rank < ranks; ++rank)
           processOfRank.push_back(rank);
         TILEWRIGHT_ASSIGN(auto job, HostsJob::create(processOfRank, [&](const Membership &members,
                                                                         KeyValueStore &store) {
                             hosts::HostsEngine::Options options;
                             options.host = concat("host", members.process / 2);
                             options.sums = hosts::HostsEngine::Sums::inGroupOrder;
                             options.address = "127.0.0.1";
                             options.patience = patience;
                             options.canSpin = false;
                             return hosts::HostsEngine::connect(members, store, options);
                           }));
         return std::unique_ptr<Job>(std::move(job));
       }}};
  return all;
}

} // namespace tilewright::collective::conformance
