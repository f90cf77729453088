// RowArithmetic: an operation on rows of an element type.
#ifndef TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_ROWARITHMETIC_H
#define TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_ROWARITHMETIC_H

#include "tilewright/runtime/cpu/library/CallReader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace tilewright::runtime::cpu {

/// - libraryCall: attribute `name` is argmax or argmin, which only reduce knows.
Status checkCombiner(const CallReader &reader, std::string_view name, Combiner combiner);

/// Scans of up to this many elements round to the stored type at each step, as the body specifies
/// and the reference interpreter does. Longer scans do not, because the error would grow too much.
constexpr int64_t maxRoundedSteps = 32;

/// Positions, `step` elements apart, with a row of `inner` elements at each of `taps`, which are
/// numbers of elements after the position.
struct TappedRows {
  int64_t positions, step, inner;
  std::span<const int64_t> taps;
};

/// An associative operation on rows. `stored` are elements as in tensors; `values` are in the type
/// of computation, which is the stored type except for bf16 and f16, where it is f32 so that a sum
/// is rounded once. All kernels that combine elements (reduce, reduce_window, scatter, cumulative
/// sums) use these functions, which are compiled for each vector width. Pointers are aligned to
/// elements. Results do not depend on the vector width.
class RowArithmetic {
public:
  /// Null if the operation is not defined for the type.
  static std::unique_ptr<RowArithmetic> create(Combiner op, ElementType type);
  virtual ~RowArithmetic() = default;

  const int64_t storedBytes, valueBytes;

  /// The identity: combining it with a value gives that value.
  virtual void identity(std::byte *value) const = 0;
  virtual void widen(const std::byte *stored, std::byte *values, int64_t count) const = 0;
  virtual void narrow(const std::byte *values, std::byte *stored, int64_t count) const = 0;

  /// values[i] = op(values[i], stored[i])
  virtual void combine(std::byte *values, const std::byte *stored, int64_t count) const = 0;
  /// values[i] = op(values[i], others[i])
  virtual void combineValues(std::byte *values, const std::byte *others, int64_t count) const = 0;
  /// target[i] = op(target[i], stored[i]), both in the stored type
  virtual void update(std::byte *target, const std::byte *stored, int64_t count) const = 0;

  /// For each position, combines its rows in order; there is at least one tap:
  ///   values[p * inner + i] = op(… op(stored[p * step + taps[0] + i],
  ///                                   stored[p * step + taps[1] + i]) …)
  virtual void combineTaps(std::byte *values, const std::byte *stored,
                           const TappedRows &rows) const {
    for (int64_t p = 0; p < rows.positions; ++p, values += rows.inner * valueBytes) {
      const std::byte *at = stored + p * rows.step * storedBytes;
      widen(at + rows.taps[0] * storedBytes, values, rows.inner);
      for (const int64_t tap : rows.taps.subspan(1))
        combine(values, at + tap * storedBytes, rows.inner);
    }
  }

  /// Combines `count` contiguous elements, at least one, in a balanced tree over lanes.
  virtual void reduce(const std::byte *stored, int64_t count, std::byte *value) const = 0;

  /// to[i] = op(carry, op(stored[0] … stored[i])), from the other end if `reversed`; `total` is the
  /// combination of all elements, without the carry. If `to` is null, computes only the total. See
  /// maxRoundedSteps.
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

/// Implements updateAt() for both types of index by Rows::updateEach(), a template with the same
/// arguments.
template <typename Rows> class IndexedRows : public RowArithmetic {
public:
  void updateAt(std::byte *target, int64_t targetStride, int64_t limit, const int32_t *index,
                int64_t indexStride, const std::byte *stored, int64_t storedStride,
                int64_t count) const final {
    static_cast<const Rows *>(this)->updateEach(target, targetStride, limit, index, indexStride,
                                                stored, storedStride, count);
  }
  void updateAt(std::byte *target, int64_t targetStride, int64_t limit, const int64_t *index,
                int64_t indexStride, const std::byte *stored, int64_t storedStride,
                int64_t count) const final {
    static_cast<const Rows *>(this)->updateEach(target, targetStride, limit, index, indexStride,
                                                stored, storedStride, count);
  }

protected:
  using RowArithmetic::RowArithmetic;
};

namespace detail {
std::unique_ptr<RowArithmetic> realRows(Combiner op, ElementType type);
std::unique_ptr<RowArithmetic> integerRows(Combiner op, ElementType type);
std::unique_ptr<RowArithmetic> scalarRows(Combiner op, ElementType type);
} // namespace detail

} // namespace tilewright::runtime::cpu

#endif // TILEWRIGHT_RUNTIME_CPU_LIBRARY_ROWS_ROWARITHMETIC_H
