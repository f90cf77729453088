#include "tilewright/collective/Address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstddef>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/un.h>

namespace tilewright::collective {

std::optional<Address> parseAddress(const std::string &host, const std::string &port) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0 || !found)
    return std::nullopt;
  Address address;
  address.length = found->ai_addrlen;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

Address localAddress(const std::string &name) {
  Address address;
  auto &local = reinterpret_cast<sockaddr_un &>(address.storage);
  local.sun_family = AF_UNIX;
  // An abstract Unix socket name: the first byte stays zero.
  const size_t length = std::min(name.size(), sizeof local.sun_path - 1);
  std::memcpy(local.sun_path + 1, name.data(), length);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

std::string addressOfThisHost() {
  ifaddrs *all = nullptr;
  std::string found = "127.0.0.1";
  if (getifaddrs(&all) != 0)
    return found;
  for (ifaddrs *each = all; each; each = each->ifa_next)
    if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET && (each->ifa_flags & IFF_UP) &&
        !(each->ifa_flags & IFF_LOOPBACK)) {
      char text[INET_ADDRSTRLEN];
      inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in *>(each->ifa_addr)->sin_addr, text,
                sizeof text);
      found = text;
      break;
    }
  freeifaddrs(all);
  return found;
}

} // namespace tilewright::collective
