// Workload: random collectives whose results every rank can compute by itself.
#ifndef TILEWRIGHT_COLLECTIVE_TESTING_WORKLOAD_H
#define TILEWRIGHT_COLLECTIVE_TESTING_WORKLOAD_H

#include "tilewright/collective/Communicator.h"

#include <functional>

namespace tilewright::collective::test {

/// Pseudo-random numbers from a seed, the same on every machine.
class Chance {
public:
  explicit Chance(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// At least `least`, less than `end`.
  uint64_t between(uint64_t least, uint64_t end) { return least + next() % (end - least); }
  bool isOne(uint64_t of) { return next() % of == 0; }

private:
  uint64_t state;
};

/// One collective, with the parameters that all ranks share.
struct Task {
  Kind kind = Kind::allReduce;
  ElementType element = ElementType::f32;
  int64_t count = 1; // elements; of each part for collectives that split or join parts
  std::vector<std::vector<int64_t>> groups;
  bool isInPlace = false;
  uint64_t salt = 0; // seed of the operands
  std::string name;
};

/// Collectives that may be in progress at the same time.
struct Step {
  std::vector<Task> tasks;
  bool isOverlapped = false; // all are started before the first is finished
  bool hasNewClique = false; // its first task uses groups that are new in this epoch
  int64_t bytes = 0;         // operands of one rank, approximately
};

/// The collectives of `ranks` ranks in step `number`, the same for all ranks. Sizes are up to
/// `most` elements, mostly small. Over the first steps every kind of sub-mesh occurs.
Step stepOf(uint64_t seed, uint64_t number, int64_t ranks, int64_t most);

/// One rank's side of a task: its operand, and a check of the result. Values are small integers, so
/// that sums are exact in every type and order.
class Work {
public:
  using Allocate = std::function<std::byte *(size_t)>; // null: from the heap
  Work(const Task &task, int64_t rank, int64_t ranks, const Allocate &allocate);

  const Call &call() const { return made; }
  /// - internal: an element is wrong; the text says which and what it should be.
  Status check() const;

private:
  int64_t operandAt(int64_t rank, int64_t index) const;
  int64_t resultAt(int64_t index) const;
  void makeRagged();

  const Task &task;
  const int64_t rank;
  std::vector<int64_t> members; // of the rank's group
  int64_t mine = 0;             // in the group
  std::optional<int64_t> source;
  Call made;
  std::vector<std::byte> in, out; // unless allocated elsewhere
  std::vector<int64_t> ragged;
};

} // namespace tilewright::collective::test

#endif // TILEWRIGHT_COLLECTIVE_TESTING_WORKLOAD_H
