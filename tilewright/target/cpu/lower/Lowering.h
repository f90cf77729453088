// What the files of cpu-lower-ops share.
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
  /// Adds an attribute of an op under `name`: lists and enums as they are, the fields of structs
  /// (dimension numbers) each under its own name. False for what has no flat form.
  bool flatten(llvm::StringRef name, mlir::Attribute attribute);
  /// Every attribute of `op` that has a flat form.
  void flattenAll(mlir::Operation *op);

  mlir::DictionaryAttr get() const { return entries.getDictionary(builder.getContext()); }

private:
  mutable mlir::Builder builder;
  mlir::NamedAttrList entries;
};

/// State of the pass: makes functions of regions once for equal regions, counts collectives.
class Lowering {
public:
  Lowering(mlir::ModuleOp module, mlir::SymbolTable &symbols) : module(module), symbols(symbols) {}

  mlir::ModuleOp module;
  mlir::SymbolTable &symbols;
  int64_t nextCollective = 0;

  /// The word for a region that combines two elements ("add", …, "second"), or "function".
  static llvm::StringRef combinerWord(mlir::Region &region);
  /// "argmax" or "argmin" for a region over a value and an index, or empty.
  static llvm::StringRef argWord(mlir::Region &region);
  /// Words for a sort's comparator.
  struct Comparator {
    llvm::StringRef word = "function"; // lt, gt
    int64_t operand = 0;
    bool isTotalOrder = false;
    /// Zeros of both signs are equal, and so are NaNs, which come last: what JAX writes.
    bool isCanonical = false;
  };
  static Comparator comparatorOf(mlir::Region &region);
  /// "ge", "gt", "le", "lt" for a region that compares its two elements, or "function".
  static llvm::StringRef selectWord(mlir::Region &region);

  /// A private function of scalars that does what the region does; an error at the op if it
  /// cannot be one.
  mlir::FailureOr<mlir::FlatSymbolRefAttr> functionOf(mlir::Region &region);

  mlir::LogicalResult lowerCustomCall(mlir::Operation *op);
  mlir::LogicalResult lowerCollective(mlir::Operation *op);
  /// Makes a kernel for one elementwise op and launches it.
  mlir::LogicalResult lowerElementwise(mlir::Operation *op);

private:
  llvm::StringMap<mlir::FlatSymbolRefAttr> functions; // by the text of the region
};

/// E4004 at the op.
mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &why);

/// Replaces `op` by a call of the library.
exec::LibraryOp replaceByLibrary(mlir::Operation *op, llvm::StringRef name, const Config &config,
                                 llvm::ArrayRef<mlir::Attribute> bodies = {},
                                 llvm::ArrayRef<int64_t> aliases = {});

} // namespace tilewright::cpu

#endif // TILEWRIGHT_TARGET_CPU_LOWER_LOWERING_H
