// RuntimeValue: the runtime value of an SSA value during evaluation.
#ifndef TILEWRIGHT_INTERPRET_RUNTIMEVALUE_H
#define TILEWRIGHT_INTERPRET_RUNTIMEVALUE_H

#include "tilewright/interpret/Tensor.h"

#include <memory>
#include <variant>
#include <vector>

namespace tilewright::interpret {

/// A tensor, a tuple of values, or a token. The result of `async_start` is also a tuple, because
/// the op has completed before its result can be used. Copies are cheap.
class RuntimeValue {
public:
  /// A token, which has no data: it only orders side effects.
  RuntimeValue() = default;
  RuntimeValue(Tensor tensor) : state(std::move(tensor)) {}
  static RuntimeValue tuple(std::vector<RuntimeValue> elements) {
    RuntimeValue value;
    value.state = std::make_shared<const std::vector<RuntimeValue>>(std::move(elements));
    return value;
  }

  bool isTensor() const { return std::holds_alternative<Tensor>(state); }
  bool isTuple() const { return std::holds_alternative<Elements>(state); }

  /// The tensor; isTensor() must hold.
  const Tensor &tensor() const {
    assert(isTensor());
    return *std::get_if<Tensor>(&state);
  }
  Tensor takeTensor() {
    assert(isTensor());
    return std::move(*std::get_if<Tensor>(&state));
  }
  /// The elements of a tuple; isTuple() must hold.
  const std::vector<RuntimeValue> &elements() const {
    assert(isTuple());
    return **std::get_if<Elements>(&state);
  }

private:
  using Elements = std::shared_ptr<const std::vector<RuntimeValue>>;
  std::variant<std::monostate, Tensor, Elements> state;
};

using RuntimeValues = std::vector<RuntimeValue>;

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_RUNTIMEVALUE_H
