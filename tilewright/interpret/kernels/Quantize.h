// uniform_quantize and uniform_dequantize.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_QUANTIZE_H
#define TILEWRIGHT_INTERPRET_KERNELS_QUANTIZE_H

#include "tilewright/interpret/kernels/Indexing.h"

#include <optional>

namespace tilewright::interpret {

/// A quantised element type: an element with storage s means
/// (s - zeroPoint) * scale in the expressed type. Quantised tensors are kept as
/// tensors of their storage type; arithmetic on them is dequantise, compute,
/// quantise.
struct QuantizedType {
  ElementType storage = ElementType::i8;
  ElementType expressed = ElementType::f32;
  int64_t storageMin = -128, storageMax = 127;
  /// One scale and zero point, or with `axis` one of each for every index of that dimension.
  std::vector<double> scales;
  std::vector<int64_t> zeroPoints;
  std::optional<int64_t> axis;
};

/// convert(s - zeroPoint) * scale, each step in the expressed type. The
/// difference is exact: in the storage type, as the specification writes it,
/// 127 - (-128) would wrap around.
///  - interpretShape: the axis does not fit.
///  - operandType: the operand is not of the storage type, or the types are no quantisation.
Result<Tensor> dequantize(const Tensor &operand, const QuantizedType &type, Context &context);

/// round(clamp(x / scale + zeroPoint)), each step in the expressed type, to
/// nearest even. NaN becomes 0.
///  - interpretShape, operandType: as above, with an operand of the expressed type.
Result<Tensor> quantize(const Tensor &operand, const QuantizedType &type, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_QUANTIZE_H
