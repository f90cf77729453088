// Expands reduce_window: into elementwise ops on slices (taps), reductions, or log-step doubling.
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/ReductionOps.h"
#include "tilewright/transform/simplify/Patterns.h"
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/Window.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

/// A combination of some of the elements of each window.
struct Partial {
  SmallVector<Value> values;
  /// The windows that contain at least one of these elements; null means all windows. In other
  /// windows, `values` are arbitrary.
  Value present;
};

/// Whether the initial values are known to be the identity of the body.
bool startsFromIdentity(stablehlo::ReduceWindowOp op) {
  Operation *combiner = commutativeCombiner(op.getBody());
  return combiner && isIdentityOf(combiner, op.getInitValues()[0]) &&
         typeOf(op.getInitValues()[0]).getElementType() == typeOf(op.getResult(0)).getElementType();
}

class Expansion {
public:
  Expansion(stablehlo::ReduceWindowOp op, RewriterBase &rewriter)
      : op(op), b(rewriter, op.getLoc()), padsWithIdentity(startsFromIdentity(op)) {
    RankedTensorType input = typeOf(op.getInputs()[0]), result = typeOf(op.getResult(0));
    window =
        windowOf(op.getWindowDimensions(), op.getWindowStrides(), op.getBaseDilations(),
                 op.getWindowDilations(), op.getPadding(), input.getShape(), result.getShape());
    for (auto [value, init, result] :
         llvm::zip_equal(op.getInputs(), op.getInitValues(), op.getResults())) {
      Type element = typeOf(result).getElementType();
      inputs.push_back(b.convert(value, element));
      inits.push_back(b.convert(init, element));
    }
  }

  SmallVector<Value> run() {
    if (typeOf(op.getResult(0)).getNumElements() == 0)
      return finish({});
    if (tapsOf(window) <= maxTaps)
      return finish(foldTaps(inputs, window));
    if (padsWithIdentity && llvm::all_of(window, isApart))
      return finish({reduceBlocks(), Value()});
    // Processes the dimensions one by one, the last first: elements are combined in row-major
    // order.
    Partial whole{inputs, Value()};
    for (size_t dim = window.size(); dim-- > 0;) {
      if (window[dim].isTrivial())
        continue;
      Partial along = reduceAlong(whole.values, dim);
      if (along.present)
        along.present = b.broadcast(along.present, typeOf(op.getResult(0)).getShape(),
                                    {static_cast<int64_t>(dim)});
      whole = {along.values, b.both(whole.present, along.present)};
    }
    return finish(whole);
  }

private:
  /// Whether windows do not overlap, so that they divide the tensor into blocks.
  static bool isApart(const WindowAxis &axis) {
    return axis.windowDilation == 1 && (axis.positions == 1 || axis.stride >= axis.size);
  }

  SmallVector<Value> combine(ValueRange lhs, ValueRange rhs) {
    SmallVector<Value> arguments(lhs);
    llvm::append_range(arguments, rhs);
    return b.apply(op.getBody(), arguments);
  }

  SmallVector<Value> choose(Value condition, ValueRange onTrue, ValueRange onFalse) {
    SmallVector<Value> chosen;
    for (auto [yes, no] : llvm::zip_equal(onTrue, onFalse))
      chosen.push_back(b.select(condition, yes, no));
    return chosen;
  }

  /// Combines all elements of each window with the initial values, exactly once.
  SmallVector<Value> finish(const Partial &whole) {
    SmallVector<Value> starts;
    for (auto [init, result] : llvm::zip_equal(inits, op.getResults()))
      starts.push_back(b.broadcast(init, typeOf(result).getShape()));
    if (whole.values.empty())
      return starts;
    SmallVector<Value> results = combine(starts, whole.values);
    return whole.present ? choose(whole.present, results, starts) : results;
  }

