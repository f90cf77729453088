// The clock of the benchmarks in this folder.
#ifndef BENCH_MATMUL_CLOCK_H
#define BENCH_MATMUL_CLOCK_H

#include <ctime>

/// Seconds: CPU time of this thread if it is the only one (`isAlone`), because other load on the
/// machine affects it less; otherwise wall time.
inline double now(bool isAlone) {
  timespec time;
  clock_gettime(isAlone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

#endif // BENCH_MATMUL_CLOCK_H
