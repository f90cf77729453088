// Expands select_and_scatter by pulling: first each window finds its selected element, then each
// element of the result collects the sources of the windows that selected it, in row-major order of
// the windows. Nothing is scattered, so the result is deterministic.
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/Window.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

using enum stablehlo::ComparisonDirection;

/// The windows that contain an element, along one dimension. Element p is under windows u - j for
/// all 0 <= j < count, where u = (p + low) / stride, at tap (p + low) % stride + j * stride.
struct Cover {
  explicit Cover(const WindowAxis &axis) : stride(axis.stride) {
    // Division and remainder that round down, because `low` may be negative.
    phase = ((axis.low % stride) + stride) % stride;
    first = (axis.low - phase) / stride;
    blocks = (phase + axis.input + stride - 1) / stride;
    count = (axis.size + stride - 1) / stride;
  }
  int64_t stride;
  int64_t first;  // u of the first element
  int64_t phase;  // the first element's distance from the beginning of its block
  int64_t blocks; // elements with the same u are a block of `stride` elements
  int64_t count;  // the maximum number of windows that contain an element
};

class Expansion {
public:
  Expansion(stablehlo::SelectAndScatterOp op, RewriterBase &rewriter)
      : op(op), b(rewriter, op.getLoc()) {
    window = windowOf(op.getWindowDimensions().value_or(ArrayRef<int64_t>()), op.getWindowStrides(),
                      std::nullopt, std::nullopt, op.getPadding(),
                      typeOf(op.getOperand()).getShape(), typeOf(op.getSource()).getShape());
    tapStrides.resize(window.size(), 1);
    for (size_t dim = window.size(); dim-- > 1;)
      tapStrides[dim - 1] = tapStrides[dim] * window[dim].size;
  }

  Value run() {
    // Without windows, only the initial value remains.
    if (typeOf(op.getSource()).getNumElements() == 0 ||
        typeOf(op.getOperand()).getNumElements() == 0)
      return b.broadcast(b.convert(op.getInitValue(), typeOf(op.getResult()).getElementType()),
                         typeOf(op.getResult()).getShape());
    return collect(selectedTaps());
  }

private:
  /// The state of the search for the selected element of each window.
  struct Search {
    Value best; // its value
    Value tap;  // its tap, -1 while there is none
  };

  /// Continues with the elements under the next tap. The body decides whether the selected element
  /// stays.
  Search step(const Search &search, Value elements, Value mask, Value tap) {
    Value keeps = b.apply(op.getSelect(), {search.best, elements}).front();
    keeps = b.both(keeps, b.compare(search.tap, GE, 0));
    if (mask)
      keeps = b.binary<stablehlo::OrOp>(
          keeps, stablehlo::NotOp::create(b.builder, b.location, mask.getType(), mask));
    return {b.select(keeps, search.best, elements), b.select(keeps, search.tap, tap)};
  }

  /// For each window, the tap of its selected element; -1 if the window is only padding.
  Value selectedTaps() {
    RankedTensorType operand = typeOf(op.getOperand());
    Value zero = b.number(RankedTensorType::get({}, operand.getElementType()), 0);
    Value source = padded(b, op.getOperand(), zero, window);
    RankedTensorType positions = typeOf(op.getSource());
    auto taps = RankedTensorType::get(positions.getShape(), b.builder.getI32Type());
    Search search{b.broadcast(zero, positions.getShape()),
                  b.integer(taps, static_cast<uint64_t>(-1))};
    if (tapsOf(window) > maxTaps)
      return searchInLoop(search, source);
    uint64_t number = 0;
    forEachTap(window, [&](ArrayRef<int64_t> tap) {
      Presence presence = presenceOf(b, window, tap);
      if (presence.kind != Presence::never)
        search = step(search, elementsUnder(b, source, window, tap), presence.mask,
                      b.integer(taps, number));
      ++number;
    });
    return search.tap;
  }