  SmallVector<Value> padAll(ValueRange values, ArrayRef<WindowAxis> over) {
    SmallVector<Value> results;
    for (auto [value, init] : llvm::zip_equal(values, inits))
      results.push_back(padded(b, value, init, over));
    return results;
  }

  /// Appends elements to a partial combination. `mask` says where such elements exist; null means
  /// everywhere.
  void append(Partial &partial, ValueRange elements, Value mask) {
    if (partial.values.empty()) {
      partial = {SmallVector<Value>(elements), mask};
      return;
    }
    SmallVector<Value> values = combine(partial.values, elements);
    if (mask)
      values = choose(mask, values, partial.values);
    if (partial.present)
      values = choose(partial.present, values, elements);
    const bool everywhere = !mask || !partial.present;
    partial = {values, everywhere ? Value() : b.binary<stablehlo::OrOp>(partial.present, mask)};
  }

  /// Combines the elements under each tap, in order.
  Partial foldTaps(ValueRange values, ArrayRef<WindowAxis> over) {
    const SmallVector<Value> sources = padAll(values, over);
    Partial partial;
    forEachTap(over, [&](ArrayRef<int64_t> tap) {
      Presence presence = presenceOf(b, over, tap);
      if (presence.kind == Presence::never)
        return;
      SmallVector<Value> elements;
      for (Value source : sources)
        elements.push_back(elementsUnder(b, source, over, tap));
      append(partial, elements, padsWithIdentity ? Value() : presence.mask);
    });
    return partial;
  }

  /// Reduces windows that do not overlap as blocks of the padded tensor.
  SmallVector<Value> reduceBlocks() {
    const SmallVector<Value> sources = padAll(inputs, window);
    SmallVector<int64_t> starts, none, more, blocks, sizes, ones, dims;
    for (const WindowAxis &axis : window) {
      const int64_t step = axis.positions == 1 ? axis.size : axis.stride;
      none.push_back(0);
      more.push_back(axis.positions * step - axis.padded());
      llvm::append_values(starts, 0, 0);
      llvm::append_values(blocks, axis.positions, step);
      llvm::append_values(sizes, axis.positions, axis.size);
      llvm::append_values(ones, 1, 1);
      dims.push_back(static_cast<int64_t>(sizes.size()) - 1);
    }
    SmallVector<Value> values;
    for (auto [source, init] : llvm::zip_equal(sources, inits)) {
      Value fitted = b.pad(source, init, none, more, none);
      values.push_back(b.slice(b.reshape(fitted, blocks), starts, sizes, ones));
    }
    auto reduce = stablehlo::ReduceOp::create(b.builder, op.getLoc(), op.getResultTypes(), values,
                                              inits, dims);
    IRMapping mapping;
    op.getBody().cloneInto(&reduce.getBody(), mapping);
    return SmallVector<Value>(reduce.getResults());
  }

  /// Reduces windows along one dimension. The mask of the result is one-dimensional.
  Partial reduceAlong(ValueRange values, size_t dim) {
    Window over;
    for (int64_t size : typeOf(values[0]).getShape())
      over.push_back({.input = size, .positions = size});
    over[dim] = window[dim];
    if (window[dim].size > maxTaps)
      return doubleSteps(padAll(values, over), dim);
    // The masks depend only on this dimension, so compute them for a single line.
    const SmallVector<Value> sources = padAll(values, over);
    Partial partial;
    for (int64_t tap = 0; tap < window[dim].size; ++tap) {
      SmallVector<int64_t> taps(over.size(), 0);
      taps[dim] = tap;
      Presence presence = presenceOf(b, window[dim], tap);
      if (presence.kind == Presence::never)
        continue;
      SmallVector<Value> elements;
      for (Value source : sources)
        elements.push_back(elementsUnder(b, source, over, taps));
      appendAlong(partial, elements, padsWithIdentity ? Value() : presence.mask, dim);
    }
    if (partial.values.empty())
      partial = {sliceAll(sources, dim, 0, window[dim].positions, 1), noWindows(dim)};
    return partial;
  }

