// Rows of types without native arithmetic, computed with the scalar operations of the reference
// interpreter; and RowArithmetic::create, which chooses among all implementations.
#include "tilewright/numerics/scalar/Operations.h"
#include "tilewright/runtime/cpu/library/movement/CopyRows.h"
#include "tilewright/runtime/cpu/library/rows/RowArithmetic.h"

#include <optional>

namespace tilewright::runtime::cpu {

using numerics::Operation;
using numerics::Scalar;
using numerics::ScalarOp;

namespace {
class ScalarRows final : public IndexedRows<ScalarRows> {
public:
  ScalarRows(ElementType type, Operation operation, Scalar none)
      : IndexedRows(static_cast<int64_t>(numerics::storageBytes(type)),
                    static_cast<int64_t>(numerics::storageBytes(type))),
        type(type), operation(operation), none(none) {}

  void identity(std::byte *value) const override { numerics::storeScalar(type, value, none); }
  void widen(const std::byte *stored, std::byte *values, int64_t count) const override {
    std::memcpy(values, stored, static_cast<size_t>(count * storedBytes));
  }
  void narrow(const std::byte *values, std::byte *stored, int64_t count) const override {
    std::memcpy(stored, values, static_cast<size_t>(count * storedBytes));
  }
  void combine(std::byte *values, const std::byte *stored, int64_t count) const override {
    for (int64_t i = 0; i < count; ++i)
      set(values, i, operation(at(values, i), at(stored, i), {}));
  }
  void combineValues(std::byte *values, const std::byte *others, int64_t count) const override {
    combine(values, others, count);
  }
  void update(std::byte *target, const std::byte *stored, int64_t count) const override {
    combine(target, stored, count);
  }
  void reduce(const std::byte *stored, int64_t count, std::byte *value) const override {
    numerics::storeScalar(type, value, tree(stored, 0, count));
  }
  void scan(const std::byte *stored, std::byte *to, int64_t count, bool reversed,
            const std::byte *carry, std::byte *total) const override {
    const Scalar before = at(carry, 0);
    Scalar running = none;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = reversed ? count - 1 - i : i;
      running = i == 0 ? at(stored, place) : operation(running, at(stored, place), {});
      if (to)
        set(to, place, operation(before, running, {}));
    }
    set(total, 0, running);
  }

  template <typename Index>
  void updateEach(std::byte *target, int64_t targetStride, int64_t limit, const Index *index,
                  int64_t indexStride, const std::byte *stored, int64_t storedStride,
                  int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      const auto place = static_cast<int64_t>(index[i * indexStride]);
      if (static_cast<uint64_t>(place) < static_cast<uint64_t>(limit))
        set(target, place * targetStride,
            operation(at(target, place * targetStride), at(stored, i * storedStride), {}));
    }
  }

private:
  Scalar at(const std::byte *from, int64_t i) const {
    return numerics::loadScalar(type, from + i * storedBytes);
  }
  void set(std::byte *to, int64_t i, const Scalar &value) const {
    numerics::storeScalar(type, to + i * storedBytes, value);
  }
  Scalar tree(const std::byte *stored, int64_t begin, int64_t end) const {
    if (end - begin > 32) {
      const int64_t middle = begin + (end - begin) / 2;
      return operation(tree(stored, begin, middle), tree(stored, middle, end), {});
    }
    Scalar result = at(stored, begin);
    for (int64_t i = begin + 1; i < end; ++i)
      result = operation(result, at(stored, i), {});
    return result;
  }

  ElementType type;
  Operation operation;
  Scalar none;
};

