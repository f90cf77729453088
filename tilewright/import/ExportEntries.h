// MLIR types, attributes and locations as entries of an artifact's tables.
#ifndef TILEWRIGHT_IMPORT_EXPORTENTRIES_H
#define TILEWRIGHT_IMPORT_EXPORTENTRIES_H

#include "tilewright/import/bytecode/Module.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace tilewright {

/// The inverse of EntryBuilder: adds each entry once and returns its id. need() rejects features
/// that the target version lacks. The tables refer to text and constants without copying them: the
/// module and its context must outlive the tables.
class ExportEntries {
public:
  ExportEntries(mlir::MLIRContext &context, bytecode::Version target)
      : target(target), context(context) {}

  /// Whether an entry is written as VHLO's or as the builtin type or attribute. sdy operations and
  /// the module use builtin entries.
  using Dialect = bytecode::Dialect;

  Result<bytecode::TypeId> type(mlir::Type type, Dialect dialect = Dialect::vhlo);
  /// Exports any attribute that VHLO can represent; keeps sdy attributes unchanged.
  Result<bytecode::AttrId> vhlo(mlir::Attribute attribute);
  /// Exports an attribute of the module or of an sdy operation.
  Result<bytecode::AttrId> builtin(mlir::Attribute attribute);
  Result<bytecode::AttrId> location(mlir::Location location);
  /// A dictionary of VHLO or builtin attributes under builtin keys.
  Result<bytecode::AttrId> dictionary(mlir::ArrayRef<mlir::NamedAttribute> attributes,
                                      Dialect dialect);

  // VHLO attributes from plain values.
  bytecode::AttrId boolean(bool value) { return *vhlo(mlir::BoolAttr::get(&context, value)); }
  bytecode::AttrId string(llvm::StringRef text) {
    return *vhlo(mlir::StringAttr::get(&context, text));
  }
  bytecode::AttrId integer(int64_t value, unsigned width = 64) {
    return *vhlo(mlir::IntegerAttr::get(mlir::IntegerType::get(&context, width), value));
  }
  bytecode::AttrId array(llvm::ArrayRef<bytecode::AttrId> elements);
  bytecode::AttrId enumeration(bytecode::AttrKind kind, uint32_t value);
  bytecode::AttrId usualAccuracy();
  /// A tensor of i64 with these elements and this shape.
  bytecode::AttrId integers(llvm::ArrayRef<int64_t> values, llvm::ArrayRef<int64_t> shape);
  bytecode::AttrId integers(llvm::ArrayRef<int64_t> values) {
    return integers(values, {static_cast<int64_t>(values.size())});
  }
  bytecode::AttrId booleans(llvm::ArrayRef<bool> values);

  /// Fails if the target is older than `since`; records the newest version that was needed.
  Status need(bytecode::Version since, std::string_view what);
  bytecode::Version newestNeeded() const { return needed; }

  /// Appends `values` to a pool.
  template <typename T, typename Values>
  static bytecode::Range pool(std::vector<T> &into, const Values &values) {
    auto begin = static_cast<uint32_t>(into.size());
    into.insert(into.end(), values.begin(), values.end());
    return {begin, static_cast<uint32_t>(into.size() - begin)};
  }

  bytecode::Module tables;
  const bytecode::Version target;

private:
  Result<bytecode::TypeId> addType(mlir::Type type, Dialect dialect);
  Result<bytecode::TypeId> addQuantized(mlir::Type type);
  Result<bytecode::AttrId> addVhlo(mlir::Attribute attribute);
  Result<bytecode::AttrId> addBuiltin(mlir::Attribute attribute);
  Result<bytecode::AttrId> addSdy(mlir::Attribute attribute);
  Result<bytecode::AttrId> addStablehlo(mlir::Attribute attribute);
  Result<bytecode::AttrId> addTensor(mlir::ElementsAttr attribute, bytecode::AttrKind kind,
                                     Dialect dialect);
  Result<bytecode::Range> types(mlir::TypeRange types, Dialect dialect);
  /// Exports each attribute of a list with vhlo() or builtin().
  template <typename List> Result<bytecode::Range> list(const List &attributes, Dialect dialect);

  bytecode::AttrId add(bytecode::AttrKind kind, uint32_t a = bytecode::absent,
                       uint32_t b = bytecode::absent, bytecode::Range list = {}) {
    tables.attrs.push_back({kind, a, b, list});
    return static_cast<uint32_t>(tables.attrs.size() - 1);
  }
  bytecode::TypeId addEntry(bytecode::Type type) {
    tables.types.push_back(type);
    return static_cast<uint32_t>(tables.types.size() - 1);
  }
  bytecode::StringId text(llvm::StringRef text);
  bytecode::Range numbers(llvm::ArrayRef<int64_t> values) { return pool(tables.numbers, values); }
  bytecode::Range lists(llvm::ArrayRef<bytecode::Range> ranges) {
    return pool(tables.lists, ranges);
  }
  bytecode::AttrId builtinString(llvm::StringRef text);
  bytecode::LiteralId literal(llvm::ArrayRef<char> bytes, int64_t count,
                              bytecode::LiteralForm form);

  mlir::MLIRContext &context;
  bytecode::Version needed = bytecode::oldestVersion;
  llvm::DenseMap<mlir::Type, bytecode::TypeId> vhloTypes, builtinTypes;
  llvm::DenseMap<mlir::Attribute, bytecode::AttrId> vhloAttributes, builtinAttributes;
  llvm::StringMap<bytecode::StringId> strings;
};

/// The failure for a feature that no version supports.
Status unsupported(std::string_view what);

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_EXPORTENTRIES_H
