// Declarations shared by the files of cpu-lower-ops.
#ifndef TILEWRIGHT_TARGET_CPU_LOWER_LOWERING_H
#define TILEWRIGHT_TARGET_CPU_LOWER_LOWERING_H

#include "tilewright/dialect/exec/ExecDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace tilewright::cpu {

/// Configuration of a library call: strings and lists of integers by name.
class Config {
public:
  explicit Config(mlir::MLIRContext *context) : builder(context) {}

  void set(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    entries.set(name, builder.getDenseI64ArrayAttr(values));
  }
  void set(llvm::StringRef name, int64_t value) { set(name, llvm::ArrayRef<int64_t>(value)); }
  void set(llvm::StringRef name, llvm::StringRef text) {
    entries.set(name, builder.getStringAttr(text));
  }
  /// Adds an attribute of an op under `name`: lists and enums unchanged, each field of a struct
  /// (dimension numbers) under its own name. Returns false if the attribute has no flat form.
  bool flatten(llvm::StringRef name, mlir::Attribute attribute);
  /// Adds every attribute of `op` that has a flat form.
  void flattenAll(mlir::Operation *op);

  mlir::DictionaryAttr get() const { return entries.getDictionary(builder.getContext()); }

private:
  mutable mlir::Builder builder;
  mlir::NamedAttrList entries;
};

/// The state of the pass: creates functions from regions, with equal regions sharing one function,
/// and numbers collectives.
class Lowering {
public:
  Lowering(mlir::ModuleOp module, mlir::SymbolTable &symbols) : module(module), symbols(symbols) {}

  mlir::ModuleOp module;
  mlir::SymbolTable &symbols;
  int64_t nextCollective = 0;

  /// The name of a region that combines two elements ("add", …, "second"), or "function" if it has
  /// none.
  static llvm::StringRef combinerWord(mlir::Region &region);
  /// "argmax" or "argmin" for a region that combines a value and an index, otherwise empty.
  static llvm::StringRef argWord(mlir::Region &region);
  /// The classification of a sort's comparator.
  struct Comparator {
    llvm::StringRef word = "function"; // lt, gt
    int64_t operand = 0;
    bool isTotalOrder = false;
    /// JAX's comparator: -0 equals +0, and all NaNs are equal and come last.
    bool isCanonical = false;
  };
  static Comparator comparatorOf(mlir::Region &region);
  /// "ge", "gt", "le" or "lt" for a region that compares its two elements, otherwise "function".
  static llvm::StringRef selectWord(mlir::Region &region);

  /// Creates a private scalar function for the region; reports an error at the op if that is
  /// impossible.
  mlir::FailureOr<mlir::FlatSymbolRefAttr> functionOf(mlir::Region &region);

  mlir::LogicalResult lowerCustomCall(mlir::Operation *op);
  mlir::LogicalResult lowerCollective(mlir::Operation *op);
  /// Creates a kernel for one elementwise op and launches it.
  mlir::LogicalResult lowerElementwise(mlir::Operation *op);

private:
  llvm::StringMap<mlir::FlatSymbolRefAttr> functions; // by the text of the region
};

/// Reports E4004 at the op.
mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why);

/// Replaces `op` by a library call.
exec::LibraryOp replaceByLibrary(mlir::Operation *op, llvm::StringRef name, const Config &config,
                                 llvm::ArrayRef<mlir::Attribute> bodies = {},
                                 llvm::ArrayRef<int64_t> aliases = {});

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_LOWER_LOWERING_H
