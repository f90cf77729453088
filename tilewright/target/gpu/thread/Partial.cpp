#include "tilewright/target/gpu/thread/Partial.h"

using namespace llvm;

namespace tilewright::gpu {

Partial combine(ThreadBuilder &b, mlir::Block &combiner, const Partial &first,
                const Partial &second) {
  SmallVector<Lanes> arguments(first.values.begin(), first.values.end());
  append_range(arguments, second.values);
  Partial result;
  result.values = b.apply(combiner, arguments);
  for (auto [value, x, y] : zip_equal(result.values, first.values, second.values)) {
    if (second.valid)
      value = b.select(second.valid, value, x);
    if (first.valid)
      value = b.select(first.valid, value, y);
  }
  if (first.valid && second.valid)
    result.valid = b.bitOr(first.valid, second.valid);
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

} // namespace tilewright::gpu
