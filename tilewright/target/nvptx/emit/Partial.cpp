#include "tilewright/target/nvptx/emit/Partial.h"

#include "tilewright/target/lanes/RegionEmitter.h"

using namespace llvm;

namespace tilewright::nvptx {

using lanes::Lanes;

Partial combine(lanes::LaneBuilder &b, mlir::Block &combiner, const Partial &first,
                const Partial &second) {
  SmallVector<Lanes> arguments(first.values.begin(), first.values.end());
  append_range(arguments, second.values);
  Partial result;
  result.values = lanes::emitBlock(b, combiner, arguments, 1);
  for (auto [value, x, y] : zip_equal(result.values, first.values, second.values)) {
    if (second.valid)
      value = b.select(second.valid, value, x);
    if (first.valid)
      value = b.select(first.valid, value, y);
  }
  if (first.valid && second.valid)
    result.valid = b.ir.CreateOr(first.valid, second.valid);
  return result;
}

Partial shuffled(const Partial &partial, function_ref<Lanes(Lanes)> exchange) {
  Partial result;
  for (Lanes value : partial.values)
    result.values.push_back(exchange(value));
  if (partial.valid)
    result.valid = exchange({partial.valid}).value;
  return result;
}

} // namespace tilewright::nvptx
