// select_and_scatter: the gradient of max pooling.
#include "tilewright/numerics/scalar/Operations.h"
#include "tilewright/runtime/cpu/library/movement/CopyRows.h"
#include "tilewright/runtime/cpu/library/reduce/Converted.h"
#include "tilewright/runtime/cpu/library/reduce/ReduceGeometry.h"
#include "tilewright/runtime/cpu/library/reduce/Window.h"
#include "tilewright/runtime/cpu/library/rows/Numbers.h"
#include "tilewright/runtime/cpu/library/rows/RowArithmetic.h"

#include <optional>

namespace tilewright::runtime::cpu {

using numerics::ScalarOp;

namespace {
/// Selects an element of a window.
class Selection {
public:
  virtual ~Selection() = default;
  /// The offset of the selected element among `count` elements from `first`.
  virtual int64_t choose(const std::byte *operand, std::span<const LoopDim> taps, int64_t first,
                         int64_t count) const = 0;
};

template <typename Keeps>
int64_t chooseBy(std::span<const LoopDim> taps, int64_t first, int64_t count, Keeps &&keeps) {
  OffsetWalk walk(taps, 0);
  int64_t chosen = first;
  for (int64_t k = 1; k < count; ++k) {
    walk.next();
    if (!keeps(chosen, first + walk.offset()))
      chosen = first + walk.offset();
  }
  return chosen;
}

/// Selects by a comparison of a native number type.
template <typename Number> class ComparedSelection final : public Selection {
public:
  explicit ComparedSelection(ScalarOp op) : op(op) {}
  int64_t choose(const std::byte *operand, std::span<const LoopDim> taps, int64_t first,
                 int64_t count) const override {
    const auto *values = reinterpret_cast<const typename Number::Stored *>(operand);
    auto by = [&](auto compare) {
      return chooseBy(taps, first, count, [&](int64_t a, int64_t b) {
        return compare(Number::load(values[a]), Number::load(values[b]));
      });
    };
    switch (op) {
    case ScalarOp::compareGe:
      return by([](auto a, auto b) { return a >= b; });
    case ScalarOp::compareGt:
      return by([](auto a, auto b) { return a > b; });
    case ScalarOp::compareLe:
      return by([](auto a, auto b) { return a <= b; });
    default:
      return by([](auto a, auto b) { return a < b; });
    }
  }

private:
  ScalarOp op;
};

class ScalarSelection final : public Selection {
public:
  ScalarSelection(ElementType type, numerics::Operation operation)
      : type(type), operation(operation) {}
  int64_t choose(const std::byte *operand, std::span<const LoopDim> taps, int64_t first,
                 int64_t count) const override {
    const auto bytes = static_cast<int64_t>(numerics::storageBytes(type));
    return chooseBy(taps, first, count, [&](int64_t a, int64_t b) {
      return operation(numerics::loadScalar(type, operand + a * bytes),
                       numerics::loadScalar(type, operand + b * bytes), {})
                 .u != 0;
    });
  }

private:
  ElementType type;
  numerics::Operation operation;
};

class FunctionSelection final : public Selection {
public:
  FunctionSelection(ElementType type, Body body) : type(type), body(body) {}
  int64_t choose(const std::byte *operand, std::span<const LoopDim> taps, int64_t first,
                 int64_t count) const override {
    const auto bytes = static_cast<int64_t>(numerics::storageBytes(type));
    return chooseBy(taps, first, count, [&](int64_t a, int64_t b) {
      const void *arguments[] = {operand + a * bytes, operand + b * bytes};
      uint8_t keeps = 0;
      void *results[] = {&keeps};
      body(arguments, results);
      return keeps != 0;
    });
  }

private:
  ElementType type;
  Body body;
};

class SelectAndScatterKernel final : public LibraryKernel {
public:
  SelectAndScatterKernel(const LibrarySignature &types, std::vector<WindowDim> window, Dims strides,
                         std::unique_ptr<Selection> selection, std::unique_ptr<RowArithmetic> rows,
                         Body body)
      : sourceType(types.operands[1].element), initType(types.operands[2].element),
        operandBytes(static_cast<int64_t>(numerics::storageBytes(types.operands[0].element))),
        type(types.results[0].element), window(std::move(window)), strides(std::move(strides)),
        selection(std::move(selection)), rows(std::move(rows)), body(body) {
    for (const WindowDim &dim : this->window) {
      inputs *= dim.input;
      positions *= dim.positions;
    }
    for (int64_t dim = 0; dim < batchRank(this->window); ++dim)
      batch *= this->window[static_cast<size_t>(dim)].input;
  }

