// Cluster: processes and links that exist in memory only, with a clock of their own.
#ifndef TILEWRIGHT_COLLECTIVE_SIMULATE_CLUSTER_H
#define TILEWRIGHT_COLLECTIVE_SIMULATE_CLUSTER_H

#include "tilewright/collective/messages/Messages.h"

#include <random>

namespace tilewright::collective::simulate {

/// From one process to another.
struct Link {
  std::chrono::nanoseconds latency = std::chrono::microseconds(5);
  double bytesPerSecond = 12.5e9;
};

/// What all processes of a simulated job share: their links, what is on its way, and what time it
/// is for each rank. Thread-safe.
///
/// A message leaves when its rank has come to it and the process has sent what it sent before, and
/// arrives as much later as the link says. A rank's time is that of the last message that it has
/// waited for, and goes on by what it says that it computes. So times come from the program and the
/// links alone, and do not depend on how fast this machine is. What several processes send to one
/// at the same time does not slow each other down.
///
/// In which order messages of different processes are delivered is chosen by the seed: every order
/// that a network may have is right for an engine.
class Cluster {
public:
  using LinkOf = std::function<Link(int64_t from, int64_t to)>;
  Cluster(
      int64_t processes, uint64_t seed, LinkOf linkOf = [](int64_t, int64_t) { return Link(); });

  /// Of a rank, since the beginning.
  std::chrono::nanoseconds timeOf(int64_t rank) const;
  /// The rank is busy for so long.
  void compute(int64_t rank, std::chrono::nanoseconds time);
  /// Ends a process as SIGKILL does: the others see their connections end.
  void kill(int64_t process);
  /// Nothing arrives between these two any more, and nobody is told.
  void cut(int64_t one, int64_t other);

  // What follows is for the carrier.

  /// What is delivered to a process.
  struct Delivery {
    int64_t from = 0;
    bool isEnd = false; // the connection has ended; else a message:
    messages::Header header;
    std::vector<std::byte> bytes;
  };
  void join(int64_t process);
  void leave(int64_t process);
  void send(int64_t from, int64_t to, const messages::Header &header,
            std::span<const std::byte> bytes);
  /// What the network brings next, if it brings anything now. Waits for that, or for wake().
  std::vector<Delivery> receive(int64_t process, std::chrono::milliseconds longest);
  void wake(int64_t process);
  /// A rank has got what arrived then.
  void advance(int64_t rank, int64_t at);

private:
  struct Process {
    std::condition_variable changed;
    std::map<int64_t, std::deque<Delivery>> coming; // by sender, in their order
    std::mt19937_64 chance;
    int64_t sentUntil = 0; // when its last message has left
    bool isHere = false, isDead = false, isRung = false;
  };
  bool isCut(int64_t one, int64_t other) const {
    return cuts.contains({std::min(one, other), std::max(one, other)});
  }

  const LinkOf linkOf;
  mutable std::mutex mutex;
  // guarded by mutex:
  std::deque<Process> processes;
  std::map<std::pair<int64_t, int64_t>, bool> cuts;
  std::map<int64_t, int64_t> times; // by rank
};

} // namespace tilewright::collective::simulate

#endif // TILEWRIGHT_COLLECTIVE_SIMULATE_CLUSTER_H
