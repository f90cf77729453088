// Connection: frames of bytes between two processes.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_CONNECTION_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_CONNECTION_H

#include "tilewright/collective/Connecting.h"

#include <span>

namespace tilewright::collective::membership {

/// What a frame carries.
enum class Cargo : uint8_t { message, note };

/// Nothing here waits. One thread uses it.
class Connection {
public:
  Connection(size_t place, bool isOfThisHost, int socket);
  const size_t place;
  /// Its end is that of the other process.
  const bool isOfThisHost;

  int socket() const { return descriptor.get(); }
  bool isIdle() const { return outgoing.empty(); }
  void send(Cargo cargo, std::span<const std::byte> bytes);
  /// Sends what the socket takes.
  void flush();
  /// Gives all frames that have come to `take`.
  using Take = std::function<void(Cargo, std::span<const std::byte>)>;
  enum class State { open, ended, broken }; // ended: and all that was sent has been taken
  State receive(const Take &take);

private:
  const Descriptor descriptor;
  std::vector<std::byte> outgoing, incoming;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_CONNECTION_H
