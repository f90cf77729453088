// RowArithmetic: one operation on rows of one element type.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_ROWARITHMETIC_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_ROWARITHMETIC_H

#include "tilewright/runtime/cpu/library/Attributes.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tilewright::runtime::cpu {

/// What a region does, if it is one well-known operation.
enum class CombineOp : uint8_t {
  add,
  multiply,
  maximum,
  minimum,
  bitAnd,
  bitOr,
  bitXor,
  second,   // gives its second argument
  function, // anything else: a compiled body
};

/// The operation that string attribute `name` spells.
///  - libraryCall: it spells none.
Result<CombineOp> combineOpOf(const CallReader &reader, std::string_view name);

/// Running combinations of up to so many elements are rounded to the stored type at each step,
/// as the evaluator does and the body says; of longer ones the error would grow too much.
constexpr int64_t mostRoundedSteps = 32;

/// An associative operation on rows. `stored` are elements as they lie in tensors,
/// `values` what is computed with: the same for most types, f32 for bf16 and f16, so that
/// a sum is rounded once. Everything that combines elements (reduce, reduce_window, scatter,
/// cumulative sums) is built from these, which are compiled for each vector width.
/// Pointers are aligned to elements. Results do not depend on the vector width.
class RowArithmetic {
public:
  /// For every type for which the operation is defined, otherwise null.
  static std::unique_ptr<RowArithmetic> create(CombineOp op, ElementType type);
  virtual ~RowArithmetic() = default;

  const int64_t storedBytes, valueBytes;

  /// The value that changes no other.
  virtual void identity(std::byte *value) const = 0;
  virtual void widen(const std::byte *stored, std::byte *values, int64_t count) const = 0;
  virtual void narrow(const std::byte *values, std::byte *stored, int64_t count) const = 0;

  /// values[i] = op(values[i], stored[i])
  virtual void combine(std::byte *values, const std::byte *stored, int64_t count) const = 0;
  /// values[i] = op(values[i], others[i])
  virtual void combineValues(std::byte *values, const std::byte *others, int64_t count) const = 0;
  /// target[i] = op(target[i], stored[i]), both as they lie in tensors
  virtual void update(std::byte *target, const std::byte *stored, int64_t count) const = 0;

  /// The combination of neighbours, at least one: a balanced tree of lanes.
  virtual void reduce(const std::byte *stored, int64_t count, std::byte *value) const = 0;

  /// to[i] = op(carry, op(stored[0] … stored[i])), from the other end if `reversed`; `total` is
  /// the combination of all, without the carry. A null `to` asks for the total only. See
  /// mostRoundedSteps.
  virtual void scan(const std::byte *stored, std::byte *to, int64_t count, bool reversed,
                    const std::byte *carry, std::byte *total) const = 0;

  /// target[index[i * indexStride] * targetStride] = op(…, stored[i * storedStride]) for i in
  /// order; strides are in elements. An index outside [0, limit) is skipped.
  virtual void updateAt(std::byte *target, int64_t targetStride, int64_t limit,
                        const int32_t *index, int64_t indexStride, const std::byte *stored,
                        int64_t storedStride, int64_t count) const = 0;
  virtual void updateAt(std::byte *target, int64_t targetStride, int64_t limit,
                        const int64_t *index, int64_t indexStride, const std::byte *stored,
                        int64_t storedStride, int64_t count) const = 0;

protected:
  RowArithmetic(int64_t storedBytes, int64_t valueBytes)
      : storedBytes(storedBytes), valueBytes(valueBytes) {}
};

namespace detail {
std::unique_ptr<RowArithmetic> realRows(CombineOp op, ElementType type);
std::unique_ptr<RowArithmetic> integerRows(CombineOp op, ElementType type);
std::unique_ptr<RowArithmetic> scalarRows(CombineOp op, ElementType type);
} // namespace detail

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_ROWARITHMETIC_H
