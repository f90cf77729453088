// TcpEngine: collectives between processes that share no memory.
#ifndef TILEWRIGHT_COLLECTIVE_TCP_TCPENGINE_H
#define TILEWRIGHT_COLLECTIVE_TCP_TCPENGINE_H

#include "tilewright/collective/Driver.h"
#include "tilewright/collective/tcp/Mesh.h"

namespace tilewright::collective::tcp {

/// Each rank sends each other what that needs of its operand, and nothing else. Sums are taken in
/// the order of the group as the bytes come. An all_reduce of more than two ranks and more than a
/// few bytes is shared out: a rank gets its share of everybody's operand, and sends its share of
/// the result to everybody. That is 2 (n - 1) / n of the tensor a rank, as a ring needs, in two
/// steps.
///
/// A process that dies ends its connection, and those who wait notice at once; one that stops, or
/// cannot be reached any more, runs into their deadline. Then the engine has failed for good.
/// Thread-safe.
class TcpEngine final : public Engine {
public:
  struct Options {
    std::string address; // as Mesh::Options
    std::chrono::nanoseconds patience = std::chrono::seconds(120);
    std::chrono::nanoseconds connectPatience = std::chrono::seconds(60);
    /// Push started collectives on by a thread while the rank computes.
    bool hasHelper = true;
    /// Poll before sleeping; for ranks that have a core of their own.
    bool canSpin = true;
  };
  ///  - ranksNotConnected (E6032), rankFenced (E6033)
  static Result<std::unique_ptr<TcpEngine>> connect(const Membership &membership,
                                                    KeyValueStore &store, const Options &options);
  ~TcpEngine() override;

  Result<std::unique_ptr<Communicator>> join(const Seat &seat) override;
  /// What this process has sent to others.
  Traffic traffic();

  class Wire; // what the ranks of a process share; TcpEngine.cpp
  Wire &wire() { return *shared; }

private:
  explicit TcpEngine(std::shared_ptr<Wire> wire);
  const std::shared_ptr<Wire> shared;
};

} // namespace tilewright::collective::tcp

#endif // TILEWRIGHT_COLLECTIVE_TCP_TCPENGINE_H
