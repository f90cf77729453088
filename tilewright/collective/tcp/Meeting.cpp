// How the processes of a job find each other and connect.
#include "tilewright/collective/Address.h"
#include "tilewright/collective/Connecting.h"
#include "tilewright/collective/tcp/Mesh.h"
#include "tilewright/support/Concat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <random>
#include <sstream>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tilewright::collective::tcp {

using namespace std::chrono_literals;

namespace {

/// The first bytes on a connection, each way. The secret comes through the key-value store, so
/// who does not see that is not let in.
struct Hello {
  static constexpr uint64_t right = 0x31'70'63'74'77'6c'69'74; // "tilwtcp1"
  uint64_t magic = right, secret = 0, epoch = 0;
  int64_t process = 0;
  uint64_t isWelcome = 1;
};

bool sendAll(int socket, const Hello &hello, Deadline deadline) {
  const auto *bytes = reinterpret_cast<const std::byte *>(&hello);
  for (size_t done = 0; done < sizeof hello;) {
    if (!awaitEvent(socket, POLLOUT, deadline))
      return false;
    const ssize_t count = ::send(socket, bytes + done, sizeof hello - done, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR)
      return false;
    done += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return true;
}

bool receiveAll(int socket, Hello &hello, Deadline deadline) {
  auto *bytes = reinterpret_cast<std::byte *>(&hello);
  for (size_t done = 0; done < sizeof hello;) {
    if (!awaitEvent(socket, POLLIN, deadline))
      return false;
    const ssize_t count = recv(socket, bytes + done, sizeof hello - done, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
      return false;
    done += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  return hello.magic == Hello::right;
}

void prepare(int socket) {
  const int on = 1, bytes = 4 << 20;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

} // namespace

class Meeting {
public:
  Meeting(Mesh &mesh, KeyValueStore &store, const Mesh::Options &options)
      : mesh(mesh), membership(mesh.membership), store(store), options(options),
        deadline(after(options.connectPatience)) {}
  Status run();

private:
  std::string keyOf(int64_t process) const {
    return concat(membership.job, "/tcp/", membership.epoch, "/", process);
  }
  std::string ranks(int64_t process) const { return membership.ranksText(process); }
  Status listen();
  Status connectTo(Mesh::Link &link);
  Status acceptOne();
  Status nobodyDied() const;

  Mesh &mesh;
  const Membership &membership;
  KeyValueStore &store;
  const Mesh::Options &options;
  const Deadline deadline;
  int listening = -1;
  uint64_t secret = 0;
};

Status Meeting::listen() {
  const std::string host = options.address.empty() ? addressOfThisHost() : options.address;
  std::optional<Address> address = parseAddress(host, "0");
  if (!address)
    return Status(Error::ranksNotConnected, concat("'", host, "' is not the number of an address"));
  listening = ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listening < 0)
    return systemFailure("socket");
  if (bind(listening, reinterpret_cast<sockaddr *>(&address->storage), address->length) != 0 ||
      ::listen(listening, 512) != 0)
    return systemFailure(concat("listening on ", host));
  getsockname(listening, reinterpret_cast<sockaddr *>(&address->storage), &address->length);
  char name[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<sockaddr *>(&address->storage), address->length, name,
                  sizeof name, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return systemFailure("getnameinfo");
  std::random_device random;
  secret = (uint64_t(random()) << 32) | random();
  return store.put(keyOf(membership.process), concat(name, " ", port, " ", secret));
}

/// A connection on which something comes, or that ends, before all are there has lost its other
/// end.
Status Meeting::nobodyDied() const {
  for (const auto &link : mesh.links) {
    char byte;
    if (link->socket >= 0 && recv(link->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
      return Status(Error::ranksNotConnected,
                    concat(ranks(link->process), " (process ", link->process, " at ", link->address,
                           ") ended while the others were connecting"));
  }
  return Status();
}

Status Meeting::connectTo(Mesh::Link &link) {
  const std::string key = keyOf(link.process);
  TILEWRIGHT_ASSIGN(const std::string value, awaitNote(store, key, membership, link.process,
                                                       deadline, [&] { return nobodyDied(); }));
  std::istringstream parts(value);
  std::string host, port;
  Hello hello;
  parts >> host >> port >> hello.secret;
  link.address = concat(host, ":", port);
  std::optional<Address> address = parseAddress(host, port);
  if (!address || !parts)
    return Status(Error::ranksNotConnected,
                  concat("'", value, "' under '", key, "' is not an address"));
  Descriptor socket(
      ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0)
    return systemFailure("socket");
  prepare(socket.get());
  auto unreachable = [&](int reason) {
    return Status(Error::ranksNotConnected,
                  concat(ranks(link.process), " cannot be reached at ", link.address, " (",
                         std::strerror(reason),
                         "): its process has ended, has gone on with another epoch, or the "
                         "address is not one that this host can reach"));
  };
  if (::connect(socket.get(), reinterpret_cast<sockaddr *>(&address->storage), address->length) !=
      0) {
    if (errno != EINPROGRESS)
      return unreachable(errno);
    int error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (awaitEvent(socket.get(), POLLOUT, deadline))
      getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0)
      return unreachable(error);
  }
  hello.epoch = membership.epoch;
  hello.process = membership.process;
  Hello answer;
  if (!sendAll(socket.get(), hello, deadline) || !receiveAll(socket.get(), answer, deadline))
    return Status(Error::ranksNotConnected,
                  concat(ranks(link.process), " was reached at ", link.address,
                         " but did not answer; its process has ended or hangs"));
  if (!answer.isWelcome)
    return fenced(membership, link.process, answer.epoch);
  link.socket = socket.release();
  return Status();
}

Status Meeting::acceptOne() {
  while (!awaitEvent(listening, POLLIN, std::min(deadline, after(20ms)))) {
    TILEWRIGHT_TRY(nobodyDied());
    if (std::chrono::steady_clock::now() >= deadline) {
      std::vector<int64_t> missing;
      for (const auto &link : mesh.links)
        if (link->socket < 0)
          missing.push_back(link->process);
      return waitedInVain(membership, missing);
    }
  }
  sockaddr_storage from = {};
  socklen_t length = sizeof from;
  Descriptor socket(accept4(listening, reinterpret_cast<sockaddr *>(&from), &length, SOCK_CLOEXEC));
  if (socket.get() < 0)
    return Status();
  prepare(socket.get());
  // A stranger, or one that says nothing, does not keep the others waiting for long.
  Hello hello;
  if (!receiveAll(socket.get(), hello, std::min(deadline, after(1s))) || hello.secret != secret)
    return Status();
  Hello answer;
  answer.epoch = membership.epoch;
  answer.process = membership.process;
  for (auto &link : mesh.links)
    if (link->process == hello.process && link->socket < 0 && hello.epoch == membership.epoch) {
      char name[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
      (void)getnameinfo(reinterpret_cast<sockaddr *>(&from), length, name, sizeof name, port,
                        sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
      link->address = concat(name, ":", port);
      if (!sendAll(socket.get(), answer, deadline))
        return systemFailure("answering");
      link->socket = socket.release();
      return Status();
    }
  answer.isWelcome = 0; // not of this epoch: it is told ours and nothing else
  (void)sendAll(socket.get(), answer, std::min(deadline, after(1s)));
  return Status();
}

Status Meeting::run() {
  TILEWRIGHT_TRY(listen());
  Descriptor owner(listening);
  // To those before us; those after us come. The first waits for nobody, so there is no circle.
  for (auto &link : mesh.links)
    if (link->process < membership.process)
      TILEWRIGHT_TRY(connectTo(*link));
  auto isMissing = [](const auto &link) { return link->socket < 0; };
  while (std::any_of(mesh.links.begin(), mesh.links.end(), isMissing))
    TILEWRIGHT_TRY(acceptOne());
  for (auto &link : mesh.links)
    mesh.watch(*link);
  return Status();
}

Result<std::unique_ptr<Mesh>> Mesh::connect(const Membership &membership, KeyValueStore &store,
                                            const Options &options, FailureBox &failure) {
  std::unique_ptr<Mesh> mesh(new Mesh(membership, failure));
  mesh->poller = epoll_create1(EPOLL_CLOEXEC);
  mesh->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (mesh->poller < 0 || mesh->bell < 0)
    return systemFailure("epoll_create1");
  epoll_event event = {};
  event.events = EPOLLIN;
  epoll_ctl(mesh->poller, EPOLL_CTL_ADD, mesh->bell, &event);
  for (int64_t process : membership.processes())
    if (process != membership.process) {
      mesh->links.push_back(std::make_unique<Link>());
      Link &link = *mesh->links.back();
      link.process = process;
      link.buffer.resize(Mesh::bufferBytes);
      mesh->linkOf[process] = &link;
    }
  TILEWRIGHT_TRY(Meeting(*mesh, store, options).run());
  return mesh;
}

} // namespace tilewright::collective::tcp
