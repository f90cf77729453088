#include "tilewright/collective/Handshake.h"
#include "tilewright/support/Concat.h"

#include <cerrno>
#include <netdb.h>
#include <poll.h>
#include <random>
#include <sys/socket.h>

namespace tilewright::collective {

bool sendHello(int socket, const Hello &hello) {
  // One send suffices: the hello fits into the empty send buffer of a new connection.
  return ::send(socket, &hello, sizeof hello, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof hello;
}

bool receiveHello(int socket, Hello &hello, Deadline deadline) {
  Hello read;
  auto *bytes = reinterpret_cast<std::byte *>(&read);
  for (size_t done = 0; done < sizeof read;) {
    if (!awaitEvent(socket, POLLIN, deadline))
      return false;
    const ssize_t count = recv(socket, bytes + done, sizeof read - done, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    done += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  if (read.magic != hello.magic)
    return false;
  hello = read;
  return true;
}

uint64_t newSecret() {
  std::random_device random;
  return (uint64_t(random()) << 32) | random();
}

Result<int> listenAt(Address &address, const std::string &what) {
  Descriptor made(
      ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.get() < 0)
    return systemFailure("socket");
  if (bind(made.get(), address.raw(), address.length) != 0 || ::listen(made.get(), 512) != 0)
    return systemFailure(what);
  if (address.storage.ss_family != AF_UNIX)
    getsockname(made.get(), address.raw(), &address.length);
  return made.release();
}

Result<Listener> listenOn(const std::string &address) {
  const std::string host = address.empty() ? addressOfThisHost() : address;
  std::optional<Address> parsed = parseAddress(host, "0");
  if (!parsed)
    return Status(Error::ranksNotConnected, concat("'", host, "' is not a numeric IP address"));
  TILEWRIGHT_ASSIGN(const int made, listenAt(*parsed, concat("listening on ", host)));
  Descriptor owner(made);
  char name[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(parsed->raw(), parsed->length, name, sizeof name, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return systemFailure("getnameinfo");
  return Listener{owner.release(), concat(name, " ", port)};
}

} // namespace tilewright::collective
