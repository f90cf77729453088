// Cluster: simulated processes and links, with a simulated clock.
#ifndef TILEWRIGHT_COLLECTIVE_SIMULATE_CLUSTER_H
#define TILEWRIGHT_COLLECTIVE_SIMULATE_CLUSTER_H

#include "tilewright/collective/messages/Messages.h"

#include <random>
#include <thread>

namespace tilewright::collective::simulate {

/// A link from one process to another.
struct Link {
  std::chrono::nanoseconds latency = std::chrono::microseconds(5);
  double bytesPerSecond = 12.5e9;
};

/// State that all processes of a simulated job share: their links, the messages in flight, and the
/// simulated time of each rank. Thread-safe.
///
/// A message departs when its rank has reached the send and the process has finished its earlier
/// sends; the link determines when it arrives. A rank's time is the arrival of the last message
/// that it waited for, plus what compute() adds. So times depend only on the program and the links,
/// not on the speed of this machine. Incast is not modelled: messages from several processes to the
/// same process do not slow each other down.
///
/// The seed determines the order in which messages of different processes are delivered, because an
/// engine must work with every order that a network can produce.
class Cluster {
public:
  using LinkOf = std::function<Link(int64_t from, int64_t to)>;
  Cluster(
      int64_t processes, uint64_t seed, LinkOf linkOf = [](int64_t, int64_t) { return Link(); });

  /// A rank's simulated time since the start.
  std::chrono::nanoseconds timeOf(int64_t rank) const;
  /// Adds computing time to a rank's simulated time.
  void compute(int64_t rank, std::chrono::nanoseconds time);
  /// Kills a process as SIGKILL would: its peers see their connections end.
  void kill(int64_t process);
  /// Drops all messages between these two processes from now on, without notifying either.
  void cut(int64_t one, int64_t other);

  // The members below are for the transport only.

  /// A message or the end of a connection, delivered to a process.
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
  /// Waits up to `longest` for a message to the process, or for a wake() since this thread's last
  /// wait(). Several threads may wait, because a process may have several ranks.
  void wait(int64_t process, std::chrono::milliseconds longest);
  /// The next messages that the network delivers; none if none is in flight.
  std::vector<Delivery> receive(int64_t process);
  /// Wakes every thread of the process, or ends its next wait().
  void wake(int64_t process);
  /// Called when a rank has processed data that arrived at time `at`.
  void advance(int64_t rank, int64_t at);

private:
  struct Process {
    std::condition_variable changed;
    std::map<int64_t, std::deque<Delivery>> coming; // by sender, in the order of sending
    std::mt19937_64 chance;
    int64_t sentUntil = 0; // when its last message has departed
    bool isHere = false, isDead = false;
    uint64_t wakes = 0;                          // how often wake() was called
    std::map<std::thread::id, uint64_t> noticed; // how many of them a thread has noticed
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
