// rng_bit_generator and rng.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_RANDOMBITS_H
#define TILEWRIGHT_INTERPRET_KERNELS_RANDOMBITS_H

#include "tilewright/interpret/Tensor.h"

#include <array>
#include <utility>

namespace tilewright::interpret {

/// Threefry-2x32 with 20 rounds (Salmon et al., SC 2011).
std::array<uint32_t, 2> threefry2x32(std::array<uint32_t, 2> key, std::array<uint32_t, 2> counter);
/// Philox-4x32 with 10 rounds (the same paper).
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter);

enum class RandomAlgorithm : uint8_t { byDefault, threeFry, philox };

/// The results of rng_bit_generator.
struct RandomBits {
  Tensor state;
  Tensor bits;
};

/// Random bits that match XLA's CPU and GPU backends bit for bit.
///
/// The state is ui64: a key, then a counter of one word, or two for Philox (low word first). If the
/// counter has one word, Philox uses the key as its high word. The default is Philox.
///
///   ThreeFry, 64 bits    element i from counter + i, low half first
///   ThreeFry, narrower   two elements per counter: neighbours along the first dimension
///                        of even size, or along the longest if there is none
///   Philox               four words per counter, in order; an element of 64 bits takes two
///
/// Elements narrower than 32 bits take the low bits of a word.
///  - randomState: the state has another size or type.
///  - operandType: complex and pred elements are not supported.
Result<RandomBits> randomBits(RandomAlgorithm algorithm, const Tensor &state, ElementType type,
                              const Shape &shape, Context &context);

/// The random source of `rng`, whose results are implementation-defined. The same seed gives the
/// same numbers; each call continues where the previous call ended.
struct RandomStream {
  uint64_t seed = 0;
  uint64_t counter = 0;
};

/// Numbers in [a, b): each integer, or each multiple of 2^-53 of the interval, is equally likely. A
/// number that rounds to b is replaced by a, so that b is never returned. If a >= b, which the
/// specification leaves undefined, all numbers are a.
///  - interpretShape, operandType: a and b are not scalars of the same real, integer or pred type.
Result<Tensor> randomUniform(const Tensor &a, const Tensor &b, const Shape &shape,
                             RandomStream &stream, Context &context);

/// Normally distributed numbers with mean `mean` and standard deviation `deviation`.
///  - interpretShape, operandType: as in randomUniform(), for real types.
Result<Tensor> randomNormal(const Tensor &mean, const Tensor &deviation, const Shape &shape,
                            RandomStream &stream, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_RANDOMBITS_H
