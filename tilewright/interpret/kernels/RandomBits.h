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

/// What rng_bit_generator gives.
struct RandomBits {
  Tensor state;
  Tensor bits;
};

/// Random bits in the layout of XLA's CPU and GPU backends, bit for bit.
///
/// The state is ui64: a key, then a counter of one word (both algorithms) or two
/// (Philox, low word first). One Philox word counts below a high word that is
/// the key. The default is Philox.
///
///   ThreeFry, 64 bits    element i from counter + i, low half first
///   ThreeFry, below      two elements from a counter: along the first dimension
///                        of even size, or else the longest, neighbours share one
///   Philox               four words from a counter + i, in order; two for 64 bits
///
/// Elements below 32 bits take the low bits of a word.
///  - randomState: the state is not of these sizes and type.
///  - operandType: complex and pred have no bits to fill at random.
Result<RandomBits> randomBits(RandomAlgorithm algorithm, const Tensor &state, ElementType type,
                              const Shape &shape, Context &context);

/// The source of `rng`, whose results the specification leaves open. The same
/// seed gives the same numbers; each call continues where the last one ended.
struct RandomStream {
  uint64_t seed = 0;
  uint64_t counter = 0;
};

/// Numbers of [a, b), each whole number or each multiple of 2^-53 of the
/// interval equally likely; one that rounds to b becomes a, so that b is never
/// reached. If a >= b, which the specification leaves undefined, all are a.
///  - interpretShape, operandType: a and b are not scalars of one real, integer or pred type.
Result<Tensor> randomUniform(const Tensor &a, const Tensor &b, const Shape &shape,
                             RandomStream &stream, Context &context);

/// Numbers normally distributed with mean `mean` and standard deviation `deviation`.
///  - interpretShape, operandType: as above, for real types.
Result<Tensor> randomNormal(const Tensor &mean, const Tensor &deviation, const Shape &shape,
                            RandomStream &stream, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_RANDOMBITS_H
