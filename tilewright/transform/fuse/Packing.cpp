#include "tilewright/transform/fuse/Packing.h"

#include "tilewright/dialect/stablehlo/ElementBits.h"
#include "tilewright/dialect/stablehlo/ops/BinaryOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/dialect/stablehlo/ops/DataMovementOps.h"
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/interpret/Context.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/numerics/PackedElements.h"

using namespace mlir;

namespace tilewright::fuse {

bool isNarrow(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat() ||
      tensor.getNumElements() == 0)
    return false;
  const unsigned bits = tensor.getElementTypeBitWidth();
  return bits == 2 || bits == 4 || bits == 6;
}

RankedTensorType packedType(RankedTensorType type) {
  return RankedTensorType::get(
      numerics::packedBytes(type.getElementTypeBitWidth(), type.getNumElements()),
      IntegerType::get(type.getContext(), 8, IntegerType::Unsigned));
}

namespace {

/// Emits ops on bytes in the shape of an array's groups (PackedGroup). If a row of the last
/// dimension consists of whole groups, the groups keep the leading dimensions, so that a kernel can
/// tile them like the array. Otherwise the groups form a single dimension.
class ElementGroups {
public:
  ElementGroups(OpBuilder &builder, Location loc, RankedTensorType array)
      : builder(builder), loc(loc), array(array), bits(array.getElementTypeBitWidth()),
        group(numerics::packedGroup(bits)), byte(builder.getIntegerType(8, /*isSigned=*/false)) {
    if (array.getRank() > 0 && array.getShape().back() % group.elements == 0) {
      shape.assign(array.getShape().begin(), array.getShape().end());
      shape.back() /= group.elements;
    } else {
      shape = {(array.getNumElements() + group.elements - 1) / group.elements};
    }
    count = ShapedType::getNumElements(shape);
  }

  Value pack(Value value) {
    Value elements =
        reshape(stablehlo::bitsOfElements(builder, loc, value), {array.getNumElements()});
    elements = reshape(padded(elements, count * group.elements), with(group.elements));
    SmallVector<Value> element;
    for (int64_t i = 0; i < group.elements; ++i)
      element.push_back(at(elements, i));
    SmallVector<Value> bytes;
    for (int64_t i = 0; i < group.bytes; ++i) {
      Value sum;
      for (int64_t e = 0; e < group.elements; ++e) {
        const int64_t place = e * bits - i * 8; // of the element's lowest bit in this byte
        if (place <= -int64_t(bits) || place >= 8)
          continue;
        Value part = shifted(element[static_cast<size_t>(e)], place);
        sum = sum ? Value(stablehlo::OrOp::create(builder, loc, part.getType(), sum, part)) : part;
      }
      bytes.push_back(reshape(sum, with(1)));
    }
    const int64_t size = packedType(array).getNumElements();
    return first(reshape(joined(bytes), {count * group.bytes}), size);
  }

