#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/tcp/TcpEngine.h"

namespace tilewright::collective::conformance {

namespace {
class TcpJob final : public ConnectedJob<TcpJob, tcp::TcpEngine> {};

/// `ranksEach` ranks in each process.
Kit kitOf(const char *name, int64_t ranksEach) {
  return {name,
          [=](int64_t ranks, std::chrono::nanoseconds patience) -> Result<std::unique_ptr<Job>> {
            std::vector<int64_t> processOfRank;
            for (int64_t rank = 0; rank < ranks; ++rank)
              processOfRank.push_back(rank / ranksEach);
            TILEWRIGHT_ASSIGN(
                auto job,
                TcpJob::create(processOfRank, [&](const Membership &members, KeyValueStore &store) {
                  tcp::TcpEngine::Options options;
                  options.address = "127.0.0.1";
                  options.patience = patience;
                  options.canSpin = false; // ranks are threads of one process, and not alone
                  return tcp::TcpEngine::connect(members, store, options);
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
