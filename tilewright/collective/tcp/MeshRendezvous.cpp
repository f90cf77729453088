// The rendezvous in which the processes of a job connect to each other over TCP.
#include "tilewright/collective/Handshake.h"
#include "tilewright/collective/tcp/Mesh.h"
#include "tilewright/support/Concat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sstream>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tilewright::collective::tcp {

using namespace std::chrono_literals;

namespace {

constexpr uint64_t magic = 0x31'70'63'74'77'6c'69'74; // "tilwtcp1"

void prepare(int socket) {
  const int on = 1, bytes = 4 << 20;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

} // namespace

class MeshRendezvous {
public:
  MeshRendezvous(Mesh &mesh, KeyValueStore &store, const Mesh::Options &options)
      : mesh(mesh), membership(mesh.membership), store(store), options(options),
        deadline(after(options.connectTimeout)),
        rendezvous(membership, store, deadline, [this] { return checkPeers(); }) {}
  Status run() {
    Status status = connectAll();
    // Publish the reason before the listener is closed, so that a rejected peer finds it. Peers
    // that are connected to all processes no longer read the store, so notify them with
    // mesh.fail().
    if (!status.isOk()) {
      status = rendezvous.giveUp(std::move(status));
      mesh.fail(concat(ranks(membership.process), " gave up connecting: ", status.message()));
    }
    Descriptor owner(listening);
    return status;
  }

private:
  std::string keyOf(int64_t process) const {
    return concat(membership.job, "/tcp/", membership.epoch, "/", process);
  }
  std::string ranks(int64_t process) const { return membership.ranksText(process); }
  Status connectAll();
  Status listen();
  Status connectTo(Mesh::Link &link);
  Status acceptOne();
  Status checkPeers();

  Mesh &mesh;
  const Membership &membership;
  KeyValueStore &store;
  const Mesh::Options &options;
  const Deadline deadline;
  Rendezvous rendezvous;
  int listening = -1;
  uint64_t secret = 0;
};

Status MeshRendezvous::listen() {
  TILEWRIGHT_ASSIGN(const Listener listener, listenOn(options.address));
  listening = listener.socket;
  secret = newSecret();
  return store.put(keyOf(membership.process), concat(listener.place, " ", secret));
}

/// Fails if a connected peer has failed. The peer may have connected to all processes and started
/// already; then its messages contain the reason.
Status MeshRendezvous::checkPeers() {
  for (const auto &link : mesh.links) {
    if (link->socket < 0 || link->isGone)
      continue;
    while (mesh.drain(*link)) {
    }
    if (mesh.failure.isSet())
      return rendezvous.blame(
          link->process, Status(Error::ranksNotConnected,
                                concat("while the job was connecting, ", mesh.failure.text())));
  }
  return Status();
}

Status MeshRendezvous::connectTo(Mesh::Link &link) {
  const std::string key = keyOf(link.process);
  TILEWRIGHT_ASSIGN(const std::string value, rendezvous.note(key, link.process));
  std::istringstream parts(value);
  std::string host, port;
  Hello hello{magic};
  parts >> host >> port >> hello.secret;
  link.address = concat(host, ":", port);
  std::optional<Address> address = parseAddress(host, port);
  if (!address || !parts)
    return Status(Error::ranksNotConnected,
                  concat("key '", key, "' has value '", value, "', expected an address"));
  auto unreachable = [&](int reason) {
    return rendezvous.blame(
        link.process,
        Status(Error::ranksNotConnected, concat(ranks(link.process), " cannot be reached at ",
                                                link.address, " (", std::strerror(reason),
                                                "): its process has ended, has moved on to another "
                                                "epoch, or this host cannot reach the address")));
  };
  Descriptor socket;
  // The kernel retransmits a lost SYN only after a second, so a new attempt is faster.
  for (auto timeout = 100ms;; timeout *= 2) {
    socket.reset(
        ::socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.get() < 0)
      return systemFailure("socket");
    prepare(socket.get());
    if (::connect(socket.get(), address->raw(), address->length) == 0)
      break;
    if (errno != EINPROGRESS)
      return unreachable(errno);
    TILEWRIGHT_ASSIGN(const bool hasAnswered,
                      rendezvous.event(socket.get(), POLLOUT, {&link.process, 1}, after(timeout)));
    int error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (!hasAnswered && std::chrono::steady_clock::now() < deadline)
      continue;
    if (hasAnswered)
      getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0)
      return unreachable(error);
    break;
  }
  hello.epoch = membership.epoch;
  hello.process = membership.process;
  Hello answer{magic};
  auto silent = [&] {
    return rendezvous.blame(link.process,
                            Status(Error::ranksNotConnected,
                                   concat(ranks(link.process), " was reached at ", link.address,
                                          " but did not answer; its process has ended or hangs")));
  };
  if (!sendHello(socket.get(), hello))
    return silent();
  TILEWRIGHT_ASSIGN(const bool hasAnswered,
                    rendezvous.event(socket.get(), POLLIN, {&link.process, 1}));
  if (!hasAnswered || !receiveHello(socket.get(), answer, deadline))
    return silent();
  if (!answer.isWelcome)
    return fenced(membership, link.process, answer.epoch);
  link.socket = socket.release();
  return Status();
}

Status MeshRendezvous::acceptOne() {
  std::vector<int64_t> missing;
  for (const auto &link : mesh.links)
    if (link->socket < 0)
      missing.push_back(link->process);
  TILEWRIGHT_ASSIGN(const bool hasCome, rendezvous.event(listening, POLLIN, missing));
  if (!hasCome)
    return connectTimedOut(membership, missing);
  sockaddr_storage from = {};
  socklen_t length = sizeof from;
  Descriptor socket(accept4(listening, reinterpret_cast<sockaddr *>(&from), &length, SOCK_CLOEXEC));
  if (socket.get() < 0)
    return Status();
  prepare(socket.get());
  // A connection from outside the job, or one that sends nothing, delays all other connections by
  // at most one second.
  Hello hello{magic};
  if (!receiveHello(socket.get(), hello, std::min(deadline, after(1s))) || hello.secret != secret)
    return Status();
  Hello answer{magic};
  answer.epoch = membership.epoch;
  answer.process = membership.process;
  for (auto &link : mesh.links)
    if (link->process == hello.process && link->socket < 0 && hello.epoch == membership.epoch) {
      char name[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";
      (void)getnameinfo(reinterpret_cast<sockaddr *>(&from), length, name, sizeof name, port,
                        sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
      link->address = concat(name, ":", port);
      if (!sendHello(socket.get(), answer))
        return rendezvous.blame(
            link->process, Status(Error::ranksNotConnected,
                                  concat(ranks(link->process), " (process ", link->process, " at ",
                                         link->address, ") ended while the job was connecting")));
      link->socket = socket.release();
      return Status();
    }
  answer.isWelcome = 0; // another epoch: tell it ours and nothing else
  (void)sendHello(socket.get(), answer);
  return Status();
}

Status MeshRendezvous::connectAll() {
  TILEWRIGHT_TRY(listen());
  // Connect to lower processes and accept higher ones. No deadlock: the lowest process waits for
  // none.
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
  TILEWRIGHT_TRY(MeshRendezvous(*mesh, store, options).run());
  return mesh;
}

} // namespace tilewright::collective::tcp