  /// Splits a scalar index into row-major coordinates in a box of `sizes`.
  SmallVector<Value> coordinates(Value number, ArrayRef<int64_t> sizes) {
    RankedTensorType index = typeOf(number);
    SmallVector<Value> result(sizes.size());
    for (size_t dim = sizes.size(); dim-- > 0;) {
      Value size = b.integer(index, static_cast<uint64_t>(sizes[dim]));
      result[dim] = b.binary<stablehlo::RemainderOp>(number, size);
      number = b.binary<stablehlo::DivideOp>(number, size);
    }
    return result;
  }

  /// Like selectedTaps(), with one iteration for each tap.
  Value searchInLoop(const Search &start, Value source) {
    const SmallVector<int64_t> sizes =
        llvm::map_to_vector(window, [](const WindowAxis &axis) { return axis.size; });
    const ArrayRef<int64_t> shape = typeOf(start.tap).getShape();
    SmallVector<Value> end =
        b.loop(tapsOf(window), {start.best, start.tap}, [&](Value number, ValueRange state) {
          const SmallVector<Value> tap = coordinates(number, sizes);
          SmallVector<int64_t> spans, starts(shape.size(), 0), strides;
          Value mask;
          for (size_t dim = 0; dim < window.size(); ++dim) {
            const WindowAxis &axis = window[dim];
            spans.push_back((axis.positions - 1) * axis.stride + 1);
            strides.push_back(axis.stride);
            if (axis.isCovered())
              continue;
            auto line = RankedTensorType::get({axis.positions}, b.builder.getI32Type());
            Value at =
                b.multiply(b.iota(line, 0), b.integer(line, static_cast<uint64_t>(axis.stride)));
            at = b.add(at, b.integer(line, static_cast<uint64_t>(-axis.low)));
            at = b.add(at, b.broadcast(tap[dim], line.getShape()));
            mask = b.both(mask,
                          b.broadcast(isElement(b, axis, at), shape, {static_cast<int64_t>(dim)}));
          }
          Value elements = b.slice(b.dynamicSlice(source, tap, spans), starts, shape, strides);
          Search next = step({state[0], state[1]}, elements, mask, b.broadcast(number, shape));
          return SmallVector<Value>{next.best, next.tap};
        });
    return end[1];
  }

  /// Combines the sources of the windows that selected each element. The elements are arranged in
  /// blocks that share the same windows, with two dimensions for each original one: block, and
  /// position in the block.
  Value collect(Value taps) {
    const SmallVector<Cover> covers(window.begin(), window.end());
    SmallVector<int64_t> low, high, none, shape, counts, blocks;
    for (auto [axis, cover] : llvm::zip_equal(window, covers)) {
      low.push_back(cover.count - 1 - cover.first);
      high.push_back(cover.first + cover.blocks - axis.positions);
      none.push_back(0);
      llvm::append_values(shape, cover.blocks, cover.stride);
      counts.push_back(cover.count);
      blocks.push_back(cover.blocks);
    }
    const Type element = typeOf(op.getResult()).getElementType();
    auto scalar = RankedTensorType::get({}, element);
    auto index = RankedTensorType::get({}, b.builder.getI32Type());
    taps = b.pad(taps, b.integer(index, static_cast<uint64_t>(-1)), low, high, none);
    Value source = b.pad(b.convert(op.getSource(), element), b.number(scalar, 0), low, high, none);
    Value result = b.broadcast(b.convert(op.getInitValue(), element), shape);

    int64_t total = 1;
    for (int64_t count : counts)
      if (__builtin_mul_overflow(total, count, &total))
        total = std::numeric_limits<int64_t>::max();
    if (total > maxTaps) {
      result = b.loop(total, result, [&](Value number, ValueRange state) {
                  const SmallVector<Value> place = coordinates(number, counts);
                  SmallVector<Value> distance; // j of Cover
                  for (auto [at, count] : llvm::zip_equal(place, counts))
                    distance.push_back(
                        b.subtract(b.integer(index, static_cast<uint64_t>(count - 1)), at));
                  return SmallVector<Value>{pull(state[0], b.dynamicSlice(taps, place, blocks),
                                                 b.dynamicSlice(source, place, blocks), distance,
                                                 covers)};
                }).front();
    } else {
      Window places; // of the loop above, unrolled
      for (int64_t count : counts)
        places.push_back({.size = count});
      const SmallVector<int64_t> ones(counts.size(), 1);
      forEachTap(places, [&](ArrayRef<int64_t> place) {
        SmallVector<Value> distance;
        for (auto [at, count] : llvm::zip_equal(place, counts))
          distance.push_back(b.integer(index, static_cast<uint64_t>(count - 1 - at)));
        result = pull(result, b.slice(taps, place, blocks, ones),
                      b.slice(source, place, blocks, ones), distance, covers);
      });
    }
    return inOrder(result, covers);
  }

