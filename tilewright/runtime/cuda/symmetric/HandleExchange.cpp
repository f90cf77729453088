#include "tilewright/runtime/cuda/symmetric/HandleExchange.h"

#include "tilewright/collective/Address.h"
#include "tilewright/support/Concat.h"

#include <cstring>
#include <fstream>
#include <poll.h>
#include <random>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tilewright::runtime::cuda {

using namespace std::chrono_literals;

/// These sockets preserve message boundaries. A request is the name of a descriptor; the reply is a
/// byte, with the descriptor if it has been offered.
static constexpr int socketType = SOCK_SEQPACKET | SOCK_CLOEXEC;
static constexpr size_t longestName = 4096;
/// How long a process waits before it asks again.
static constexpr auto pause = 2ms;

static std::string thisHost() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return boot;
}

static std::string keyOf(const collective::Membership &membership, int64_t process) {
  return concat(membership.job, "/symmetric/", membership.epoch, "/", process);
}

/// A message of one byte, with room for a descriptor.
struct Answer {
  char byte = 0;
  iovec piece = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};

  explicit Answer(bool hasRoom) {
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (hasRoom) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
    }
  }
  Answer(const Answer &) = delete;
};

static void sendAnswer(int socket, int descriptor) {
  Answer answer(descriptor >= 0);
  if (descriptor >= 0) {
    cmsghdr *header = CMSG_FIRSTHDR(&answer.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  }
  // The other process may have stopped waiting, which is not an error here.
  (void)!sendmsg(socket, &answer.message, MSG_NOSIGNAL);
}

/// The descriptor, or -1 if it has not been offered yet; empty if the other process has ended.
static std::optional<int> receiveAnswer(int socket) {
  Answer answer(true);
  if (recvmsg(socket, &answer.message, MSG_CMSG_CLOEXEC) != 1)
    return std::nullopt;
  int descriptor = -1;
  if (cmsghdr *header = CMSG_FIRSTHDR(&answer.message); header && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return descriptor;
}

Result<std::unique_ptr<HandleExchange>>
HandleExchange::open(const collective::Membership &membership, tilewright::KeyValueStore &store) {
  std::unique_ptr<HandleExchange> made(new HandleExchange(membership, store));
  TILEWRIGHT_TRY(made->listen());
  made->thread = std::thread([exchange = made.get()] { exchange->serve(); });
  return made;
}

HandleExchange::~HandleExchange() {
  if (!thread.joinable())
    return;
  eventfd_write(wake.get(), 1);
  thread.join();
}

Status HandleExchange::listen() {
  std::random_device random;
  const std::string name = concat("tilewright-", getpid(), "-", random(), "-", random());
  const collective::Address address = collective::localAddress(name);
  listener.reset(::socket(AF_UNIX, socketType, 0));
  wake.reset(eventfd(0, EFD_CLOEXEC));
  if (listener.get() < 0 || wake.get() < 0 ||
      bind(listener.get(), address.raw(), address.length) != 0 ||
      ::listen(listener.get(), 512) != 0)
    return collective::systemFailure("listening on a local socket");
  return store.put(keyOf(membership, membership.process), concat(thisHost(), " ", name));
}

void HandleExchange::serve() {
  while (true) {
    pollfd waits[] = {{listener.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}};
    if (poll(waits, 2, -1) < 0 && errno != EINTR)
      return;
    if (waits[1].revents)
      return;
    if (!waits[0].revents)
      continue;
    Descriptor socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket.get() >= 0)
      answer(socket.get());
  }
}

void HandleExchange::answer(int socket) {
  ucred credentials = {};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
      credentials.uid != getuid())
    return;
  // A connection without a request must not delay the others for long.
  char name[longestName];
  if (!collective::awaitEvent(socket, POLLIN, after(1s)))
    return;
  const ssize_t bytes = recv(socket, name, sizeof name, MSG_DONTWAIT);
  if (bytes <= 0)
    return;
  std::lock_guard lock(mutex);
  const auto found = offered.find(std::string(name, static_cast<size_t>(bytes)));
  sendAnswer(socket, found == offered.end() ? -1 : found->second->get());
}

void HandleExchange::offer(const std::string &name, int descriptor) {
  std::lock_guard lock(mutex);
  offered[name] = std::make_unique<Descriptor>(descriptor);
}

Result<std::string> HandleExchange::addressOf(int64_t process, Deadline deadline,
                                              const std::function<Status()> &check) {
  const std::string key = keyOf(membership, process);
  while (true) {
    TILEWRIGHT_ASSIGN(std::optional<std::string> value, store.tryGet(key));
    if (!value) {
      TILEWRIGHT_TRY(check());
      if (std::chrono::steady_clock::now() > deadline)
        return Status(Error::ranksNotConnected,
                      concat(membership.ranksText(process), " (process ", process,
                             ") has not connected its GPUs: nothing is under '", key, "'"));
      std::this_thread::sleep_for(pause);
      continue;
    }
    const size_t space = value->find(' ');
    if (value->substr(0, space) != thisHost())
      return Status(Code::unimplemented,
                    concat(membership.ranksText(process), " (process ", process,
                           ") is on another host, where our own kernels cannot reach its memory; "
                           "install NCCL (pip install nvidia-nccl-cu12), or name its library in "
                           "runtime.nccl-library"));
    return value->substr(space + 1);
  }
}

Result<int> HandleExchange::get(int64_t process, const std::string &name, Deadline deadline,
                                const std::function<Status()> &check) {
  TILEWRIGHT_ASSIGN(const std::string place, addressOf(process, deadline, check));
  const collective::Address address = collective::localAddress(place);
  while (true) {
    Descriptor socket(::socket(AF_UNIX, socketType, 0));
    if (socket.get() < 0)
      return collective::systemFailure("socket");
    std::optional<int> descriptor;
    if (connect(socket.get(), address.raw(), address.length) == 0 &&
        send(socket.get(), name.data(), name.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(name.size()) &&
        collective::awaitEvent(socket.get(), POLLIN, deadline))
      descriptor = receiveAnswer(socket.get());
    if (descriptor && *descriptor >= 0)
      return *descriptor;
    TILEWRIGHT_TRY(check());
    if (!descriptor || std::chrono::steady_clock::now() > deadline)
      return Status(Error::ranksNotConnected,
                    concat(membership.ranksText(process), " (process ", process,
                           descriptor ? ") has not shared the memory of its GPUs"
                                      : ") has ended, or does not answer"));
    std::this_thread::sleep_for(pause);
  }
}

} // namespace tilewright::runtime::cuda
