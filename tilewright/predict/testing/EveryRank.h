// EveryRank: the oracle of the simulator: a clock for each rank and random kernel times.
#ifndef TILEWRIGHT_PREDICT_TESTING_EVERYRANK_H
#define TILEWRIGHT_PREDICT_TESTING_EVERYRANK_H

#include "tilewright/predict/Program.h"

#include <cstdint>

namespace tilewright::predict {

/// Runs a program of one class on all ranks of its mesh, with kernel times drawn from a normal
/// distribution of relative standard deviation `jitter`. Shares no code with the simulator. Without
/// contention. Returns the seconds until the last rank ends.
double simulateEveryRank(const Program &program, double jitter, uint64_t seed);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_TESTING_EVERYRANK_H
