// FaultBoard: what the processes of a campaign's job and its judge see of each other.
#ifndef TILEWRIGHT_COLLECTIVE_TEST_FAULTBOARD_H
#define TILEWRIGHT_COLLECTIVE_TEST_FAULTBOARD_H

#include "tilewright/collective/KeyValueStore.h"

#include <array>
#include <atomic>
#include <cstring>

namespace tilewright::collective::test {

/// Nanoseconds of the clock that all processes of a machine share; 0: has not happened.
using Moment = std::atomic<int64_t>;
inline int64_t now() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// One rank in one epoch. Written by the rank, and stays when it is killed.
struct Record {
  Moment connecting, connected, worked, noticed;
  /// When it is struck; may lie ahead.
  Moment struck;
  std::atomic<int> error;  // Error as a number, -1: none of those
  std::atomic<int> failed; // the step, -1: while connecting
  char text[700];

  void write(const std::string &message) { std::strncpy(text, message.c_str(), sizeof text - 1); }
};

constexpr size_t mostRanks = 8, mostEpochs = 4;

/// In memory that all of them share.
struct FaultBoard {
  Record records[mostRanks][mostEpochs];
  std::atomic<uint64_t> steps[mostRanks];
  std::atomic<bool> isDone[mostRanks];
  std::atomic<int> out[mostRanks]; // Error as a number: why the rank is no longer in the job
  /// All struck processes and links are as before: nobody needs to go on for their sake.
  std::atomic<bool> isCalm;
  Moment linkStruck[mostEpochs];
  Moment began[mostRanks], met[mostRanks];
};

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TEST_FAULTBOARD_H
