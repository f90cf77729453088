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

HostsJob::Connect connectWith(std::chrono::nanoseconds timeout) {
  return [=](const Membership &members, KeyValueStore &store) {
    hosts::HostsEngine::Options options;
    options.host = concat("host", members.process / 2);
    options.sums = hosts::HostsEngine::Sums::inGroupOrder;
    options.address = "127.0.0.1";
    options.canSpin = false;
    options.timeout = timeout;
    return hosts::HostsEngine::connect(members, store, options);
  };
}
} // namespace

/// Two processes per host, with one rank each.
const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {connectedKit<HostsJob>("TwoProcessesEach", 1, connectWith)};
  return all;
}

} // namespace tilewright::collective::conformance
