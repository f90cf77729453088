#include "tilewright/collective/shm/Neighbours.h"
#include "tilewright/collective/Connecting.h"
#include "tilewright/collective/shm/Board.h"
#include "tilewright/support/Concat.h"

#include <cerrno>
#include <poll.h>
#include <random>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tilewright::collective::shm {

using namespace std::chrono_literals;

namespace {

/// The first and only message on a socket, each way; a descriptor comes with it if all is well.
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

/// Waits for the other's hello; the descriptor that came is -1 if none did.
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

sockaddr_un addressOf(std::string_view name, socklen_t &length) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // A name that begins with a zero is in no directory and goes with its socket.
  std::memcpy(address.sun_path + 1, name.data(),
              std::min(name.size(), sizeof address.sun_path - 1));
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

/// Whether the other end belongs to the same user; its process number on the way.
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
    // Nothing is ever sent after the hello, so whatever comes is the end.
    neighbour.isGone = isNew = true;
    epoll_ctl(watch, EPOLL_CTL_DEL, neighbour.socket, nullptr);
  }
  return isNew;
}

/// Others may have met all already, have begun, and failed, or be done.
static Status whyGone(const Neighbours::Neighbour &neighbour, const Membership &membership) {
  const auto &board = *reinterpret_cast<const ProcessBoard *>(neighbour.memory->base());
  if (board.hasFailed.load(std::memory_order_acquire))
    return Status(Error::ranksNotConnected,
                  concat("while the others were connecting, ", board.failure.read()));
  if (board.isLeaving.load(std::memory_order_acquire))
    return Status();
  return Status(Error::ranksNotConnected,
                concat(membership.ranksText(neighbour.process), " (process ", neighbour.process,
                       ", pid ", neighbour.pid, ") ended while the others were connecting"));
}

Status Neighbours::connectTo(Neighbour &neighbour, const Membership &membership, const Mapping &own,
                             Rendezvous &meeting) {
  const std::string key = keyOf(membership, neighbour.process);
  TILEWRIGHT_ASSIGN(const std::string name, meeting.note(key, neighbour.process));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t length = 0;
  const sockaddr_un address = addressOf(name, length);
  if (socket.get() < 0)
    return systemFailure("socket");
  if (connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), length) != 0)
    return meeting.blame(
        neighbour.process,
        Status(Error::ranksNotConnected,
               concat(membership.ranksText(neighbour.process),
                      " cannot be reached at the address under '", key, "' (", std::strerror(errno),
                      "): its process has ended, or has gone on with another epoch")));
  Hello hello{boardMagic, membership.epoch, own.size(), membership.process};
  if (!isOurs(socket.get(), neighbour.pid) || !send(socket.get(), hello, own.descriptor()))
    return systemFailure("sendmsg");
  TILEWRIGHT_ASSIGN(const bool hasAnswered,
                    meeting.event(socket.get(), POLLIN, {&neighbour.process, 1}));
  std::optional<int> descriptor;
  if (hasAnswered)
    descriptor = receive(socket.get(), hello, meeting.deadline);
  if (!descriptor)
    return meeting.blame(
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
                             Rendezvous &meeting) {
  std::vector<int64_t> missing;
  for (const Neighbour &neighbour : neighbours)
    if (neighbour.socket < 0)
      missing.push_back(neighbour.process);
  TILEWRIGHT_ASSIGN(const bool hasCome, meeting.event(listener, POLLIN, missing));
  if (!hasCome)
    return waitedInVain(membership, missing);
  Descriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  Hello hello;
  int pid = 0;
  // A stranger, or one that says nothing, does not keep the others waiting.
  if (socket.get() < 0 || !isOurs(socket.get(), pid))
    return Status();
  std::optional<int> descriptor =
      receive(socket.get(), hello, std::min(meeting.deadline, after(1s)));
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
        return systemFailure("sendmsg");
      neighbour.socket = socket.release();
      return Status();
    }
  (void)send(socket.get(), answer, -1); // not of this epoch: it is told ours and nothing else
  return Status();
}

Status Neighbours::meetAll(int listener, const Membership &membership, const Mapping &own,
                           KeyValueStore &store, Rendezvous &meeting) {
  if (listener < 0 || watch < 0)
    return systemFailure("socket");
  std::random_device random;
  const std::string name = concat("tilewright-", getpid(), "-", random(), "-", random());
  socklen_t length = 0;
  const sockaddr_un address = addressOf(name, length);
  if (bind(listener, reinterpret_cast<const sockaddr *>(&address), length) != 0 ||
      listen(listener, 512) != 0)
    return systemFailure("listening on a socket of the host");
  TILEWRIGHT_TRY(store.put(keyOf(membership, membership.process), name));

  auto isConnected = [&](Neighbour &neighbour) {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.u64 = static_cast<uint64_t>(&neighbour - neighbours.data());
    epoll_ctl(watch, EPOLL_CTL_ADD, neighbour.socket, &event);
  };
  // To those before us; those after us come. The first waits for nobody, so there is no circle.
  for (Neighbour &neighbour : neighbours)
    if (neighbour.process < membership.process) {
      TILEWRIGHT_TRY(connectTo(neighbour, membership, own, meeting));
      isConnected(neighbour);
    }
  while (true) {
    std::vector<Neighbour *> missing;
    for (Neighbour &neighbour : neighbours)
      if (neighbour.socket < 0)
        missing.push_back(&neighbour);
    if (missing.empty())
      return Status();
    TILEWRIGHT_TRY(acceptOne(listener, membership, own, meeting));
    for (Neighbour *neighbour : missing)
      if (neighbour->socket >= 0)
        isConnected(*neighbour);
  }
}

Result<std::unique_ptr<Neighbours>> Neighbours::meet(const Membership &membership,
                                                     const Mapping &own, KeyValueStore &store,
                                                     std::chrono::nanoseconds patience) {
  std::unique_ptr<Neighbours> made(new Neighbours());
  for (int64_t process : membership.processes())
    if (process != membership.process)
      made->neighbours.emplace_back().process = process;
  made->watch = epoll_create1(EPOLL_CLOEXEC);
  Rendezvous meeting(membership, store, after(patience), [&] {
    made->look();
    for (const Neighbour &neighbour : made->neighbours)
      if (neighbour.isGone)
        TILEWRIGHT_TRY(meeting.blame(neighbour.process, whyGone(neighbour, membership)));
    return Status();
  });
  // Closed when the note is written, so that whoever is thrown out finds the reason.
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (Status status = made->meetAll(listener.get(), membership, own, store, meeting);
      !status.isOk()) {
    status = meeting.giveUp(std::move(status));
    // Those who have met all have begun, and do not look there.
    auto &board = *reinterpret_cast<ProcessBoard *>(own.base());
    board.failure.write(concat(membership.ranksText(membership.process),
                               " gave up connecting: ", status.message()));
    board.hasFailed.store(1, std::memory_order_seq_cst);
    return status;
  }
  return made;
}

} // namespace tilewright::collective::shm
