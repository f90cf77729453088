// Tensor: a tensor value of the evaluated program.
#ifndef TILEWRIGHT_INTERPRET_TENSOR_H
#define TILEWRIGHT_INTERPRET_TENSOR_H

#include "tilewright/interpret/Context.h"
#include "tilewright/interpret/Scalars.h"
#include "tilewright/numerics/Shape.h"

#include <cassert>
#include <memory>

namespace tilewright::interpret {

using numerics::Shape;

/// Elements in row-major order, dense, storageBytes(type) each. Copies share the bytes, so a copy
/// is cheap and the bytes are immutable once shared:
///
///   TILEWRIGHT_ASSIGN(Tensor result, Tensor::allocate(type, shape, context));
///   fill(result.mutableData());      // still the only owner
///   return result;                   // immutable from here on
///
/// A Tensor may be a view of memory that it does not own (a mapped constant). Then its bytes need
/// not be aligned, so elements are read with memcpy or loadScalar.
class Tensor {
public:
  /// A scalar `false`.
  Tensor() = default;

  /// A tensor with uninitialized elements.
  static Result<Tensor> allocate(ElementType type, Shape shape, Context &context);
  /// A tensor with every element equal to `value`.
  static Result<Tensor> filled(ElementType type, Shape shape, const Scalar &value,
                               Context &context);
  /// A tensor with every element a bitwise copy of the one at `element`, including NaN payloads.
  static Result<Tensor> copies(ElementType type, Shape shape, const std::byte *element,
                               Context &context);
  /// A scalar tensor.
  static Result<Tensor> scalar(ElementType type, const Scalar &value, Context &context);
  /// A tensor over bytes that `owner` owns; the bytes are not copied and do not count against the
  /// budget. Without an owner, the caller must keep them alive.
  static Tensor view(ElementType type, Shape shape, const std::byte *data,
                     std::shared_ptr<const void> owner);

  ElementType type() const { return elementType; }
  const Shape &shape() const { return dims; }
  int64_t rank() const { return dims.rank(); }
  int64_t elementCount() const { return dims.elementCount(); }
  int64_t byteCount() const { return dims.byteCount(elementType); }
  size_t elementBytes() const { return numerics::storageBytes(elementType); }

  const std::byte *data() const { return bytes.get(); }
  /// The bytes for writing; this tensor must be their sole owner.
  std::byte *mutableData() {
    assert(isSoleOwner() && "shared elements are immutable");
    return const_cast<std::byte *>(bytes.get());
  }
  /// Whether no other tensor shares the bytes, so that a kernel may work in place.
  bool isSoleOwner() const { return writable && bytes.use_count() == 1; }
  /// Whether this tensor keeps the bytes alive; a view may outlive them.
  bool isOwned() const { return bytes.use_count() > 0; }
  /// This tensor if it is the sole owner of its bytes, otherwise a copy.
  Result<Tensor> intoSoleOwner(Context &context) &&;

  Scalar at(int64_t index) const { return loadScalar(elementType, element(index)); }
  void set(int64_t index, const Scalar &value) {
    storeScalar(elementType, mutableData() + offsetOf(index), value);
  }
  /// An element of an integer or pred tensor as an index; a ui64 beyond int64 saturates.
  int64_t indexAt(int64_t index) const;

  /// A tensor of the same elements with another shape of the same size.
  Tensor reshaped(Shape shape) const;
  /// A tensor of the same bytes with another type, and a shape of the same size in bytes.
  Tensor reinterpreted(ElementType type, Shape shape) const;

  /// "2x3xf32".
  std::string typeString() const;
  /// The elements, nested in brackets, at most `limit` of them.
  std::string toString(int64_t limit = 32) const;

private:
  Tensor(ElementType type, Shape shape, std::shared_ptr<const std::byte> bytes, bool writable)
      : elementType(type), writable(writable), dims(std::move(shape)), bytes(std::move(bytes)) {}

  size_t offsetOf(int64_t index) const {
    assert(index >= 0 && index < elementCount());
    return static_cast<size_t>(index) * elementBytes();
  }
  const std::byte *element(int64_t index) const { return data() + offsetOf(index); }

  ElementType elementType = ElementType::pred;
  bool writable = false;
  Shape dims;
  std::shared_ptr<const std::byte> bytes = falseByte();

  static std::shared_ptr<const std::byte> falseByte();
};

/// One element as text: "-3", "1.5", "(0, 1)", "true".
std::string toString(ElementType type, const Scalar &value);

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_TENSOR_H
