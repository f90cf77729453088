// fft.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_FFT_H
#define TILEWRIGHT_INTERPRET_KERNELS_FFT_H

#include "tilewright/interpret/kernels/Indexing.h"

namespace tilewright::interpret {

enum class FftKind : uint8_t { fft, ifft, rfft, irfft };

/// Transforms the last one to three dimensions. `lengths` are their sizes; for rfft and irfft, the
/// sizes of the real tensor.
///
/// complex<f32> and f32 are computed in double, complex<f64> and f64 in long double, and rounded
/// once. Powers of two take n log n steps, other lengths four times as many as the next power of
/// two (Bluestein's algorithm); the error stays below one unit in the last place of the largest
/// element.
///  - interpretShape: lengths and operand do not match.
///  - operandType: the operand is not real (rfft) or complex (the other kinds) of 32 or 64 bits.
Result<Tensor> fft(const Tensor &operand, FftKind kind, std::span<const int64_t> lengths,
                   Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_FFT_H