  Status run(const LibraryRun &run) const override {
    if (inputs == 0)
      return Status();
    const Converted source(sourceType, run.operands[1], type, positions);
    const Converted init(initType, run.operands[2], type, 1);
    const auto bytes = static_cast<int64_t>(numerics::storageBytes(type));
    const int64_t perBatch = inputs / batch, positionsPerBatch = positions / batch;
    // Windows of different batch items select among different elements, so items run in parallel.
    run.pool.parallelFor(
        batch, std::max<int64_t>(1, (1 << 14) / perBatch), [&](int64_t begin, int64_t end) {
          fillElements(run.results[0] + begin * perBatch * bytes, init.data(), bytes,
                       (end - begin) * perBatch);
          std::vector<LoopDim> taps(window.size());
          for (int64_t at = begin * positionsPerBatch; at < end * positionsPerBatch; ++at)
            scatter(run.operands[0], source.data() + at * bytes, run.results[0], at, bytes, taps);
        });
    return Status();
  }

private:
  void scatter(const std::byte *operand, const std::byte *update, std::byte *result,
               int64_t position, int64_t bytes, std::vector<LoopDim> &taps) const {
    int64_t first = 0, count = 1;
    for (size_t d = window.size(); d-- > 0;) {
      const Taps here = window[d].tapsAt(position % window[d].positions);
      position /= window[d].positions;
      first += here.first * strides[d];
      taps[d] = {here.count, here.step * strides[d]};
      count *= here.count;
    }
    if (count == 0)
      return;
    std::byte *target = result + selection->choose(operand, taps, first, count) * bytes;
    if (rows) {
      rows->update(target, update, 1);
      return;
    }
    alignas(16) std::byte out[16];
    const void *arguments[] = {target, update};
    void *results[] = {out};
    body(arguments, results);
    std::memcpy(target, out, static_cast<size_t>(bytes));
  }

  ElementType sourceType, initType;
  int64_t operandBytes;
  ElementType type;
  std::vector<WindowDim> window;
  Dims strides;
  std::unique_ptr<Selection> selection;
  std::unique_ptr<RowArithmetic> rows;
  Body body; // for scatter, if `rows` is null
  int64_t inputs = 1, positions = 1, batch = 1;
};
} // namespace

/// The comparison of a selector that is not a function.
static ScalarOp comparisonOf(Selector select) {
  switch (select) {
  case Selector::greaterOrEqual:
    return ScalarOp::compareGe;
  case Selector::greater:
    return ScalarOp::compareGt;
  case Selector::lessOrEqual:
    return ScalarOp::compareLe;
  default:
    return ScalarOp::compareLt;
  }
}

static std::unique_ptr<Selection> selectionOf(ScalarOp op, ElementType type) {
  switch (type) {
  case ElementType::f32:
    return std::make_unique<ComparedSelection<PlainNumber<float>>>(op);
  case ElementType::f64:
    return std::make_unique<ComparedSelection<PlainNumber<double>>>(op);
  case ElementType::bf16:
    return std::make_unique<ComparedSelection<Bf16Number>>(op);
  case ElementType::f16:
    return std::make_unique<ComparedSelection<F16Number>>(op);
  case ElementType::i32:
    return std::make_unique<ComparedSelection<PlainNumber<int32_t>>>(op);
  default:
    break;
  }
  const numerics::Operation operation = numerics::operationFor(op, type);
  return operation ? std::make_unique<ScalarSelection>(type, operation) : nullptr;
}

/// Operands: operand, source, init. Bodies: `select`, then `scatter`; a body that is a known
/// operation is omitted.
KernelResult prepareSelectAndScatter(const artifact::SelectAndScatterCall &call,
                                     const LibrarySignature &types) {
  CallReader reader(call.name, types);
  TILEWRIGHT_TRY(reader.expectCounts(3, 1));
  TILEWRIGHT_ASSIGN(Shape operand, reader.operandShape(0));
  TILEWRIGHT_ASSIGN(Shape init, reader.operandShape(2));
  const Dims ones(static_cast<size_t>(operand.rank()), 1);
  TILEWRIGHT_ASSIGN(std::vector<WindowDim> window,
                    windowOf(reader,
                             {.windowDimensions = call.windowDimensions,
                              .windowStrides = call.windowStrides,
                              .baseDilations = ones,
                              .windowDilations = ones,
                              .padding = call.padding},
                             operand));
  TILEWRIGHT_ASSIGN(Shape source, reader.operandShape(1));
  if (types.operands[1].dims != positionsOf(window) || init.elementCount() != 1)
    return reader.failure("source must have shape ", listed(positionsOf(window)),
                          ", one element for each window position, got ",
                          typeString(types.operands[1]));
  TILEWRIGHT_TRY(reader.expectResult(0, types.results[0].element, operand.dims()));
  TILEWRIGHT_TRY(checkCombiner(reader, "scatter", call.scatter));
  const bool selects = call.select == Selector::function,
             scatters = call.scatter == Combiner::function;
  if (types.bodies.size() != size_t(selects) + size_t(scatters))
    return reader.failure("must have one body for each region that is a function, ",
                          size_t(selects) + size_t(scatters), ", got ", types.bodies.size());
  const ElementType type = types.operands[0].element;
  std::unique_ptr<Selection> selection;
  if (selects)
    selection = std::make_unique<FunctionSelection>(type, types.bodies[0]);
  else
    selection = selectionOf(comparisonOf(call.select), type);
  if (!selection)
    return reader.failure("attribute 'select' must be a comparison that is defined for ",
                          numerics::spelling(type), ", got '", nameOf(call.select), "'");
  std::unique_ptr<RowArithmetic> rows;
  if (!scatters) {
    rows = RowArithmetic::create(call.scatter, types.results[0].element);
    if (!rows)
      return reader.failure("attribute 'scatter' must be an operation that is defined for ",
                            numerics::spelling(types.results[0].element), ", got '",
                            nameOf(call.scatter), "'");
  }
  return makeKernel<SelectAndScatterKernel>(types, std::move(window), operand.strides(),
                                            std::move(selection), std::move(rows),
                                            scatters ? types.bodies.back() : nullptr);
}

} // namespace tilewright::runtime::cpu
