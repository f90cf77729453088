// Relay: simulated hosts with a bad network between them, for tests.
#ifndef TILEWRIGHT_COLLECTIVE_TESTING_RELAY_H
#define TILEWRIGHT_COLLECTIVE_TESTING_RELAY_H

#include "tilewright/support/Status.h"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace tilewright::collective::test {

/// Network namespaces with one TUN device each, and a process that forwards packets between them:
/// late, slowly, with losses, or not at all. It works below TCP, so the kernel retransmits lost
/// packets as it would between machines.
///
///   TILEWRIGHT_ASSIGN(auto relay, Relay::create(2, seed));
///   relay->loss(0, 1, 0.01);
///   processes.start([&](…) { TILEWRIGHT_TRY(relay->enter(1)); … });   // lives on host 1
///   relay->cut(0, 1);
///
/// Which packets are lost depends on the seed and on the number of packets before them on that
/// link, not on time. The namespaces have no names, so they disappear with the last process that
/// uses them, however it ends. Create a relay while the process has only one thread.
class Relay {
public:
  /// - permissionDenied: not allowed to create namespaces or devices (CAP_NET_ADMIN,
  ///   CAP_SYS_ADMIN).
  static Result<std::unique_ptr<Relay>> create(size_t hosts, uint64_t seed);
  ~Relay();
  Relay(const Relay &) = delete;
  Relay &operator=(const Relay &) = delete;

  std::string addressOf(size_t host) const;
  /// Moves the calling thread, and what it starts from now on, to this host.
  Status enter(size_t host) const;
  /// Runs `body` on a host and comes back. A socket stays on the host on which it was created.
  Status within(size_t host, const std::function<void()> &body) const;

  // These take effect in both directions, at once, and also for packets in flight.
  void cut(size_t a, size_t b);
  void heal(size_t a, size_t b);
  /// The fraction of packets that is lost at random.
  void loss(size_t a, size_t b, double part);
  void delay(size_t a, size_t b, std::chrono::nanoseconds oneWay);
  /// Zero: unlimited. Packets that would queue behind more than 256 KiB are dropped.
  void rate(size_t a, size_t b, uint64_t bytesPerSecond);
  /// Resets all links and counters, and reseeds the losses.
  void reset(uint64_t seed);

  struct Count {
    uint64_t carried = 0, lost = 0, bytes = 0; // `bytes` counts carried packets only
  };
  Count countOf(size_t from, size_t to) const;

private:
  struct Link; // in memory shared with the forwarding process
  Relay() = default;
  Link &link(size_t from, size_t to) const;
  Status addHost();
  void carry(); // main loop of the forwarding process

  size_t hosts = 0;
  Link *links = nullptr; // hosts x hosts
  std::vector<int> namespaces, devices;
  int home = -1; // the namespace of the creating thread
  int process = -1;
};

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TESTING_RELAY_H
