#include "tilewright/interpret/kernels/Elementwise.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace tilewright::interpret {

/// Elements per block: small enough that decoded blocks stay in the L1 cache, large enough for a
/// tight decoding loop per type.
static constexpr int64_t blockSize = 128;

Result<Tensor> elementwise(ScalarOp op, std::span<const Tensor> operands, ElementType result,
                           Context &context) {
  assert(operands.size() == arityOf(op));
  const ElementType operandType = operands[op == ScalarOp::select ? 1 : 0].type();
  const Operation operation = operationFor(op, operandType, result);
  if (!operation)
    return Status(Code::unimplemented,
                  concat(nameOf(op), " of ", numerics::spelling(operandType), " with a result of ",
                         numerics::spelling(result), " is not defined"));

  Shape shape = operands[0].shape();
  for (const Tensor &operand : operands) {
    if (operand.rank() == 0)
      continue;
    if (shape.rank() == 0)
      shape = operand.shape();
    // Only dynamic shapes can differ here; the verifier has compared static ones.
    if (operand.shape() != shape)
      return Status(Error::interpretShape,
                    concat("operands must have the same shape, got ", shape.toString(), " and ",
                           operand.shape().toString()));
  }
  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(result, shape, context));

  // Unused operands stay zero; a scalar operand is decoded once.
  std::array<std::array<Scalar, blockSize>, 3> blocks;
  std::array<bool, 3> repeats{};
  const int64_t count = tensor.elementCount();
  if (count == 0)
    return tensor;
  for (size_t i = 0; i < operands.size(); ++i) {
    repeats[i] = operands[i].rank() != shape.rank();
    if (repeats[i])
      blocks[i].fill(operands[i].at(0));
  }

  std::array<Scalar, blockSize> values;
  std::byte *out = tensor.mutableData();
  for (int64_t start = 0; start < count; start += blockSize) {
    const int64_t length = std::min(blockSize, count - start);
    for (size_t i = 0; i < operands.size(); ++i)
      if (!repeats[i])
        loadScalars(operands[i].type(),
                    operands[i].data() + start * int64_t(operands[i].elementBytes()), length,
                    blocks[i].data());
    for (size_t i = 0; i < static_cast<size_t>(length); ++i)
      values[i] = operation(blocks[0][i], blocks[1][i], blocks[2][i]);
    storeScalars(result, out + start * int64_t(tensor.elementBytes()), length, values.data());
  }
  return tensor;
}

Result<std::vector<Tensor>> elementwise(const ScalarFunction &function,
                                        std::span<const Tensor> operands, Context &context) {
  assert(operands.size() == function.argumentTypes().size() && !operands.empty());
  const Shape &shape = operands[0].shape();
  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  std::vector<Tensor> results;
  for (ElementType type : function.resultTypes()) {
    TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(type, shape, context));
    results.push_back(std::move(tensor));
  }
  ScalarCall call(function);
  std::vector<Scalar> arguments(operands.size()), values(results.size());
  for (int64_t index = 0; index < shape.elementCount(); ++index) {
    for (size_t i = 0; i < operands.size(); ++i)
      arguments[i] = operands[i].at(index);
    TILEWRIGHT_TRY(call(arguments.data(), values.data()));
    for (size_t i = 0; i < results.size(); ++i)
      results[i].set(index, values[i]);
  }
  return results;
}

/// Wide enough for the bits of any element.
using Bits = unsigned __int128;

static Bits loadBits(ElementType type, const std::byte *data) {
  if (numerics::isComplex(type)) {
    const ElementType component = numerics::componentOf(type);
    const size_t bytes = numerics::storageBytes(component);
    return loadBits(component, data) | loadBits(component, data + bytes) << (8 * bytes);
  }
  const Scalar value = loadScalar(type, data);
  return operationFor(ScalarOp::toBits, type)(value, value, value).u;
}

static void storeBits(ElementType type, std::byte *data, Bits bits) {
  if (numerics::isComplex(type)) {
    const ElementType component = numerics::componentOf(type);
    const size_t bytes = numerics::storageBytes(component);
    storeBits(component, data, bits);
    storeBits(component, data + bytes, bits >> (8 * bytes));
    return;
  }
  const Scalar value = Scalar::ofUnsigned(static_cast<uint64_t>(bits));
  storeScalar(type, data, operationFor(ScalarOp::fromBits, type, type)(value, value, value));
}

Result<Tensor> bitcastConvert(const Tensor &operand, ElementType result, Shape resultShape,
                              Context &context) {
  // If both types have whole bytes, only the type changes: our tensors are little-endian, which
  // matches the bit order of bitcast_convert.
  const unsigned from = numerics::bitWidth(operand.type()), to = numerics::bitWidth(result);
  if (from % 8 == 0 && to % 8 == 0)
    return operand.reinterpreted(result, std::move(resultShape));

  TILEWRIGHT_TRY(context.countSteps(std::max(operand.elementCount(), resultShape.elementCount())));
  TILEWRIGHT_ASSIGN(Tensor tensor, Tensor::allocate(result, std::move(resultShape), context));
  std::byte *out = tensor.mutableData();
  if (from >= to) {
    const int64_t parts = from / to;
    for (int64_t i = 0; i < operand.elementCount(); ++i) {
      const Bits bits =
          loadBits(operand.type(), operand.data() + i * int64_t(operand.elementBytes()));
      for (int64_t part = 0; part < parts; ++part)
        storeBits(result, out + (i * parts + part) * int64_t(tensor.elementBytes()),
                  (bits >> (part * to)) & ((Bits(1) << to) - 1));
    }
  } else {
    const int64_t parts = to / from;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) {
      Bits bits = 0;
      for (int64_t part = 0; part < parts; ++part)
        bits |= loadBits(operand.type(),
                         operand.data() + (i * parts + part) * int64_t(operand.elementBytes()))
                << (part * from);
      storeBits(result, out + i * int64_t(tensor.elementBytes()), bits);
    }
  }
  return tensor;
}

} // namespace tilewright::interpret
