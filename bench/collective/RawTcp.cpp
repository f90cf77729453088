// Times a bare TCP connection, as a baseline for bench/collective:
//
//   bench_rawtcp listen ADDRESS        on one host
//   bench_rawtcp connect ADDRESS       on the other
//
// Prints, one line per size, the microseconds to send that many bytes in both directions at once;
// for the smallest size this is half of a round trip.
#include "bench/collective/Measure.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

static int connection(bool isListening, const char *address) {
  sockaddr_in where = {};
  where.sin_family = AF_INET;
  where.sin_port = htons(18515);
  inet_pton(AF_INET, address, &where.sin_addr);
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1, bytes = 4 << 20;
  if (isListening) {
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(socket, reinterpret_cast<sockaddr *>(&where), sizeof where) != 0 ||
        listen(socket, 1) != 0)
      return -1;
    socket = accept(socket, nullptr, nullptr);
  } else {
    int tries = 0;
    while (connect(socket, reinterpret_cast<sockaddr *>(&where), sizeof where) != 0) {
      if (++tries == 200)
        return -1;
      close(socket);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      socket = ::socket(AF_INET, SOCK_STREAM, 0);
    }
  }
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  fcntl(socket, F_SETFL, O_NONBLOCK);
  return socket;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 1;
  const bool isListening = std::string(argv[1]) == "listen";
  const int socket = connection(isListening, argv[2]);
  if (socket < 0) {
    std::perror("connection");
    return 1;
  }
  for (size_t bytes : bench::sizes) {
    std::vector<char> in(bytes), out(bytes, 1);
    bool isBroken = false;
    const double time = bench::medianMicroseconds(bytes, [&] {
      size_t sent = 0, received = 0;
      while ((sent < bytes || received < bytes) && !isBroken) {
        bool hasMoved = false;
        if (sent < bytes) {
          const ssize_t count = send(socket, out.data() + sent, bytes - sent, MSG_NOSIGNAL);
          if (count > 0)
            sent += static_cast<size_t>(count), hasMoved = true;
          else if (errno != EAGAIN)
            isBroken = true;
        }
        if (received < bytes) {
          const size_t most = std::min<size_t>(bytes - received, 512 << 10);
          const ssize_t count = recv(socket, in.data() + received, most, 0);
          if (count > 0)
            received += static_cast<size_t>(count), hasMoved = true;
          else if (count == 0 || errno != EAGAIN)
            isBroken = true;
        }
        if (!hasMoved && bytes > 1024 && !isBroken) {
          pollfd poll = {socket, static_cast<short>(POLLIN | (sent < bytes ? POLLOUT : 0)), 0};
          ::poll(&poll, 1, 100);
        }
      }
    });
    if (isBroken)
      return 1;
    std::printf("%zu %.4f\n", bytes, time);
  }
}
