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
  std::map<int64_t, std::unique_ptr<ProgressEngine>> progressEngines;
  // Declared last, so that its thread ends before the progress engines are destroyed.
  std::unique_ptr<ProgressThread> progressThread;
};

namespace {

class MessageProgressEngine final : public ProgressEngine {
public:
  MessageProgressEngine(Messages &messages, int64_t rank, const MessageEngine::Options &options,
                        FailureBox &failure, std::function<void()> wakeThread)
      : ProgressEngine(rank, options.timeout, failure), messages(messages),
        canSpin(options.canSpin), wakeThread(std::move(wakeThread)) {}

  void fail(std::string text) override { messages.fail(std::move(text)); }
  void leave(int64_t run) override { messages.leaveRun(rank(), run); }

private:
  /// Attempts without progress before the rank sleeps. An attempt costs one or two system calls.
  static constexpr uint64_t spinning = 300;

  std::unique_ptr<Operation> begin(OrderedChannel &channel,
                                   const CollectiveRequest &request) override {
    return makeExchange(messages, channel, request);
  }
  bool isSleepRound(uint64_t round) const override { return round >= (canSpin ? spinning : 2); }
  void publishStatus(std::string_view status, bool isLong) override {
    if (isLong)
      messages.publishStatus(rank(), status);
  }
  void enterSleep() override {}
  void leaveSleep() override {}
  void backOff(uint64_t round) override { messages.progress(isSleepRound(round) ? 10ms : 0ms); }
  std::optional<std::string> pollPeers(const OrderedChannel &channel, const Operation *operation,
                                       int64_t run) override {
    return messages.departedMember(channel, operation, run);
  }
  std::string peerStatus(int64_t rank) override { return messages.peerStatus(rank); }
  void wakeProgressThread() override { wakeThread(); }

  Messages &messages;
  const bool canSpin;
  const std::function<void()> wakeThread;
};

} // namespace

Result<std::shared_ptr<MessageEngine::Wire>>
MessageEngine::connect(const Membership &membership, const Options &options, const Carry &carry) {
  auto wire = std::make_shared<Wire>(membership, options);
  TILEWRIGHT_ASSIGN(wire->messages, carry(wire->failure));
  for (int64_t rank : membership.ranksOf(membership.process))
    wire->progressEngines[rank] = std::make_unique<MessageProgressEngine>(
        *wire->messages, rank, options, wire->failure, [wire = wire.get()] {
          if (wire->options.hasProgressThread)
            wire->progressThread->wake();
        });
  wire->progressThread = std::make_unique<ProgressThread>(
      [wire = wire.get()] {
        bool isMore = false;
        for (auto &[rank, engine] : wire->progressEngines)
          isMore |= engine->progress();
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

Result<std::unique_ptr<Communicator>> MessageEngine::join(const RunMembership &own) {
  const int64_t rank = own.members.empty() ? own.rank : own.members[static_cast<size_t>(own.rank)];
  auto found = shared->progressEngines.find(rank);
  if (found == shared->progressEngines.end())
    return Status(Error::collectiveGroups,
                  concat("rank ", rank, " is not in process ", shared->membership.process));
  return std::unique_ptr<Communicator>(std::make_unique<ProgressRank>(own, *found->second, shared));
}

} // namespace tilewright::collective::messages