/// Returns the second argument. Copies bytes, so that one class serves all types of the same size.
template <typename Cell> class SecondRows final : public IndexedRows<SecondRows<Cell>> {
public:
  SecondRows() : IndexedRows<SecondRows>(sizeof(Cell), sizeof(Cell)) {}
  void identity(std::byte *value) const override { std::memset(value, 0, sizeof(Cell)); }
  void widen(const std::byte *stored, std::byte *values, int64_t count) const override {
    std::memcpy(values, stored, static_cast<size_t>(count) * sizeof(Cell));
  }
  void narrow(const std::byte *values, std::byte *stored, int64_t count) const override {
    widen(values, stored, count);
  }
  void combine(std::byte *values, const std::byte *stored, int64_t count) const override {
    widen(stored, values, count);
  }
  void combineValues(std::byte *values, const std::byte *others, int64_t count) const override {
    widen(others, values, count);
  }
  void update(std::byte *target, const std::byte *stored, int64_t count) const override {
    copyRow(target, stored, count * static_cast<int64_t>(sizeof(Cell)));
  }
  void reduce(const std::byte *stored, int64_t count, std::byte *value) const override {
    std::memcpy(value, stored + (count - 1) * static_cast<int64_t>(sizeof(Cell)), sizeof(Cell));
  }
  void scan(const std::byte *stored, std::byte *to, int64_t count, bool reversed, const std::byte *,
            std::byte *total) const override {
    if (to)
      widen(stored, to, count);
    const int64_t end = reversed ? 0 : count - 1;
    std::memcpy(total, stored + end * static_cast<int64_t>(sizeof(Cell)), sizeof(Cell));
  }

  template <typename Index>
  static void updateEach(std::byte *target, int64_t targetStride, int64_t limit, const Index *index,
                         int64_t indexStride, const std::byte *stored, int64_t storedStride,
                         int64_t count) {
    auto *to = reinterpret_cast<Cell *>(target);
    const auto *from = reinterpret_cast<const Cell *>(stored);
    for (int64_t i = 0; i < count; ++i) {
      const auto place = static_cast<int64_t>(index[i * indexStride]);
      if (static_cast<uint64_t>(place) < static_cast<uint64_t>(limit))
        to[place * targetStride] = from[i * storedStride];
    }
  }
};
} // namespace

static std::optional<ScalarOp> scalarOpOf(Combiner op) {
  switch (op) {
  case Combiner::add:
    return ScalarOp::add;
  case Combiner::multiply:
    return ScalarOp::multiply;
  case Combiner::maximum:
    return ScalarOp::maximum;
  case Combiner::minimum:
    return ScalarOp::minimum;
  case Combiner::bitAnd:
    return ScalarOp::bitAnd;
  case Combiner::bitOr:
    return ScalarOp::bitOr;
  case Combiner::bitXor:
    return ScalarOp::bitXor;
  default:
    return std::nullopt;
  }
}

static Scalar identityOf(Combiner op, ElementType type) {
  switch (op) {
  case Combiner::multiply:
    return numerics::oneOf(type);
  case Combiner::maximum:
    return numerics::lowestOf(type);
  case Combiner::minimum:
    return numerics::highestOf(type);
  case Combiner::bitAnd:
    return type == ElementType::pred ? Scalar::ofUnsigned(1)
           : numerics::isSigned(type)
               ? Scalar::ofSigned(-1)
               : Scalar::ofUnsigned(~uint64_t(0) >> (64 - numerics::bitWidth(type)));
  default:
    return numerics::zeroOf(type);
  }
}

std::unique_ptr<RowArithmetic> detail::scalarRows(Combiner op, ElementType type) {
  if (op == Combiner::second)
    return withCell(static_cast<int64_t>(numerics::storageBytes(type)),
                    []<typename Cell>() -> std::unique_ptr<RowArithmetic> {
                      return std::make_unique<SecondRows<Cell>>();
                    });
  const std::optional<ScalarOp> scalarOp = scalarOpOf(op);
  const Operation operation = scalarOp ? numerics::operationFor(*scalarOp, type) : nullptr;
  if (!operation)
    return nullptr;
  return std::make_unique<ScalarRows>(type, operation, identityOf(op, type));
}

std::unique_ptr<RowArithmetic> RowArithmetic::create(Combiner op, ElementType type) {
  if (std::unique_ptr<RowArithmetic> rows = detail::realRows(op, type))
    return rows;
  if (std::unique_ptr<RowArithmetic> rows = detail::integerRows(op, type))
    return rows;
  return detail::scalarRows(op, type);
}

Status checkCombiner(const CallReader &reader, std::string_view name, Combiner combiner) {
  if (combiner != Combiner::argmax && combiner != Combiner::argmin)
    return Status();
  return reader.failure("attribute '", name, "' must be an operation on two elements, got '",
                        nameOf(combiner), "'");
}

} // namespace tilewright::runtime::cpu
