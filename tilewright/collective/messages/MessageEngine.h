// MessageEngine: collectives over any message transport.
#ifndef TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEENGINE_H
#define TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEENGINE_H

#include "tilewright/collective/messages/Messages.h"

namespace tilewright::collective::messages {

/// An engine in which each rank sends to each peer only the part of its operand that the peer
/// needs. Ranks reduce in group order, as bytes arrive. An all_reduce of one large tensor is split:
/// each rank receives its share of all operands and sends its share of the result to all others.
/// With n ranks each sends 2 (n - 1) / n times the size of the tensor, as in a ring, but in two
/// steps.
///
/// If a process dies, its connection ends and waiting peers notice at once. If it stops or becomes
/// unreachable, its peers time out. Either failure is final for the engine. Thread-safe.
class MessageEngine : public Engine {
public:
  struct Options {
    std::chrono::nanoseconds timeout = std::chrono::seconds(120);
    /// Whether to run a progress thread that advances started collectives while the rank computes.
    bool hasProgressThread = true;
    /// Whether to poll before sleeping, for ranks that have their own core.
    bool canSpin = true;
  };
  /// Connects the transport, which reports later failures through the FailureBox.
  using Carry = std::function<Result<std::unique_ptr<Messages>>(FailureBox &)>;
  ~MessageEngine() override;

  Result<std::unique_ptr<Communicator>> join(const RunMembership &own) override;
  void revoke(const std::string &why) override;
  /// Bytes that this process has sent to other processes.
  Traffic traffic();
  Messages &messages();

protected:
  class Wire; // state that the ranks of a process share; MessageEngine.cpp
  static Result<std::shared_ptr<Wire>> connect(const Membership &membership, const Options &options,
                                               const Carry &carry);
  explicit MessageEngine(std::shared_ptr<Wire> wire);

private:
  const std::shared_ptr<Wire> shared;
};

} // namespace tilewright::collective::messages

#endif // TILEWRIGHT_COLLECTIVE_MESSAGES_MESSAGEENGINE_H
