#include "tilewright/collective/simulate/SimulatedEngine.h"

namespace tilewright::collective::simulate {

using messages::Expected;
using messages::Header;
using messages::Messages;
using messages::Sent;

namespace {

class SimulatedMessages final : public Messages {
public:
  SimulatedMessages(const Membership &membership, FailureBox &failure,
                    std::shared_ptr<Cluster> cluster)
      : Messages(membership, failure), cluster(std::move(cluster)) {
    this->cluster->join(membership.process);
  }
  ~SimulatedMessages() override {
    if (!failure.isSet())
      sayGoodbye();
    cluster->leave(membership.process);
  }

  void progress(std::chrono::milliseconds longest) override {
    cluster->wait(membership.process, longest);
    // Deliveries are ordered, so only one thread at a time may receive and process them.
    std::lock_guard lock(mutex);
    std::vector<Cluster::Delivery> brought = cluster->receive(membership.process);
    // A message may be for another rank of this process, whose thread waits.
    if (!brought.empty())
      cluster->wake(membership.process);
    for (Cluster::Delivery &each : brought) {
      if (each.isEnd) {
        lose(each.from, "", "the peer closed it");
        continue;
      }
      deliver(each.header, each.bytes);
    }
  }
  void wake() override { cluster->wake(membership.process); }
  void reach(int64_t rank, int64_t at) override { cluster->advance(rank, at); }

private:
  void post(int64_t process, const Header &header, std::span<const std::byte> bytes,
            Sent *sent) override {
    cluster->send(membership.process, process, header, bytes);
    sentBytes.payload += bytes.size();
    sentBytes.headers += sizeof(Header);
    if (sent)
      sent->bytes.fetch_add(bytes.size(), std::memory_order_release);
  }
  void withdraw(Sent &) override {} // post() sends everything at once
  void flushFor(std::chrono::milliseconds) override {}

  const std::shared_ptr<Cluster> cluster;
};

} // namespace

Result<std::unique_ptr<SimulatedEngine>> SimulatedEngine::connect(const Membership &membership,
                                                                  std::shared_ptr<Cluster> cluster,
                                                                  const Options &options) {
  TILEWRIGHT_ASSIGN(
      auto wire,
      MessageEngine::connect(
          membership, options, [&](FailureBox &failure) -> Result<std::unique_ptr<Messages>> {
            return std::unique_ptr<Messages>(
                std::make_unique<SimulatedMessages>(membership, failure, cluster));
          }));
  return std::unique_ptr<SimulatedEngine>(new SimulatedEngine(std::move(wire)));
}

} // namespace tilewright::collective::simulate
