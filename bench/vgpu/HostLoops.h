// The benchmark's kernels as plain loops on the host.
#ifndef BENCH_VGPU_HOSTLOOPS_H
#define BENCH_VGPU_HOSTLOOPS_H

#include <cstdint>

namespace tilewright::bench {

/// Softmax of each row; uses exp2, as the kernel does.
void hostSoftmax(const float *in, float *out, int rows, int columns);
/// c = a * b, square, row-major.
void hostMatmul(const float *a, const float *b, float *c, int n);
/// c = a * transpose(b) for square row-major matrices: a and b are f16, c is f32. Converts a and b
/// to f32 once, and b to row-major order, so that the loop over columns vectorises.
void hostHalfMatmul(const uint16_t *a, const uint16_t *b, float *c, int n);

} // namespace tilewright::bench

#endif // BENCH_VGPU_HOSTLOOPS_H
