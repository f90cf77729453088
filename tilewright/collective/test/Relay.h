// Relay: hosts with a bad network between them, for tests.
#ifndef TILEWRIGHT_COLLECTIVE_TEST_RELAY_H
#define TILEWRIGHT_COLLECTIVE_TEST_RELAY_H

#include "tilewright/support/Status.h"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace tilewright::collective::test {

/// Network namespaces with a TUN device each, and a process that carries packets from one to the
/// other: late, slowly, not all of them, or not at all. It works below TCP, so what is lost
/// is sent again by the kernel, as it would be between machines.
///
///   TILEWRIGHT_ASSIGN(auto relay, Relay::create(2, seed));
///   relay->loss(0, 1, 0.01);
///   processes.start([&](…) { TILEWRIGHT_TRY(relay->enter(1)); … });   // lives on host 1
///   relay->cut(0, 1);
///
/// Which packets are lost depends on the seed and on how many came before on that link, not on
/// time. Namespaces have no names, so nothing is left of them when the last process that uses them
/// is gone, however that ends. Create it while there is one thread.
class Relay {
public:
  ///  - permissionDenied: no right to make namespaces or devices (CAP_NET_ADMIN, CAP_SYS_ADMIN).
  static Result<std::unique_ptr<Relay>> create(size_t hosts, uint64_t seed);
  ~Relay();
  Relay(const Relay &) = delete;
  Relay &operator=(const Relay &) = delete;

  std::string addressOf(size_t host) const;
  /// The calling thread, and what it starts, lives on this host from now on.
  Status enter(size_t host) const;
  /// Does something on a host and comes back. Sockets stay on the host that they were made on.
  Status within(size_t host, const std::function<void()> &body) const;

  // Both ways, at once, also for packets that are on their way.
  void cut(size_t a, size_t b);
  void heal(size_t a, size_t b);
  /// The part of all packets that is lost, by chance.
  void loss(size_t a, size_t b, double part);
  void delay(size_t a, size_t b, std::chrono::nanoseconds oneWay);
  /// Zero: as fast as it goes. Packets that would wait behind more than 256 KiB are lost.
  void rate(size_t a, size_t b, uint64_t bytesPerSecond);
  /// All links as they were at first, with new chances.
  void reset(uint64_t seed);

  struct Count {
    uint64_t carried = 0, lost = 0, bytes = 0; // bytes of those that were carried
  };
  Count countOf(size_t from, size_t to) const;

private:
  struct Link; // in memory that the carrying process shares
  Relay() = default;
  Link &link(size_t from, size_t to) const;
  Status addHost();
  void carry(); // what the process does, for ever

  size_t hosts = 0;
  Link *links = nullptr; // hosts x hosts
  std::vector<int> namespaces, devices;
  int home = -1; // the namespace of whoever made this
  int process = -1;
};

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TEST_RELAY_H
