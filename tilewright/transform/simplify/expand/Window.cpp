#include "tilewright/transform/simplify/expand/Window.h"

#include "tilewright/interpret/Types.h"

#include <numeric>

using namespace mlir;

namespace tilewright::simplify {

using enum stablehlo::ComparisonDirection;

Window windowOf(ArrayRef<int64_t> sizes, std::optional<ArrayRef<int64_t>> strides,
                std::optional<ArrayRef<int64_t>> baseDilations,
                std::optional<ArrayRef<int64_t>> windowDilations,
                std::optional<DenseIntElementsAttr> padding, ArrayRef<int64_t> input,
                ArrayRef<int64_t> positions) {
  const std::vector<int64_t> pads =
      padding ? interpret::integersOf(*padding) : std::vector<int64_t>(2 * input.size(), 0);
  Window window;
  for (size_t i = 0; i < input.size(); ++i)
    window.push_back({.size = sizes.empty() ? 1 : sizes[i],
                      .stride = strides ? (*strides)[i] : 1,
                      .baseDilation = baseDilations ? (*baseDilations)[i] : 1,
                      .windowDilation = windowDilations ? (*windowDilations)[i] : 1,
                      .low = pads[2 * i],
                      .high = pads[2 * i + 1],
                      .input = input[i],
                      .positions = positions[i]});
  return window;
}

int64_t tapsOf(ArrayRef<WindowAxis> window) {
  int64_t taps = 1;
  for (const WindowAxis &axis : window)
    if (__builtin_mul_overflow(taps, axis.size, &taps))
      return std::numeric_limits<int64_t>::max();
  return taps;
}

Value padded(TensorBuilder &b, Value value, Value padding, ArrayRef<WindowAxis> window) {
  SmallVector<int64_t> low, high, interior;
  for (const WindowAxis &axis : window) {
    low.push_back(axis.low);
    high.push_back(axis.high);
    interior.push_back(axis.baseDilation - 1);
  }
  return b.pad(value, padding, low, high, interior);
}

Value elementsUnder(TensorBuilder &b, Value padded, ArrayRef<WindowAxis> window,
                    ArrayRef<int64_t> tap) {
  SmallVector<int64_t> starts, sizes, strides;
  for (auto [axis, number] : llvm::zip_equal(window, tap)) {
    starts.push_back(number * axis.windowDilation);
    sizes.push_back(axis.positions);
    strides.push_back(axis.stride);
  }
  return b.slice(padded, starts, sizes, strides);
}

Value isElement(TensorBuilder &b, const WindowAxis &axis, Value indices) {
  Value mask = b.compare(indices, GE, 0);
  mask = b.both(mask, b.compare(indices, LT, axis.extent()));
  if (axis.baseDilation == 1)
    return mask;
  RankedTensorType type = typeOf(indices);
  Value rest = b.binary<stablehlo::RemainderOp>(
      indices, b.integer(type, static_cast<uint64_t>(axis.baseDilation)));
  return b.both(mask, b.compare(rest, EQ, 0));
}

/// Along one dimension, without a mask.
static Presence::Kind kindOf(const WindowAxis &axis, int64_t tap) {
  const int64_t first = axis.offsetOf(tap), last = first + (axis.positions - 1) * axis.stride;
  if (last < 0 || first >= axis.extent() || first % std::gcd(axis.stride, axis.baseDilation) != 0)
    return Presence::never;
  const bool inside = first >= 0 && last < axis.extent();
  const bool onElements = first % axis.baseDilation == 0 &&
                          (axis.positions == 1 || axis.stride % axis.baseDilation == 0);
  return inside && onElements ? Presence::always : Presence::sometimes;
}

Presence presenceOf(TensorBuilder &b, ArrayRef<WindowAxis> window, ArrayRef<int64_t> tap) {
  for (auto [axis, number] : llvm::zip_equal(window, tap))
    if (kindOf(axis, number) == Presence::never)
      return {Presence::never, Value()};
  const SmallVector<int64_t> shape =
      llvm::map_to_vector(window, [](const WindowAxis &axis) { return axis.positions; });
  Presence presence;
  for (size_t dim = 0; dim < window.size(); ++dim) {
    const WindowAxis &axis = window[dim];
    if (kindOf(axis, tap[dim]) == Presence::always)
      continue;
    auto type = RankedTensorType::get({axis.positions}, b.builder.getI32Type());
    Value at = b.multiply(b.iota(type, 0), b.integer(type, static_cast<uint64_t>(axis.stride)));
    at = b.add(at, b.integer(type, static_cast<uint64_t>(axis.offsetOf(tap[dim]))));
    presence.kind = Presence::sometimes;
    presence.mask = b.both(presence.mask,
                           b.broadcast(isElement(b, axis, at), shape, {static_cast<int64_t>(dim)}));
  }
  return presence;
}

void forEachTap(ArrayRef<WindowAxis> window, llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> tap(window.size(), 0);
  for (int64_t count = tapsOf(window); count > 0; --count) {
    visit(tap);
    for (size_t dim = window.size(); dim-- > 0;) {
      if (++tap[dim] < window[dim].size)
        break;
      tap[dim] = 0;
    }
  }
}

} // namespace tilewright::simplify
