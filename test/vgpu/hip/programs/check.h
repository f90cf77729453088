// Checks that the programs share.
#ifndef TEST_VGPU_HIP_PROGRAMS_CHECK_H
#define TEST_VGPU_HIP_PROGRAMS_CHECK_H

#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

/// Ends the program if a call failed.
#define HIP(call)                                                                                  \
  do {                                                                                             \
    const hipError_t error = (call);                                                               \
    if (error != hipSuccess) {                                                                     \
      std::printf("%s: %s (%s)\n", #call, hipGetErrorName(error), hipGetErrorString(error));       \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (false)

/// Ends the program if a result differs from the expected one by more than `tolerance`.
template <typename T>
void expect(const std::vector<T> &result, const std::vector<T> &expected, double tolerance = 0) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::fabs(double(result[i]) - double(expected[i]));
    if (!(difference <= tolerance)) {
      std::printf("element %zu of %zu is %g, expected %g\n", i, expected.size(), double(result[i]),
                  double(expected[i]));
      std::exit(1);
    }
  }
}

/// Device memory with the content of a vector.
template <typename T> T *toDevice(const std::vector<T> &values) {
  T *memory = nullptr;
  HIP(hipMalloc(&memory, values.size() * sizeof(T)));
  HIP(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return memory;
}
template <typename T> std::vector<T> toHost(const T *memory, size_t count) {
  std::vector<T> values(count);
  HIP(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost));
  return values;
}

/// Numbers from -1 to 1, the same in each run.
inline std::vector<float> randomFloats(size_t count, unsigned seed = 1) {
  std::vector<float> values(count);
  for (float &value : values) {
    seed = seed * 1664525 + 1013904223;
    value = float(int(seed >> 8) - (1 << 23)) / float(1 << 23);
  }
  return values;
}

#endif // TEST_VGPU_HIP_PROGRAMS_CHECK_H