  Value unpack(Value bytes) {
    bytes = reshape(padded(bytes, count * group.bytes), with(group.bytes));
    Value elements = group.bytes == 1 ? spread(bytes) : unpackWide(bytes);
    elements = masked(elements);
    elements = first(reshape(elements, {count * group.elements}), array.getNumElements());
    return stablehlo::elementsOfBits(builder, loc, reshape(elements, array.getShape()),
                                     array.getElementType());
  }

private:
  SmallVector<int64_t> with(int64_t last) const {
    SmallVector<int64_t> dims(shape);
    dims.push_back(last);
    return dims;
  }
  RankedTensorType bytesOf(ArrayRef<int64_t> dims) const {
    return RankedTensorType::get(dims, byte);
  }
  static ArrayRef<int64_t> dimsOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  Value reshape(Value value, ArrayRef<int64_t> dims) {
    // Looks through the previous reshape: a detour through one dimension would leave the tiler no
    // dimensions.
    if (auto before = value.getDefiningOp<stablehlo::ReshapeOp>()) {
      value = before.getOperand();
      if (before->use_empty())
        before.erase();
    }
    if (dimsOf(value) == dims)
      return value;
    return stablehlo::ReshapeOp::create(builder, loc, bytesOf(dims), value);
  }
  Value number(ArrayRef<int64_t> dims, int64_t value) {
    return stablehlo::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(bytesOf(dims), APInt(8, static_cast<uint64_t>(value))));
  }
  /// The array, padded with zeros to `size` bytes.
  Value padded(Value flat, int64_t size) {
    const int64_t missing = size - dimsOf(flat)[0];
    if (missing == 0)
      return flat;
    return stablehlo::PadOp::create(builder, loc, bytesOf(size), flat, number({}, 0),
                                    ArrayRef<int64_t>{0}, ArrayRef<int64_t>{missing},
                                    ArrayRef<int64_t>{0});
  }
  Value first(Value flat, int64_t size) {
    if (dimsOf(flat)[0] == size)
      return flat;
    return stablehlo::SliceOp::create(builder, loc, bytesOf(size), flat, ArrayRef<int64_t>{0},
                                      ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
  }
  /// Element or byte `i` of each group.
  Value at(Value groups, int64_t i) {
    SmallVector<int64_t> start(shape.size(), 0), limit(shape), step(shape.size() + 1, 1);
    start.push_back(i);
    limit.push_back(i + 1);
    Value one =
        stablehlo::SliceOp::create(builder, loc, bytesOf(with(1)), groups, start, limit, step);
    return reshape(one, shape);
  }
  Value joined(ArrayRef<Value> parts) {
    if (parts.size() == 1)
      return parts[0];
    return stablehlo::ConcatenateOp::create(
        builder, loc, bytesOf(with(static_cast<int64_t>(parts.size()))), parts, shape.size());
  }
  /// `value` times 2^places.
  Value shifted(Value value, int64_t places) {
    if (places == 0)
      return value;
    Value by = number(dimsOf(value), std::abs(places));
    if (places > 0)
      return stablehlo::ShiftLeftOp::create(builder, loc, value.getType(), value, by);
    return stablehlo::ShiftRightLogicalOp::create(builder, loc, value.getType(), value, by);
  }
  Value masked(Value value) {
    return stablehlo::AndOp::create(builder, loc, value.getType(), value,
                                    number(dimsOf(value), (1 << bits) - 1));
  }

  /// The elements of bytes that hold several each: every element shifts its byte by its position.
  Value spread(Value bytes) {
    RankedTensorType all = bytesOf(with(group.elements));
    Value copies = stablehlo::BroadcastInDimOp::create(
        builder, loc, all, reshape(bytes, shape),
        llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(shape.size()))));
    Value place = stablehlo::IotaOp::create(builder, loc, all, shape.size());
    Value by =
        stablehlo::MultiplyOp::create(builder, loc, all, place, number(all.getShape(), bits));
    return stablehlo::ShiftRightLogicalOp::create(builder, loc, all, copies, by);
  }
  /// The elements of groups of several bytes.
  Value unpackWide(Value bytes) {
    SmallVector<Value> elements;
    for (int64_t e = 0; e < group.elements; ++e) {
      const int64_t low = e * bits / 8, high = (e * bits + bits - 1) / 8;
      Value sum = shifted(at(bytes, low), low * 8 - e * bits);
      if (high != low) {
        Value part = shifted(at(bytes, high), high * 8 - e * bits);
        sum = stablehlo::OrOp::create(builder, loc, part.getType(), sum, part);
      }
      elements.push_back(reshape(sum, with(1)));
    }
    return joined(elements);
  }

  OpBuilder &builder;
  Location loc;
  RankedTensorType array;
  unsigned bits;
  numerics::PackedGroup group;
  Type byte;
  SmallVector<int64_t> shape; // of the groups
  int64_t count = 0;          // of groups
};

} // namespace

Value emitPack(OpBuilder &builder, Location loc, Value value) {
  return ElementGroups(builder, loc, cast<RankedTensorType>(value.getType())).pack(value);
}

Value emitUnpack(OpBuilder &builder, Location loc, Value bytes, RankedTensorType type) {
  return ElementGroups(builder, loc, type).unpack(bytes);
}

DenseElementsAttr packConstant(ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  const RankedTensorType packed = packedType(type);
  interpret::Context context;
  Result<interpret::Tensor> tensor = interpret::constantTensor(value, context);
  if (!tensor.isOk())
    return {};
  std::vector<char> bytes(static_cast<size_t>(packed.getNumElements()));
  numerics::packElements(tensor->type(), reinterpret_cast<std::byte *>(bytes.data()),
                         tensor->data(), type.getNumElements());
  return DenseElementsAttr::getFromRawBuffer(packed, bytes);
}

} // namespace tilewright::fuse
