// FaultPlan: everything that a seed determines: the engine, the ranks, the network, and the faults.
#ifndef TILEWRIGHT_COLLECTIVE_TESTING_FAULTPLAN_H
#define TILEWRIGHT_COLLECTIVE_TESTING_FAULTPLAN_H

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::collective::test {

enum class EngineKind { shm, tcp, hosts };
std::string_view nameOf(EngineKind kind);

/// The type of a fault.
enum class Blow {
  kill,    // SIGKILL
  stop,    // SIGSTOP, and SIGCONT when the others have recovered
  pause,   // SIGSTOP, and SIGCONT before any timeout
  cut,     // a host is cut off, and reconnected when the others have recovered
  flicker, // a host is cut off, and reconnected before any timeout
  none,    // only a bad network
};
std::string_view nameOf(Blow blow);

/// Where the victim is when the fault happens.
enum class Point {
  rendezvous,  // at one of its key-value store calls, before there is a group
  anyTime,     // some time after it began to connect
  connecting,  // at one of its key-value store calls, in a group
  joining,     // connected, and not yet in a run
  splitting,   // in the first collective of a clique
  transferring // in the middle of a large sum
};
std::string_view nameOf(Point point);

struct Fault {
  Blow blow = Blow::kill;
  Point point = Point::anyTime;
  int64_t victim = 0; // a rank; for links, a host
  uint64_t at = 0;    // which call of the store, which step
  std::chrono::microseconds later{0};
  bool isAfterStart = false; // splitting: has announced itself
  /// Whether ranks of the epoch get an error.
  bool isFatal() const { return blow == Blow::kill || blow == Blow::stop || blow == Blow::cut; }
};

struct FaultPlan {
  uint64_t seed = 0;
  EngineKind engine = EngineKind::shm;
  int64_t ranks = 2; // one per process
  int64_t hosts = 1;
  std::vector<int64_t> hostOf; // by rank
  bool isInArena = false, canSpin = false;
  int64_t most = 1; // elements of a tensor
  // Of all links, all the time:
  double loss = 0;
  std::chrono::microseconds delay{0};
  uint64_t bytesPerSecond = 0;
  bool isStoreLost = false; // the key-value store disappears once all have met
  /// The fault of each epoch. The epoch after the last fault has none.
  std::vector<Fault> faults;

  static FaultPlan of(uint64_t seed);
  bool hasBadNetwork() const { return loss > 0 || delay.count() > 0 || bytesPerSecond > 0; }
  /// Upper bound for the duration of a step without a fault.
  std::chrono::milliseconds predictedStep() const;
  /// One line for tables: "kill, connecting".
  std::string kind() const;
  std::string text() const;
};

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TESTING_FAULTPLAN_H
