// Connection: length-prefixed frames between two processes.
#ifndef TILEWRIGHT_COLLECTIVE_MEMBERSHIP_CONNECTION_H
#define TILEWRIGHT_COLLECTIVE_MEMBERSHIP_CONNECTION_H

#include "tilewright/collective/Connecting.h"

#include <span>

namespace tilewright::collective::membership {

/// The type of a frame's content.
enum class Cargo : uint8_t { message, note };

/// A non-blocking connection. Only one thread may use it.
class Connection {
public:
  Connection(size_t place, bool isOfThisHost, int socket);
  const size_t place;
  /// Whether both processes are on this host; then the end of the connection proves that the peer
  /// process has ended.
  const bool isOfThisHost;

  int socket() const { return descriptor.get(); }
  bool isIdle() const { return outgoing.empty(); }
  void send(Cargo cargo, std::span<const std::byte> bytes);
  /// Sends as much as the socket accepts.
  void flush();
  /// Passes all complete frames that have arrived to `take`.
  using Take = std::function<void(Cargo, std::span<const std::byte>)>;
  /// ended: the peer closed the connection, and all data that it sent has been received.
  enum class State { open, ended, broken };
  State receive(const Take &take);

private:
  const Descriptor descriptor;
  std::vector<std::byte> outgoing, incoming;
};

} // namespace tilewright::collective::membership

#endif // TILEWRIGHT_COLLECTIVE_MEMBERSHIP_CONNECTION_H
