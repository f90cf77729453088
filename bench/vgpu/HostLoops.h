// What the kernels of the benchmark compute, as straight loops of the host.
#ifndef BENCH_VGPU_HOSTLOOPS_H
#define BENCH_VGPU_HOSTLOOPS_H

#include <cstdint>

namespace tilewright::bench {

/// Of each row; by exp2 as the kernel does it.
void hostSoftmax(const float *in, float *out, int rows, int columns);
/// c = a * b, square, row-major.
void hostMatmul(const float *a, const float *b, float *c, int n);
/// c (f32) = a * b transposed, square, of f16 in row-major order. Factors are turned
/// into f32 once, b into row-major order, so that the loop over columns is a vector's.
void hostHalfMatmul(const uint16_t *a, const uint16_t *b, float *c, int n);

} // namespace tilewright::bench

#endif // BENCH_VGPU_HOSTLOOPS_H
