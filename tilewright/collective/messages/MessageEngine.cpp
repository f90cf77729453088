#include "tilewright/collective/messages/MessageEngine.h"
#include "tilewright/collective/messages/Exchange.h"
#include "tilewright/support/Concat.h"

namespace tilewright::collective::messages {

using namespace std::chrono_literals;

class MessageEngine::Wire {
public:
  Wire(const Membership &membership, const Options &options)
      : membership(membership), options(options) {}

  const Membership membership;
  const Options options;
  FailureBox failure;
  std::unique_ptr<Messages> messages;
  std::map<int64_t, std::unique_ptr<Driver>> drivers;
  std::unique_ptr<Helper> helper; // ends before what it helps
};

namespace {

class MessageDriver final : public Driver {
public:
  MessageDriver(Messages &messages, int64_t rank, const MessageEngine::Options &options,
                FailureBox &failure, std::function<void()> askForHelp)
      : Driver(rank, options.patience, failure), messages(messages), canSpin(options.canSpin),
        askForHelp(std::move(askForHelp)) {}

  void fail(std::string text) override { messages.fail(std::move(text)); }
  void leave(int64_t run) override { messages.leaveRun(rank(), run); }

private:
  /// In tries without a success. A try costs a system call or two.
  static constexpr uint64_t spinning = 300;

  std::unique_ptr<Operation> begin(Lane &lane, const Turn &turn) override {
    return makeExchange(messages, lane, turn);
  }
  bool isPatient(uint64_t round) const override { return round >= (canSpin ? spinning : 2); }
  void say(std::string_view where, bool isLong) override {
    if (isLong)
      messages.say(rank(), where);
  }
  void settle() override {}
  void rise() override {}
  void idle(uint64_t round) override { messages.progress(isPatient(round) ? 10ms : 0ms); }
  std::optional<std::string> lookAround(const Lane &lane, const Operation *operation,
                                        int64_t run) override {
    return messages.whoNeverComes(lane, operation, run);
  }
  std::string whereIs(int64_t rank) override { return messages.whereIs(rank); }
  void wakeHelper() override { askForHelp(); }

  Messages &messages;
  const bool canSpin;
  const std::function<void()> askForHelp;
};

} // namespace

Result<std::shared_ptr<MessageEngine::Wire>>
MessageEngine::connect(const Membership &membership, const Options &options, const Carry &carry) {
  auto wire = std::make_shared<Wire>(membership, options);
  TILEWRIGHT_ASSIGN(wire->messages, carry(wire->failure));
  for (int64_t rank : membership.ranksOf(membership.process))
    wire->drivers[rank] = std::make_unique<MessageDriver>(*wire->messages, rank, options,
                                                          wire->failure, [wire = wire.get()] {
                                                            if (wire->options.hasHelper)
                                                              wire->helper->wake();
                                                          });
  wire->helper = std::make_unique<Helper>(
      [wire = wire.get()] {
        bool isMore = false;
        for (auto &[rank, driver] : wire->drivers)
          isMore |= driver->help();
        return isMore;
      },
      [wire = wire.get()] { wire->messages->progress(2ms); });
  return wire;
}

MessageEngine::MessageEngine(std::shared_ptr<Wire> wire) : shared(std::move(wire)) {}
MessageEngine::~MessageEngine() = default;
void MessageEngine::revoke(const std::string &why) { messages().fail(why); }
Traffic MessageEngine::traffic() { return shared->messages->traffic(); }
Messages &MessageEngine::messages() { return *shared->messages; }

Result<std::unique_ptr<Communicator>> MessageEngine::join(const Seat &seat) {
  const int64_t rank =
      seat.members.empty() ? seat.rank : seat.members[static_cast<size_t>(seat.rank)];
  auto found = shared->drivers.find(rank);
  if (found == shared->drivers.end())
    return Status(Error::collectiveGroups,
                  concat("rank ", rank, " does not live in process ", shared->membership.process));
  return std::unique_ptr<Communicator>(std::make_unique<DrivenRank>(seat, *found->second, shared));
}

} // namespace tilewright::collective::messages
