// Address: where a process listens, as others write it and reach it.
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

/// Of numbers, IPv4 or IPv6; nothing if they are none.
std::optional<Address> parseAddress(const std::string &host, const std::string &port);
/// A socket of this host that has no name in the file system; names are those of its network
/// namespace.
Address localAddress(const std::string &name);
/// An address of this host that others may reach: not loopback, if there is one.
std::string addressOfThisHost();

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_ADDRESS_H
