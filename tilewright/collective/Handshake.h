// Handshake: the first messages that two processes of a job exchange when they connect.
#ifndef TILEWRIGHT_COLLECTIVE_HANDSHAKE_H
#define TILEWRIGHT_COLLECTIVE_HANDSHAKE_H

#include "tilewright/collective/Address.h"
#include "tilewright/collective/Connecting.h"

namespace tilewright::collective {

/// The first bytes on a connection, in each direction. The secret is distributed through the
/// key-value store, so a process without access to the store cannot connect.
struct Hello {
  uint64_t magic = 0; // identifies the protocol of the connection
  uint64_t secret = 0, epoch = 0;
  int64_t process = 0;
  uint64_t isWelcome = 1;
};
bool sendHello(int socket, const Hello &hello);
/// False if the received bytes are not a hello with the magic of `hello`.
bool receiveHello(int socket, Hello &hello, Deadline deadline);

uint64_t newSecret();

/// Opens a listening socket at `address` and updates `address` to the actual one. `what` names the
/// call in error messages.
Result<int> listenAt(Address &address, const std::string &what);
/// Listens at a numeric address and any free port; an empty address means an address of this host.
struct Listener {
  int socket = -1;
  std::string place; // "10.0.0.1 4711"
};
Result<Listener> listenOn(const std::string &address);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_HANDSHAKE_H
