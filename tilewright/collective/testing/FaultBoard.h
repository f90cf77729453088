// FaultBoard: shared state of the processes of a campaign's job and their judge.
#ifndef TILEWRIGHT_COLLECTIVE_TESTING_FAULTBOARD_H
#define TILEWRIGHT_COLLECTIVE_TESTING_FAULTBOARD_H

#include "tilewright/support/store/KeyValueStore.h"

#include <array>
#include <atomic>
#include <cstring>

namespace tilewright::collective::test {

/// Nanoseconds of the clock that all processes of a machine share; 0: has not happened.
using Moment = std::atomic<int64_t>;
inline int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// One rank in one epoch. The rank writes it; it survives when the rank is killed.
struct Record {
  Moment connecting, connected, worked, noticed;
  /// When the fault hits the rank; may be in the future.
  Moment struck;
  std::atomic<int> error;  // Error as a number; -1: another error
  std::atomic<int> failed; // the step, -1: while connecting
  char text[700];

  void write(const std::string &message) { std::strncpy(text, message.c_str(), sizeof text - 1); }
};

constexpr size_t maxRanks = 8, maxEpochs = 4;

/// In memory that all of these processes share.
struct FaultBoard {
  Record records[maxRanks][maxEpochs];
  std::atomic<uint64_t> steps[maxRanks];
  std::atomic<bool> isDone[maxRanks];
  std::atomic<int> out[maxRanks]; // Error as a number: why the rank was evicted
  /// All stopped processes and cut links work again, so no rank needs to continue for their sake.
  std::atomic<bool> isCalm;
  Moment linkStruck[maxEpochs];
  Moment began[maxRanks], met[maxRanks];
};

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TESTING_FAULTBOARD_H
