#include "tilewright/interpret/Tensor.h"

#include "tilewright/support/Concat.h"

#include <cstring>
#include <limits>
#include <sstream>

namespace tilewright::interpret {

std::shared_ptr<const std::byte> Tensor::falseByte() {
  static constexpr std::byte zero{0};
  // A shared_ptr without an owner, because static memory needs none.
  return {std::shared_ptr<void>(), &zero};
}

Result<Tensor> Tensor::allocate(ElementType type, Shape shape, Context &context) {
  TILEWRIGHT_ASSIGN(std::shared_ptr<std::byte> bytes, context.allocate(shape.byteCount(type)));
  return Tensor(type, std::move(shape), std::move(bytes), /*writable=*/true);
}

Result<Tensor> Tensor::copies(ElementType type, Shape shape, const std::byte *element,
                              Context &context) {
  TILEWRIGHT_ASSIGN(Tensor tensor, allocate(type, std::move(shape), context));
  const int64_t total = tensor.byteCount();
  if (total == 0)
    return tensor;
  std::byte *data = tensor.mutableData();
  std::memcpy(data, element, tensor.elementBytes());
  // Double the filled part with each copy, so that there are few copies.
  for (int64_t done = static_cast<int64_t>(tensor.elementBytes()); done < total; done *= 2)
    std::memcpy(data + done, data, static_cast<size_t>(std::min(done, total - done)));
  return tensor;
}

Result<Tensor> Tensor::filled(ElementType type, Shape shape, const Scalar &value,
                              Context &context) {
  std::byte element[16]; // complex<f64>
  storeScalar(type, element, value);
  return copies(type, std::move(shape), element, context);
}

Result<Tensor> Tensor::scalar(ElementType type, const Scalar &value, Context &context) {
  return filled(type, Shape(), value, context);
}

Tensor Tensor::view(ElementType type, Shape shape, const std::byte *data,
                    std::shared_ptr<const void> owner) {
  return Tensor(type, std::move(shape), std::shared_ptr<const std::byte>(std::move(owner), data),
                /*writable=*/false);
}

Result<Tensor> Tensor::intoSoleOwner(Context &context) && {
  if (isSoleOwner())
    return std::move(*this);
  TILEWRIGHT_ASSIGN(Tensor copy, allocate(elementType, dims, context));
  std::memcpy(copy.mutableData(), data(), static_cast<size_t>(byteCount()));
  return copy;
}

int64_t Tensor::indexAt(int64_t index) const {
  const Scalar value = at(index);
  if (numerics::isUnsigned(elementType) && value.u > std::numeric_limits<int64_t>::max())
    return std::numeric_limits<int64_t>::max();
  return value.i;
}

Tensor Tensor::reshaped(Shape shape) const {
  assert(shape.elementCount() == elementCount());
  return Tensor(elementType, std::move(shape), bytes, writable);
}

Tensor Tensor::reinterpreted(ElementType type, Shape shape) const {
  assert(shape.byteCount(type) == byteCount());
  return Tensor(type, std::move(shape), bytes, writable);
}

std::string Tensor::typeString() const {
  std::string text;
  for (int64_t size : dims.dims())
    text += concat(size, "x");
  return text + std::string(numerics::spelling(elementType));
}

std::string toString(ElementType type, const Scalar &value) {
  std::ostringstream out;
  out.precision(type == ElementType::f64 || type == ElementType::c128 ? 17 : 9);
  switch (numerics::kindOf(type)) {
  case ElementKind::boolean:
    out << (value.u ? "true" : "false");
    break;
  case ElementKind::signedInteger:
    out << value.i;
    break;
  case ElementKind::unsignedInteger:
    out << value.u;
    break;
  case ElementKind::real:
    out << value.r;
    break;
  case ElementKind::complex:
    out << '(' << value.r << ", " << value.im << ')';
    break;
  }
  return std::move(out).str();
}

std::string Tensor::toString(int64_t limit) const {
  std::string text;
  if (elementCount() == 0)
    return "[]";
  const int64_t count = std::min(limit, elementCount());
  for (int64_t index = 0; index < count; ++index) {
    // Open a bracket for each dimension that begins at this element.
    int64_t opened = 0, block = 1;
    for (int64_t dim = rank(); dim > 0; --dim) {
      block *= dims[dim - 1];
      opened += index % block == 0;
    }
    text += concat(index ? ", " : "", std::string(static_cast<size_t>(opened), '['),
                   interpret::toString(elementType, at(index)));
    int64_t closed = 0;
    block = 1;
    for (int64_t dim = rank(); dim > 0; --dim) {
      block *= dims[dim - 1];
      closed += (index + 1) % block == 0;
    }
    text += std::string(static_cast<size_t>(closed), ']');
  }
  if (count < elementCount())
    text += concat(", … ", elementCount() - count, " more");
  return text;
}

} // namespace tilewright::interpret
