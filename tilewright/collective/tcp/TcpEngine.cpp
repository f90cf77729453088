#include "tilewright/collective/tcp/TcpEngine.h"
#include "tilewright/collective/tcp/Exchange.h"
#include "tilewright/collective/tcp/Wire.h"
#include "tilewright/support/Concat.h"

#include <sched.h>

namespace tilewright::collective::tcp {

using namespace std::chrono_literals;

namespace {

class TcpDriver final : public Driver {
public:
  TcpDriver(TcpEngine::Wire &wire, int64_t rank)
      : Driver(rank, wire.options.patience, wire.failure), wire(wire) {}

  void fail(std::string text) override { wire.mesh->fail(std::move(text)); }
  void leave(int64_t run) override { wire.mesh->leaveRun(rank(), run); }

private:
  /// In tries without a success. A try costs a system call or two.
  static constexpr uint64_t spinning = 300;

  std::unique_ptr<Operation> begin(Lane &lane, const Turn &turn) override {
    return makeExchange(*wire.mesh, lane, turn);
  }
  bool isPatient(uint64_t round) const override {
    return round >= (wire.options.canSpin ? spinning : 2);
  }
  void say(std::string_view where, bool isLong) override {
    if (isLong)
      wire.mesh->say(rank(), where);
  }
  void settle() override {}
  void rise() override {}
  void idle(uint64_t round) override { wire.mesh->progress(isPatient(round) ? 10ms : 0ms); }
  std::optional<std::string> lookAround(const Lane &lane, const Operation *operation,
                                        int64_t run) override {
    for (size_t i = 0; operation && i < lane.members.size(); ++i) {
      const int64_t other = lane.members[i];
      if (i == lane.mine || !operation->isMissing(i))
        continue;
      if (wire.mesh->hasSaidGoodbye(other))
        return concat("rank ", other, ", which has left the job");
      if (wire.mesh->leftRunOf(other) >= run)
        return concat("rank ", other, ", which has left the run");
    }
    return std::nullopt;
  }
  std::string whereIs(int64_t rank) override { return wire.mesh->whereIs(rank); }
  void wakeHelper() override {
    if (wire.options.hasHelper)
      wire.helper->wake();
  }

  TcpEngine::Wire &wire;
};

} // namespace

Result<std::shared_ptr<TcpEngine::Wire>>
TcpEngine::Wire::create(const Membership &membership, KeyValueStore &store,
                        const TcpEngine::Options &options) {
  auto wire = std::make_shared<Wire>(membership, options);
  TILEWRIGHT_ASSIGN(
      wire->mesh,
      Mesh::connect(membership, store, {options.address, options.connectPatience}, wire->failure));
  for (int64_t rank : membership.ranksOf(membership.process))
    wire->drivers[rank] = std::make_unique<TcpDriver>(*wire, rank);
  wire->helper = std::make_unique<Helper>(
      [wire = wire.get()] {
        bool isMore = false;
        for (auto &[rank, driver] : wire->drivers)
          isMore |= driver->help();
        return isMore;
      },
      [wire = wire.get()] { wire->mesh->progress(2ms); });
  return wire;
}

TcpEngine::TcpEngine(std::shared_ptr<Wire> wire) : shared(std::move(wire)) {}
TcpEngine::~TcpEngine() = default;
Traffic TcpEngine::traffic() { return shared->mesh->traffic(); }

Result<std::unique_ptr<TcpEngine>>
TcpEngine::connect(const Membership &membership, KeyValueStore &store, const Options &options) {
  TILEWRIGHT_ASSIGN(std::shared_ptr<Wire> wire, Wire::create(membership, store, options));
  return std::unique_ptr<TcpEngine>(new TcpEngine(std::move(wire)));
}

Result<std::unique_ptr<Communicator>> TcpEngine::join(const Seat &seat) {
  const int64_t rank =
      seat.members.empty() ? seat.rank : seat.members[static_cast<size_t>(seat.rank)];
  auto found = shared->drivers.find(rank);
  if (found == shared->drivers.end())
    return Status(Error::collectiveGroups,
                  concat("rank ", rank, " does not live in process ", shared->membership.process));
  return std::unique_ptr<Communicator>(std::make_unique<DrivenRank>(seat, *found->second, shared));
}

} // namespace tilewright::collective::tcp
