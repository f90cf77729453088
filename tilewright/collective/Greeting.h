// Greeting: how two processes of a job know each other when they connect.
#ifndef TILEWRIGHT_COLLECTIVE_GREETING_H
#define TILEWRIGHT_COLLECTIVE_GREETING_H

#include "tilewright/collective/Address.h"
#include "tilewright/collective/Connecting.h"

namespace tilewright::collective {

/// The first bytes on a connection, each way. The secret comes through the key-value store, so
/// who does not see that is not let in.
struct Hello {
  uint64_t magic = 0; // what the connection is for
  uint64_t secret = 0, epoch = 0;
  int64_t process = 0;
  uint64_t isWelcome = 1;
};
bool sendHello(int socket, const Hello &hello);
/// False if something else comes than a hello with the magic that `hello` has.
bool receiveHello(int socket, Hello &hello, Deadline deadline);

uint64_t newSecret();

/// A socket that listens; the address is then where. `what` is said if that fails.
Result<int> listenAt(Address &address, const std::string &what);
/// The same at an address of numbers, empty for one of this host, and a port that is free.
struct Listener {
  int socket = -1;
  std::string place; // "10.0.0.1 4711"
};
Result<Listener> listenOn(const std::string &address);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_GREETING_H
