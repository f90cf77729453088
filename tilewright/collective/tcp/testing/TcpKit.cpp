#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/tcp/TcpEngine.h"

namespace tilewright::collective::conformance {

namespace {
class TcpJob final : public ConnectedJob<TcpJob, tcp::TcpEngine> {};

TcpJob::Connect connectWith(std::chrono::nanoseconds timeout) {
  return [=](const Membership &members, KeyValueStore &store) {
    tcp::TcpEngine::Options options;
    options.address = "127.0.0.1";
    options.canSpin = false; // ranks are threads of one process and share its cores
    options.timeout = timeout;
    return tcp::TcpEngine::connect(members, store, options);
  };
}
} // namespace

const std::vector<Kit> &kits() {
  static const std::vector<Kit> all = {connectedKit<TcpJob>("ProcessForEach", 1, connectWith),
                                       connectedKit<TcpJob>("ProcessForTwo", 2, connectWith)};
  return all;
}

} // namespace tilewright::collective::conformance
