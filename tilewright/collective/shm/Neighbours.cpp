#include "tilewright/collective/shm/Neighbours.h"
#include "tilewright/collective/Address.h"
#include "tilewright/collective/Connecting.h"
#include "tilewright/collective/shm/Board.h"
#include "tilewright/support/Concat.h"

#include <cerrno>
#include <poll.h>
#include <random>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tilewright::collective::shm {

using namespace std::chrono_literals;

namespace {

/// The only message on a socket, in each direction. It carries the arena's descriptor if the sender
/// accepts the peer.
struct Hello {
  uint64_t magic = boardMagic, epoch = 0, bytes = 0;
  int64_t process = 0;
};

bool send(int socket, const Hello &hello, int descriptor) {
  iovec piece = {const_cast<Hello *>(&hello), sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof hello;
}

/// Waits for the peer's hello and returns its file descriptor, or -1 if it carried none. Empty if
/// no valid hello arrived.
std::optional<int> receive(int socket, Hello &hello, Deadline deadline) {
  if (!awaitEvent(socket, POLLIN, deadline))
    return std::nullopt;
  iovec piece = {&hello, sizeof hello};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof hello ||
      hello.magic != boardMagic)
    return std::nullopt;
  int descriptor = -1;
  for (cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
      std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return descriptor;
}

/// Whether the peer runs as the same user; also returns its pid.
bool isOurs(int socket, int &pid) {
  ucred credentials = {};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return false;
  pid = credentials.pid;
  return credentials.uid == getuid();
}

std::string keyOf(const Membership &membership, int64_t process) {
  return concat(membership.job, "/shm/", membership.epoch, "/", process);
}

} // namespace

Neighbours::~Neighbours() {
  for (Neighbour &neighbour : neighbours)
    if (neighbour.socket >= 0)
      close(neighbour.socket);
  if (watch >= 0)
    close(watch);
}

bool Neighbours::look() {
  epoll_event events[16];
  bool isNew = false;
  const int count = epoll_wait(watch, events, 16, 0);
  for (int i = 0; i < count; ++i) {
    Neighbour &neighbour = neighbours[events[i].data.u64];
    if (neighbour.isGone)
      continue;
    // No data follows the hello, so any event means that the peer has ended.
    neighbour.isGone = isNew = true;
    epoll_ctl(watch, EPOLL_CTL_DEL, neighbour.socket, nullptr);
  }
  return isNew;
}

static Status endedMeanwhile(const Neighbours::Neighbour &neighbour, const Membership &membership) {
  return Status(Error::ranksNotConnected,
                concat(membership.ranksText(neighbour.process), " (process ", neighbour.process,
                       ", pid ", neighbour.pid, ") ended while the job was connecting"));
}

/// Why a peer has disconnected. If the peer had already connected to all processes, it may have
/// started, and then failed or completed.
static Status whyGone(const Neighbours::Neighbour &neighbour, const Membership &membership) {
  const auto &board = *reinterpret_cast<const ProcessBoard *>(neighbour.memory->base());
  if (board.hasFailed.load(std::memory_order_acquire))
    return Status(Error::ranksNotConnected,
                  concat("while the job was connecting, ", board.failure.read()));
  if (board.isLeaving.load(std::memory_order_acquire))
    return Status();
  return endedMeanwhile(neighbour, membership);
}

Status Neighbours::connectTo(Neighbour &neighbour, const Membership &membership, const Mapping &own,
                             Rendezvous &rendezvous) {
  const std::string key = keyOf(membership, neighbour.process);
  TILEWRIGHT_ASSIGN(const std::string name, rendezvous.note(key, neighbour.process));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Address address = localAddress(name);
  if (socket.get() < 0)
    return systemFailure("socket");
  if (::connect(socket.get(), address.raw(), address.length) != 0)
    return rendezvous.blame(
        neighbour.process,
        Status(Error::ranksNotConnected,
               concat(membership.ranksText(neighbour.process),
                      " cannot be reached at the address under '", key, "' (", std::strerror(errno),
                      "): its process has ended, or has moved on to another epoch")));
  Hello hello{boardMagic, membership.epoch, own.size(), membership.process};
  std::optional<int> descriptor;
  if (isOurs(socket.get(), neighbour.pid) && send(socket.get(), hello, own.descriptor())) {
    TILEWRIGHT_ASSIGN(const bool hasAnswered,
                      rendezvous.event(socket.get(), POLLIN, {&neighbour.process, 1}));
    if (hasAnswered)
      descriptor = receive(socket.get(), hello, rendezvous.deadline);
  }
  if (!descriptor)
    return rendezvous.blame(
        neighbour.process,
        Status(Error::ranksNotConnected,
               concat(membership.ranksText(neighbour.process),
                      " was reached but did not answer; its process has ended or hangs")));
  if (*descriptor < 0 || hello.epoch != membership.epoch) {
    if (*descriptor >= 0)
      close(*descriptor);
    return fenced(membership, neighbour.process, hello.epoch);
  }
  TILEWRIGHT_ASSIGN(neighbour.memory, Mapping::open(*descriptor, hello.bytes));
  neighbour.socket = socket.release();
  return Status();
}

Status Neighbours::acceptOne(int listener, const Membership &membership, const Mapping &own,
                             Rendezvous &rendezvous) {
  std::vector<int64_t> missing;
  for (const Neighbour &neighbour : neighbours)
    if (neighbour.socket < 0)
      missing.push_back(neighbour.process);
  TILEWRIGHT_ASSIGN(const bool hasCome, rendezvous.event(listener, POLLIN, missing));
  if (!hasCome)
    return connectTimedOut(membership, missing);
  Descriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  Hello hello;
  int pid = 0;
  // A connection from outside the job, or one that sends nothing, must not delay other connections
  // for long.
  if (socket.get() < 0 || !isOurs(socket.get(), pid))
    return Status();
  std::optional<int> descriptor =
      receive(socket.get(), hello, std::min(rendezvous.deadline, after(1s)));
  if (!descriptor)
    return Status();
  Descriptor memory(*descriptor);
  const Hello answer{boardMagic, membership.epoch, own.size(), membership.process};
  for (Neighbour &neighbour : neighbours)
    if (neighbour.process == hello.process && neighbour.socket < 0 &&
        hello.epoch == membership.epoch && memory.get() >= 0) {
      TILEWRIGHT_ASSIGN(neighbour.memory, Mapping::open(memory.release(), hello.bytes));
      neighbour.pid = pid;
      if (!send(socket.get(), answer, own.descriptor()))
        return rendezvous.blame(neighbour.process, endedMeanwhile(neighbour, membership));
      neighbour.socket = socket.release();
      return Status();
    }
  (void)send(socket.get(), answer, -1); // another epoch: tell it ours and nothing else
  return Status();
}

Status Neighbours::connectAll(int listener, const Membership &membership, const Mapping &own,
                              KeyValueStore &store, Rendezvous &rendezvous) {
  if (listener < 0 || watch < 0)
    return systemFailure("socket");
  std::random_device random;
  const std::string name = concat("tilewright-", getpid(), "-", random(), "-", random());
  const Address address = localAddress(name);
  if (bind(listener, address.raw(), address.length) != 0 || listen(listener, 512) != 0)
    return systemFailure("listening on a local socket");
  TILEWRIGHT_TRY(store.put(keyOf(membership, membership.process), name));

  auto isConnected = [&](Neighbour &neighbour) {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = static_cast<uint64_t>(&neighbour - neighbours.data());
    epoll_ctl(watch, EPOLL_CTL_ADD, neighbour.socket, &event);
  };
  // Connect to lower processes and accept higher ones. No deadlock: the lowest process waits for
  // none.
  for (Neighbour &neighbour : neighbours)
    if (neighbour.process < membership.process) {
      TILEWRIGHT_TRY(connectTo(neighbour, membership, own, rendezvous));
      isConnected(neighbour);
    }
  while (true) {
    std::vector<Neighbour *> missing;
    for (Neighbour &neighbour : neighbours)
      if (neighbour.socket < 0)
        missing.push_back(&neighbour);
    if (missing.empty())
      return Status();
    TILEWRIGHT_TRY(acceptOne(listener, membership, own, rendezvous));
    for (Neighbour *neighbour : missing)
      if (neighbour->socket >= 0)
        isConnected(*neighbour);
  }
}

Result<std::unique_ptr<Neighbours>> Neighbours::connect(const Membership &membership,
                                                        const Mapping &own, KeyValueStore &store,
                                                        std::chrono::nanoseconds timeout) {
  std::unique_ptr<Neighbours> made(new Neighbours());
  for (int64_t process : membership.processes())
    if (process != membership.process)
      made->neighbours.emplace_back().process = process;
  made->watch = epoll_create1(EPOLL_CLOEXEC);
  Rendezvous rendezvous(membership, store, after(timeout), [&] {
    made->look();
    for (const Neighbour &neighbour : made->neighbours)
      if (neighbour.isGone)
        TILEWRIGHT_TRY(rendezvous.blame(neighbour.process, whyGone(neighbour, membership)));
    return Status();
  });
  // The listener is closed after the reason is published, so that a peer whose connection breaks
  // finds the reason.
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (Status status = made->connectAll(listener.get(), membership, own, store, rendezvous);
      !status.isOk()) {
    status = rendezvous.giveUp(std::move(status));
    // Peers that are connected to all processes no longer read the store, so also write the reason
    // to the board.
    auto &board = *reinterpret_cast<ProcessBoard *>(own.base());
    board.failure.write(concat(membership.ranksText(membership.process),
                               " gave up connecting: ", status.message()));
    board.hasFailed.store(1, std::memory_order_seq_cst);
    return status;
  }
  return made;
}

} // namespace tilewright::collective::shm
