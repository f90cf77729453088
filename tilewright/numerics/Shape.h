// Shape: checked element and byte counts. All code that multiplies dimensions uses it, so an
// overflow is reported as an error and never leads to a buffer that is too small.
#ifndef TILEWRIGHT_NUMERICS_SHAPE_H
#define TILEWRIGHT_NUMERICS_SHAPE_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/support/Status.h"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace tilewright::numerics {

/// The static dimensions of a tensor. Every Shape is valid: sizes are not negative, and neither
/// their product nor any byte count derived from it overflows.
///
///   TILEWRIGHT_ASSIGN(Shape shape, Shape::create({2, 3}));
///   shape.elementCount();                   // 6
///   shape.byteCount(ElementType::f32);      // 24
class Shape {
public:
  /// A scalar.
  Shape() = default;

  /// - invalidArgument: a dimension is negative.
  /// - outOfRange: the elements, at 16 bytes each, exceed 2^63 bytes.
  static Result<Shape> create(std::span<const int64_t> dims);
  static Result<Shape> create(std::initializer_list<int64_t> dims) {
    return create(std::span(dims.begin(), dims.size()));
  }

  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  int64_t operator[](int64_t dim) const { return sizes[static_cast<size_t>(dim)]; }
  std::span<const int64_t> dims() const { return sizes; }
  int64_t elementCount() const { return count; }
  int64_t byteCount(ElementType type) const {
    return count * static_cast<int64_t>(storageBytes(type));
  }

  /// Row-major strides, in elements.
  std::vector<int64_t> strides() const;

  /// "2x3", or "scalar".
  std::string toString() const;

  bool operator==(const Shape &) const = default;

private:
  std::vector<int64_t> sizes;
  int64_t count = 1;
};

} // namespace tilewright::numerics

#endif // TILEWRIGHT_NUMERICS_SHAPE_H
