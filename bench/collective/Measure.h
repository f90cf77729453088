// Measure: times an all-reduce, the same way for our transports and for MPI.
#ifndef BENCH_COLLECTIVE_MEASURE_H
#define BENCH_COLLECTIVE_MEASURE_H

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace bench {

constexpr size_t sizes[] = {4, 1024, 64 << 10, 1 << 20, 64 << 20};

/// Microseconds per call: the median over samples. Each sample has enough calls to make the cost of
/// reading the clock negligible. The number of calls depends only on the size, because all ranks
/// must make the same number.
template <typename Function> double medianMicroseconds(size_t bytes, Function &&call) {
  const int calls = bytes <= 1024 ? 100 : bytes <= (64 << 10) ? 20 : 1;
  const int samples = bytes <= (1 << 20) ? 101 : 15;
  for (int i = 0; i < 3 * calls; ++i)
    call();
  std::vector<double> times;
  for (int sample = 0; sample < samples; ++sample) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i)
      call();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count() /
        calls);
  }
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[static_cast<size_t>(samples / 2)];
}

} // namespace bench

#endif // BENCH_COLLECTIVE_MEASURE_H
