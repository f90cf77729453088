// FaultPlan: what a seed makes of a job: its engine, its ranks, its network, and what strikes it.
#ifndef TILEWRIGHT_COLLECTIVE_TEST_FAULTPLAN_H
#define TILEWRIGHT_COLLECTIVE_TEST_FAULTPLAN_H

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tilewright::collective::test {

enum class EngineKind { shm, tcp, hosts };
std::string_view nameOf(EngineKind kind);

/// What happens.
enum class Blow {
  kill,    // SIGKILL
  stop,    // SIGSTOP, and SIGCONT when the others have gone on
  pause,   // SIGSTOP, and SIGCONT before anybody's deadline
  cut,     // a host is cut off, and comes back when the others have gone on
  flicker, // a host is cut off, and comes back before anybody's deadline
  none,    // the network is bad, and that is all
};
std::string_view nameOf(Blow blow);

/// Where the victim is.
enum class Point {
  meeting,     // at one of its calls of the key-value store, before there is a group
  anyTime,     // so long after it began to connect
  connecting,  // at one of its calls of the key-value store
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
  /// Whether whoever is in the epoch gets an error.
  bool isFatal() const { return blow == Blow::kill || blow == Blow::stop || blow == Blow::cut; }
};

struct FaultPlan {
  uint64_t seed = 0;
  EngineKind engine = EngineKind::shm;
  int64_t ranks = 2; // one a process
  int64_t hosts = 1;
  std::vector<int64_t> hostOf; // by rank
  bool isInArena = false, canSpin = false;
  int64_t most = 1; // elements of a tensor
  // Of all links, from the beginning:
  double loss = 0;
  std::chrono::microseconds delay{0};
  uint64_t bytesPerSecond = 0;
  bool isStoreLost = false; // the key-value store is gone once all have met
  /// The fault of each epoch. The one after the last is quiet.
  std::vector<Fault> faults;

  static FaultPlan of(uint64_t seed);
  bool hasBadNetwork() const { return loss > 0 || delay.count() > 0 || bytesPerSecond > 0; }
  /// How long a step takes at most, if nothing is wrong.
  std::chrono::milliseconds predictedStep() const;
  /// One line for tables: "kill, connecting".
  std::string kind() const;
  std::string text() const;
};

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TEST_FAULTPLAN_H
