// Address: a socket address that a process listens on, as text and as bytes.
#ifndef TILEWRIGHT_COLLECTIVE_ADDRESS_H
#define TILEWRIGHT_COLLECTIVE_ADDRESS_H

#include <optional>
#include <string>
#include <sys/socket.h>

namespace tilewright::collective {

struct Address {
  sockaddr_storage storage = {};
  socklen_t length = 0;

  const sockaddr *raw() const { return reinterpret_cast<const sockaddr *>(&storage); }
  sockaddr *raw() { return reinterpret_cast<sockaddr *>(&storage); }
};

/// Parses a numeric IPv4 or IPv6 address and a numeric port, without name lookup. Empty if either
/// is malformed.
std::optional<Address> parseAddress(const std::string &host, const std::string &port);
/// An abstract Unix socket address: it has no entry in the file system and is visible within this
/// host's network namespace only.
Address localAddress(const std::string &name);
/// An IPv4 address at which other hosts can reach this host: the address of the first interface
/// that is up and not loopback, or 127.0.0.1 if no such interface exists.
std::string addressOfThisHost();

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_ADDRESS_H
