#include "tilewright/collective/membership/Connection.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace tilewright::collective::membership {

namespace {
struct Head {
  uint32_t bytes; // that follow
  uint32_t cargo;
};
/// Larger than any frame that we send; a larger length means that the peer uses another protocol.
constexpr uint32_t maxBytes = 64 << 20;
} // namespace

Connection::Connection(size_t place, bool isOfThisHost, int socket)
    : place(place), isOfThisHost(isOfThisHost), descriptor(socket) {
  const int on = 1;
  if (!isOfThisHost)
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

void Connection::send(Cargo cargo, std::span<const std::byte> bytes) {
  const Head head = {static_cast<uint32_t>(bytes.size()), static_cast<uint32_t>(cargo)};
  const auto *from = reinterpret_cast<const std::byte *>(&head);
  outgoing.insert(outgoing.end(), from, from + sizeof head);
  outgoing.insert(outgoing.end(), bytes.begin(), bytes.end());
}

void Connection::flush() {
  size_t done = 0;
  while (done < outgoing.size()) {
    const ssize_t count =
        ::send(socket(), outgoing.data() + done, outgoing.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno != EAGAIN)
      done = outgoing.size(); // drop; receive() reports the end after all data
    if (count <= 0)
      break;
    done += static_cast<size_t>(count);
  }
  outgoing.erase(outgoing.begin(), outgoing.begin() + static_cast<std::ptrdiff_t>(done));
}

Connection::State Connection::receive(const Take &take) {
  State state = State::open;
  while (true) {
    std::byte buffer[16384];
    const ssize_t count = recv(socket(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      // Between processes of one host, ECONNRESET means that the peer ended before it read all our
      // data. The kernel reports it after all data that the peer sent.
      if (count == 0 || errno == ECONNRESET)
        state = State::ended;
      else if (errno != EAGAIN)
        state = State::broken;
      break;
    }
    incoming.insert(incoming.end(), buffer, buffer + count);
  }
  size_t done = 0;
  while (incoming.size() - done >= sizeof(Head)) {
    Head head;
    std::memcpy(&head, incoming.data() + done, sizeof head);
    if (head.bytes > maxBytes || head.cargo > static_cast<uint32_t>(Cargo::note))
      return State::broken; // the peer is not a process of this job
    if (incoming.size() - done - sizeof head < head.bytes)
      break;
    take(static_cast<Cargo>(head.cargo),
         std::span(incoming.data() + done + sizeof head, head.bytes));
    done += sizeof head + head.bytes;
  }
  incoming.erase(incoming.begin(), incoming.begin() + static_cast<std::ptrdiff_t>(done));
  return state;
}

} // namespace tilewright::collective::membership