  /// Like append(), with masks that are one-dimensional, along `dim`.
  void appendAlong(Partial &partial, ValueRange elements, Value mask, size_t dim) {
    auto spread = [&](Value line) {
      return line ? b.broadcast(line, typeOf(elements[0]).getShape(), {static_cast<int64_t>(dim)})
                  : Value();
    };
    const Value before = partial.present;
    partial.present = spread(before);
    const bool isFirst = partial.values.empty();
    append(partial, elements, spread(mask));
    partial.present = isFirst          ? mask
                      : before && mask ? b.binary<stablehlo::OrOp>(before, mask)
                                       : Value();
  }

  SmallVector<Value> sliceAll(ValueRange values, size_t dim, int64_t start, int64_t size,
                              int64_t stride) {
    return llvm::map_to_vector(values, [&](Value value) {
      return b.sliceAlong(value, static_cast<int64_t>(dim), start, size, stride);
    });
  }

  /// A mask along one dimension that is false everywhere.
  Value noWindows(size_t dim) {
    return b.integer(RankedTensorType::get({window[dim].positions}, b.builder.getI1Type()), 0);
  }

  /// Combines windows of 1, 2, 4, … taps, and then those powers of two whose sum is the window.
  Partial doubleSteps(SmallVector<Value> sources, size_t dim) {
    const WindowAxis &axis = window[dim];
    int64_t length = axis.padded();
    Partial power{std::move(sources), Value()};
    if (!padsWithIdentity && !axis.isCovered()) {
      auto type = RankedTensorType::get({length}, b.builder.getI32Type());
      Value at = b.add(b.iota(type, 0), b.integer(type, static_cast<uint64_t>(-axis.low)));
      power.present = isElement(b, axis, at);
    }
    auto shifted = [&](const Partial &partial, int64_t start, int64_t size) {
      return Partial{sliceAll(partial.values, dim, start, size, 1),
                     partial.present ? b.sliceAlong(partial.present, 0, start, size) : Value()};
    };
    // The first `covered` taps of each window, combined, for `length` positions.
    Partial whole;
    int64_t covered = 0, wholeLength = 0;
    for (int64_t taps = 1; taps <= axis.size; taps *= 2) {
      if (axis.size & taps) {
        Partial next = power;
        if (covered > 0) {
          const int64_t start = covered * axis.windowDilation;
          wholeLength = std::min(wholeLength, length - start);
          whole = shifted(whole, 0, wholeLength);
          next = shifted(power, start, wholeLength);
        } else {
          wholeLength = length;
        }
        appendAlong(whole, next.values, next.present, dim);
        covered += taps;
      }
      if (taps > axis.size / 2)
        break;
      const int64_t start = taps * axis.windowDilation;
      length -= start;
      Partial second = shifted(power, start, length);
      power = shifted(power, 0, length);
      appendAlong(power, second.values, second.present, dim);
    }
    const int64_t positions = axis.positions;
    return {sliceAll(whole.values, dim, 0, positions, axis.stride),
            whole.present ? b.sliceAlong(whole.present, 0, 0, positions, axis.stride) : Value()};
  }

  stablehlo::ReduceWindowOp op;
  TensorBuilder b;
  Window window;
  SmallVector<Value> inputs, inits; // in the types of the body's results
  /// Whether padding with the initial values does not change the result, so that no masks are
  /// needed.
  bool padsWithIdentity;
};

} // namespace

LogicalResult expandReduceWindow(stablehlo::ReduceWindowOp op, RewriterBase &rewriter) {
  if (!llvm::all_of(op->getOperands(), isStatic) || !llvm::all_of(op->getResults(), isStatic))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  if (std::string why = whyNotElementwise(op.getBody()); !why.empty())
    return rewriter.notifyMatchFailure(op, why);
  rewriter.replaceOp(op, Expansion(op, rewriter).run());
  return success();
}

} // namespace tilewright::simplify
