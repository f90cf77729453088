// The semantics of custom calls, by target name.
#ifndef TILEWRIGHT_INTERPRET_EVALUATE_CUSTOMCALLS_H
#define TILEWRIGHT_INTERPRET_EVALUATE_CUSTOMCALLS_H

#include "tilewright/interpret/RuntimeValue.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <span>

namespace tilewright::interpret {

/// Maps target names to their implementations.
///
///   CustomCalls calls = CustomCalls::standard();
///   calls.add("my.twice", [](mlir::Operation *, std::span<const RuntimeValue> inputs,
///                            Context &) -> Result<RuntimeValues> { … });
class CustomCalls {
public:
  using Function = std::function<Result<RuntimeValues>(
      mlir::Operation *call, std::span<const RuntimeValue> inputs, Context &context)>;

  /// The targets that every evaluation supports: the checks with which a program verifies its own
  /// results, and sharding annotations, which return their operands.
  ///
  ///   check.expect_eq(actual, expected)         equal as values; NaN equals NaN
  ///   check.expect_close(actual, expected)      at most 3 ulps apart
  ///   check.expect_almost_eq(actual, expected)  at most 0.001 apart
  ///   check.eq(expected, actual) -> i1          integers equal, others at most 0.0001 apart
  ///   shape_assertion(condition, sizes…)        jax.export's assertions about dynamic sizes
  static const CustomCalls &standard();

  void add(llvm::StringRef target, Function function) { table[target] = std::move(function); }
  /// Null if the target is unknown.
  const Function *find(llvm::StringRef target) const {
    auto found = table.find(target);
    return found == table.end() ? nullptr : &found->second;
  }

private:
  llvm::StringMap<Function> table;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_EVALUATE_CUSTOMCALLS_H
