// What custom calls mean, by the name of their target.
#ifndef TILEWRIGHT_INTERPRET_CUSTOMCALLS_H
#define TILEWRIGHT_INTERPRET_CUSTOMCALLS_H

#include "tilewright/interpret/RuntimeValue.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <functional>
#include <span>

namespace tilewright::interpret {

/// A table of targets.
///
///   CustomCalls calls = CustomCalls::standard();
///   calls.add("my.twice", [](mlir::Operation *, std::span<const RuntimeValue> inputs,
///                            Context &) -> Result<RuntimeValues> { … });
class CustomCalls {
public:
  using Function = std::function<Result<RuntimeValues>(
      mlir::Operation *call, std::span<const RuntimeValue> inputs, Context &context)>;

  /// The targets that every evaluation knows: the checks by which a program
  /// judges itself, and annotations of shardings, which pass their operands on.
  ///
  ///   check.expect_eq(actual, expected)         equal as values; NaN equals NaN
  ///   check.expect_close(actual, expected)      at most 3 values of the type apart
  ///   check.expect_almost_eq(actual, expected)  at most 0.001 apart
  ///   check.eq(expected, actual) -> i1          integers equal, others 0.0001 apart
  ///   shape_assertion(condition, sizes…)        what jax.export was promised of dynamic sizes
  static const CustomCalls &standard();

  void add(llvm::StringRef target, Function function) { table[target] = std::move(function); }
  /// Null if there is no such target.
  const Function *find(llvm::StringRef target) const {
    auto found = table.find(target);
    return found == table.end() ? nullptr : &found->second;
  }

private:
  llvm::StringMap<Function> table;
};

} // namespace tilewright::interpret

#endif // TILEWRIGHT_INTERPRET_CUSTOMCALLS_H
