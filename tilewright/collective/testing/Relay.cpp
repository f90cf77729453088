#include "tilewright/collective/testing/Relay.h"
#include "tilewright/support/Concat.h"

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <queue>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tilewright::collective::test {

using Clock = std::chrono::steady_clock;

/// One direction. The test writes the settings and the forwarding process reads them; for the
/// counters it is the other way round.
struct Relay::Link {
  std::atomic<bool> isCut;
  std::atomic<uint64_t> lossOfBillion, nanoseconds, bytesPerSecond, seed;
  std::atomic<uint64_t> generation; // increases with each new seed
  std::atomic<uint64_t> carried, lost, bytes;
};

static Status failed(const std::string &what) {
  const int reason = errno;
  return Status(reason == EPERM || reason == EACCES || reason == ENOENT ? Code::permissionDenied
                                                                        : Code::unavailable,
                concat(what, " failed (", std::strerror(reason),
                       "): a relay needs /dev/net/tun, CAP_NET_ADMIN and CAP_SYS_ADMIN"));
}

static in_addr numberOf(size_t host) {
  return {htonl((10U << 24) | (77U << 16) | static_cast<uint32_t>(host + 1))};
}

std::string Relay::addressOf(size_t host) const { return concat("10.77.0.", host + 1); }

Relay::Link &Relay::link(size_t from, size_t to) const { return links[from * hosts + to]; }

/// Brings a device up, with an address if one is given.
static bool bringUp(int socket, const char *name, std::optional<in_addr> address) {
  ifreq request = {};
  std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (address) {
    auto &place = reinterpret_cast<sockaddr_in &>(request.ifr_addr);
    place.sin_family = AF_INET;
    place.sin_addr = *address;
    if (ioctl(socket, SIOCSIFADDR, &request) != 0)
      return false;
    place.sin_addr = {htonl(0xffffff00)};
    if (ioctl(socket, SIOCSIFNETMASK, &request) != 0)
      return false;
    request.ifr_qlen = 10'000; // so that only the relay drops packets
    if (ioctl(socket, SIOCSIFTXQLEN, &request) != 0)
      return false;
  }
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ioctl(socket, SIOCSIFFLAGS, &request) == 0;
}

/// Creates a namespace with its device, and moves the calling thread into it.
Status Relay::addHost() {
  if (unshare(CLONE_NEWNET) != 0)
    return failed("unshare(CLONE_NEWNET)");
  namespaces.push_back(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  devices.push_back(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (namespaces.back() < 0 || devices.back() < 0)
    return failed("opening /dev/net/tun");
  ifreq request = {};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strncpy(request.ifr_name, "relay", IFNAMSIZ - 1);
  if (ioctl(devices.back(), TUNSETIFF, &request) != 0)
    return failed("ioctl(TUNSETIFF)");
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const bool isUp = bringUp(socket, "lo", std::nullopt) &&
                    bringUp(socket, "relay", numberOf(namespaces.size() - 1));
  Status status = isUp ? Status() : failed("bringing up the network devices of a host");
  close(socket);
  return status;
}

Result<std::unique_ptr<Relay>> Relay::create(size_t hosts, uint64_t seed) {
  std::unique_ptr<Relay> relay(new Relay());
  relay->hosts = hosts;
  void *memory = mmap(nullptr, hosts * hosts * sizeof(Link), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return failed("mmap");
  relay->links = static_cast<Link *>(memory); // zeros, the initial state of a link
  relay->home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  if (relay->home < 0)
    return failed("opening /proc/thread-self/ns/net");
  Status status;
  for (size_t host = 0; host < hosts && status.isOk(); ++host)
    status = relay->addHost();
  if (setns(relay->home, CLONE_NEWNET) != 0 && status.isOk())
    status = failed("setns");
  TILEWRIGHT_TRY(std::move(status));
  relay->reset(seed);
  relay->process = fork();
  if (relay->process < 0)
    return failed("fork");
  if (relay->process == 0)
    relay->carry();
  for (int &device : relay->devices)
    close(std::exchange(device, -1));
  return relay;
}

Relay::~Relay() {
  if (process > 0) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  for (const std::vector<int> *each : {&namespaces, &devices})
    for (int descriptor : *each)
      if (descriptor >= 0)
        close(descriptor);
  if (home >= 0)
    close(home);
  if (links)
    munmap(links, hosts * hosts * sizeof(Link));
}

Status Relay::enter(size_t host) const {
  return setns(namespaces[host], CLONE_NEWNET) == 0 ? Status() : failed("setns");
}

Status Relay::within(size_t host, const std::function<void()> &body) const {
  TILEWRIGHT_TRY(enter(host));
  body();
  return setns(home, CLONE_NEWNET) == 0 ? Status() : failed("setns");
}

void Relay::cut(size_t a, size_t b) { link(a, b).isCut = link(b, a).isCut = true; }
void Relay::heal(size_t a, size_t b) { link(a, b).isCut = link(b, a).isCut = false; }
void Relay::loss(size_t a, size_t b, double part) {
  link(a, b).lossOfBillion = link(b, a).lossOfBillion = static_cast<uint64_t>(part * 1e9);
}
void Relay::delay(size_t a, size_t b, std::chrono::nanoseconds oneWay) {
  link(a, b).nanoseconds = link(b, a).nanoseconds = static_cast<uint64_t>(oneWay.count());
}
void Relay::rate(size_t a, size_t b, uint64_t bytesPerSecond) {
  link(a, b).bytesPerSecond = link(b, a).bytesPerSecond = bytesPerSecond;
}

void Relay::reset(uint64_t seed) {
  for (size_t i = 0; i < hosts * hosts; ++i) {
    Link &each = links[i];
    each.isCut = false;
    each.lossOfBillion = each.nanoseconds = each.bytesPerSecond = 0;
    each.carried = each.lost = each.bytes = 0;
    each.seed = seed * 1'000'003 + i;
    ++each.generation;
  }
}

Relay::Count Relay::countOf(size_t from, size_t to) const {
  const Link &each = link(from, to);
  return {each.carried, each.lost, each.bytes};
}

namespace {

/// A packet in flight.
struct Packet {
  Clock::time_point due;
  uint64_t number; // in the order of arrival
  size_t from, to;
  std::vector<char> bytes;
  bool operator<(const Packet &other) const { // so that the next one is on top of the heap
    return std::pair(due, number) > std::pair(other.due, other.number);
  }
};

/// Pseudo-random numbers, the same on every machine.
class Chance {
public:
  uint64_t next() {
    state += 0x9e3779b97f4a7c15;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t state = 0;
};

/// State of the forwarding process for one direction.
struct Way {
  uint64_t generation = 0;
  Chance chance;
  Clock::time_point freeAt; // when everything sent so far has left
};

} // namespace

void Relay::carry() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_TIMERSLACK, 1);
  // Real-time priority: ranks that spin would otherwise add to every delay.
  const sched_param first = {2};
  (void)sched_setscheduler(0, SCHED_RR, &first);
  constexpr uint64_t maxQueuedBytes = 256 << 10;
  std::vector<Way> ways(hosts * hosts);
  std::priority_queue<Packet> waiting;
  uint64_t number = 0;

  auto deliver = [&](const char *bytes, size_t count, size_t from, size_t to) {
    Link &way = link(from, to);
    // The device of a host whose processes are gone may reject packets; count them as lost.
    if (way.isCut || write(devices[to], bytes, count) != static_cast<ssize_t>(count)) {
      ++way.lost;
      return;
    }
    ++way.carried;
    way.bytes += count;
  };
  auto take = [&](const char *bytes, size_t count, size_t from) {
    if (count < 20 || (bytes[0] >> 4) != 4)
      return; // not IPv4, which is all that the tests use
    uint32_t address;
    std::memcpy(&address, bytes + 16, sizeof address);
    const size_t to = (ntohl(address) & 0xff) - size_t(1);
    if (to >= hosts || to == from)
      return;
    Link &way = link(from, to);
    Way &own = ways[from * hosts + to];
    if (const uint64_t now = way.generation; now != own.generation)
      own = {now, {way.seed}, {}};
    const bool isLost = own.chance.next() % 1'000'000'000 < way.lossOfBillion;
    if (isLost || way.isCut) {
      ++way.lost;
      return;
    }
    auto due = Clock::now();
    if (const uint64_t rate = way.bytesPerSecond; rate > 0) {
      own.freeAt = std::max(own.freeAt, due);
      const std::chrono::duration<double> ahead = own.freeAt - due;
      if (ahead.count() * static_cast<double>(rate) > static_cast<double>(maxQueuedBytes)) {
        ++way.lost;
        return;
      }
      own.freeAt += std::chrono::nanoseconds(count * 1'000'000'000 / rate);
      due = own.freeAt;
    }
    due += std::chrono::nanoseconds(way.nanoseconds);
    if (due <= Clock::now())
      deliver(bytes, count, from, to);
    else
      waiting.push({due, number++, from, to, {bytes, bytes + count}});
  };

  std::vector<char> bytes(65536);
  std::vector<pollfd> polls;
  for (int device : devices)
    polls.push_back({device, POLLIN, 0});
  while (true) {
    while (!waiting.empty() && waiting.top().due <= Clock::now()) {
      const Packet &packet = waiting.top();
      deliver(packet.bytes.data(), packet.bytes.size(), packet.from, packet.to);
      waiting.pop();
    }
    timespec limit = {1, 0};
    if (!waiting.empty()) {
      const auto left =
          std::max<int64_t>(std::chrono::nanoseconds(waiting.top().due - Clock::now()).count(), 0);
      limit = {left / 1'000'000'000, left % 1'000'000'000};
    }
    if (ppoll(polls.data(), polls.size(), &limit, nullptr) < 0 && errno != EINTR)
      _exit(1);
    for (size_t from = 0; from < hosts; ++from)
      for (int times = 0; (polls[from].revents & POLLIN) && times < 64; ++times) {
        const ssize_t count = read(devices[from], bytes.data(), bytes.size());
        if (count <= 0)
          break;
        take(bytes.data(), static_cast<size_t>(count), from);
      }
  }
}

} // namespace tilewright::collective::test