  /// Combines each element with the source of the window at the given distance before its own
  /// window, if that window selected the element.
  Value pull(Value result, Value taps, Value source, ArrayRef<Value> distance,
             ArrayRef<Cover> covers) {
    const ArrayRef<int64_t> shape = typeOf(result).getShape();
    auto numbers = RankedTensorType::get(shape, b.builder.getI32Type());
    SmallVector<int64_t> dims;
    Value wanted, inWindow;
    for (size_t dim = 0; dim < covers.size(); ++dim) {
      const Cover &cover = covers[dim];
      const auto place = static_cast<int64_t>(2 * dim + 1);
      dims.push_back(place - 1);
      // The tap of the window that is on this element.
      auto line = RankedTensorType::get({cover.stride}, numbers.getElementType());
      Value tap = b.multiply(b.broadcast(distance[dim], line.getShape()),
                             b.integer(line, static_cast<uint64_t>(cover.stride)));
      tap = b.add(b.iota(line, 0), tap);
      if (cover.count * cover.stride != window[dim].size)
        inWindow =
            b.both(inWindow, b.broadcast(b.compare(tap, LT, window[dim].size), shape, {place}));
      Value part = b.multiply(tap, b.integer(line, static_cast<uint64_t>(tapStrides[dim])));
      part = b.broadcast(part, shape, {place});
      wanted = wanted ? b.add(wanted, part) : part;
    }
    if (!wanted)
      wanted = b.integer(numbers, 0);
    Value hit = b.both(b.compare(b.broadcast(taps, shape, dims), EQ, wanted), inWindow);
    Value combined = b.apply(op.getScatter(), {result, b.broadcast(source, shape, dims)}).front();
    return b.select(hit, combined, result);
  }

  /// Joins the blocks and removes what is outside of the tensor.
  Value inOrder(Value result, ArrayRef<Cover> covers) {
    SmallVector<int64_t> joined, starts, sizes, ones(covers.size(), 1);
    for (auto [axis, cover] : llvm::zip_equal(window, covers)) {
      joined.push_back(cover.blocks * cover.stride);
      starts.push_back(cover.phase);
      sizes.push_back(axis.input);
    }
    return b.slice(b.reshape(result, joined), starts, sizes, ones);
  }

  stablehlo::SelectAndScatterOp op;
  TensorBuilder b;
  Window window;
  SmallVector<int64_t> tapStrides; // of the row-major number of a tap
};

} // namespace

LogicalResult expandSelectAndScatter(stablehlo::SelectAndScatterOp op, RewriterBase &rewriter) {
  if (!llvm::all_of(op->getOperands(), isStatic) || !isStatic(op.getResult()))
    return rewriter.notifyMatchFailure(op, "a shape is dynamic");
  for (Region *body : {&op.getSelect(), &op.getScatter()})
    if (std::string why = whyNotElementwise(*body); !why.empty())
      return rewriter.notifyMatchFailure(op, why);
  rewriter.replaceOp(op, Expansion(op, rewriter).run());
  return success();
}

} // namespace tilewright::simplify
