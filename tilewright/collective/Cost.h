// Cost: how long a collective should take.
#ifndef TILEWRIGHT_COLLECTIVE_COST_H
#define TILEWRIGHT_COLLECTIVE_COST_H

#include "tilewright/collective/Communicator.h"

namespace tilewright::collective {

enum class EngineKind : uint8_t { local, shm, tcp, hosts };

/// One collective of one rank, as far as its time depends on it.
struct Step {
  Kind kind = Kind::allReduce;
  uint64_t bytes = 0; // of its operands
  int64_t ranks = 1;  // that take part
  EngineKind engine = EngineKind::local;
};

/// Predicts. Whoever knows more about the machines, or simulates them, brings another one.
class Cost {
public:
  virtual ~Cost() = default;
  /// From when all ranks have come.
  virtual std::chrono::nanoseconds estimate(const Step &step) const = 0;
};

/// A latency for each rank and a rate for each engine, from docs/design/collective-engines.md.
/// Right within a factor of four there, and rather too long.
const Cost &measuredCost();

/// After which time a step whose ranks have all come has failed, and does not only take long:
/// three times what is predicted, at least half a second, and never more than `longest`.
std::chrono::nanoseconds patienceFor(const Cost &cost, const Step &step,
                                     std::chrono::nanoseconds longest);

} // namespace tilewright::collective

#endif // TILEWRIGHT_COLLECTIVE_COST_H
