// MessageEngine: collectives over anything that carries messages.
#ifndef TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEENGINE_H
#define TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEENGINE_H

#include "tilewright/collective/messages/Messages.h"

namespace tilewright::collective::messages {

/// Each rank sends each other what that needs of its operand, and nothing else. Sums are taken in
/// the order of the group as the bytes come. An all_reduce of more than two ranks and more than a
/// few bytes is shared out: a rank gets its share of everybody's operand, and sends its share of
/// the result to everybody. That is 2 (n - 1) / n of the tensor a rank, as a ring needs, in two
/// steps.
///
/// A process that dies ends its connection, and those who wait notice at once; one that stops, or
/// cannot be reached any more, runs into their deadline. Then the engine has failed for good.
/// Thread-safe.
class MessageEngine : public Engine {
public:
  struct Options {
    std::chrono::nanoseconds patience = std::chrono::seconds(120);
    /// Push started collectives on by a thread while the rank computes.
    bool hasHelper = true;
    /// Poll before sleeping; for ranks that have a core of their own.
    bool canSpin = true;
  };
  /// Connects the carrier: it says what goes wrong later through the box.
  using Carry = std::function<Result<std::unique_ptr<Messages>>(FailureBox &)>;
  ~MessageEngine() override;

  Result<std::unique_ptr<Communicator>> join(const Seat &seat) override;
  void revoke(const std::string &why) override;
  /// What this process has sent to others.
  Traffic traffic();
  Messages &messages();

protected:
  class Wire; // what the ranks of a process share; MessageEngine.cpp
  static Result<std::shared_ptr<Wire>> connect(const Membership &membership, const Options &options,
                                               const Carry &carry);
  explicit MessageEngine(std::shared_ptr<Wire> wire);

private:
  const std::shared_ptr<Wire> shared;
};

} // namespace tilewright::collective::messages

#endif // TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEENGINE_H
