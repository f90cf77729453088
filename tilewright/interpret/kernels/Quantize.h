// uniform_quantize and uniform_dequantize.
#ifndef TILEWRIGHT_INTERPRET_KERNELS_QUANTIZE_H
#define TILEWRIGHT_INTERPRET_KERNELS_QUANTIZE_H

#include "tilewright/interpret/kernels/Indexing.h"

#include <optional>

namespace tilewright::interpret {

/// A quantized element type: storage s represents (s - zeroPoint) * scale in the expressed type.
/// Quantized tensors are kept as tensors of their storage type; arithmetic dequantizes, computes,
/// and quantizes.
struct QuantizedType {
  ElementType storage = ElementType::i8;
  ElementType expressed = ElementType::f32;
  int64_t storageMin = -128, storageMax = 127;
  /// One scale and one zero point, or one of each per index of dimension `axis`.
  std::vector<double> scales;
  std::vector<int64_t> zeroPoints;
  std::optional<int64_t> axis;
};

/// convert(s - zeroPoint) * scale, each step in the expressed type. The difference is computed
/// exactly; in the storage type, as the specification has it, 127 - (-128) would wrap around.
///  - interpretShape: the axis does not match.
///  - operandType: the operand is not of the storage type, or the types are not a valid
///    quantization.
Result<Tensor> dequantize(const Tensor &operand, const QuantizedType &type, Context &context);

/// round(clamp(x / scale + zeroPoint)), each step in the expressed type; rounds to nearest even.
/// NaN becomes 0.
///  - interpretShape, operandType: as in dequantize(), with an operand of the expressed type.
Result<Tensor> quantize(const Tensor &operand, const QuantizedType &type, Context &context);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_KERNELS_QUANTIZE_H
