// The entries of an artifact's tables as MLIR types, attributes and locations.
#ifndef TILEWRIGHT_IMPORT_ENTRYBUILDER_H
#define TILEWRIGHT_IMPORT_ENTRYBUILDER_H

#include "tilewright/import/ArtifactFile.h"
#include "tilewright/import/bytecode/Module.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace tilewright {

/// Builds each entry once and remembers it. VHLO's types become the builtin ones and its attributes
/// those of StableHLO, so MLIR never sees VHLO. Entries are untrusted: EntryBuilder checks
/// everything that MLIR would assert and reports violations as `entryInvalid`, with the entry's
/// number.
///
///   EntryBuilder entries(context, tables, file);
///   TILEWRIGHT_ASSIGN(mlir::Type type, entries.type(tables.valueTypes[0]));
class EntryBuilder {
public:
  /// See constant(). MLIR copies, hashes and uniques constants up to this size; passes that look
  /// for a small constant rely on that.
  static constexpr size_t maxInlineBytes = 4096;

  EntryBuilder(mlir::MLIRContext &context, const bytecode::Module &tables, ArtifactFile file);

  Result<mlir::Type> type(bytecode::TypeId id);
  Result<mlir::Attribute> attribute(bytecode::AttrId id);
  Result<mlir::Location> location(bytecode::AttrId id);
  /// A tensor that may be large. A tensor of more than maxInlineBytes stays in the file: it becomes
  /// a DenseResourceElementsAttr that points there and keeps the file alive. Its bytes have the
  /// layout of DenseElementsAttr and may have any alignment.
  Result<mlir::Attribute> constant(bytecode::AttrId id);
  /// Appends all types of a list to `out`.
  Status types(std::span<const bytecode::TypeId> ids, llvm::SmallVectorImpl<mlir::Type> &out);

  const bytecode::Module &tables() const { return module; }
  const bytecode::Attr &entry(bytecode::AttrId id) const { return module.attrs[id]; }
  mlir::MLIRContext &context() const { return mlirContext; }

  /// Runs `get`, a call of some getChecked, and reports MLIR's diagnostic if it fails:
  /// checkedBy([&](auto emitError) { return X::getChecked(emitError, …); })
  template <typename Get> Result<mlir::Attribute> checkedBy(Get get) {
    auto report = [this] { return emitError(); };
    if (mlir::Attribute attribute = get(llvm::function_ref<mlir::InFlightDiagnostic()>(report)))
      return attribute;
    return Status(Error::attributeKind, refusal);
  }

  // Plain values, for callers that decode an attribute themselves. The result is empty if the entry
  // has another kind.

  /// The value of an integer of at most 64 bits.
  std::optional<int64_t> integer(bytecode::AttrId id) const;
  std::optional<bool> boolean(bytecode::AttrId id) const;
  std::optional<std::string_view> text(bytecode::AttrId id) const;
  /// The elements of a 1-dimensional tensor of i64.
  std::optional<llvm::SmallVector<int64_t>> integers(bytecode::AttrId id) const;
  /// The elements of a 1-dimensional tensor of i1.
  std::optional<llvm::SmallVector<bool>> booleans(bytecode::AttrId id) const;
  /// Whether the entry is a non-empty tensor of i1 or i64 whose elements all equal `value`.
  bool isFilledWith(bytecode::AttrId id, int64_t value) const;

private:
  Result<mlir::Type> buildType(bytecode::TypeId id);
  Result<mlir::Type> buildQuantized(const bytecode::Type &type, bytecode::TypeId id);
  Result<mlir::Attribute> buildAttribute(bytecode::AttrId id);
  Result<mlir::Attribute> buildBuiltin(bytecode::AttrId id);
  Result<mlir::Attribute> buildLocation(bytecode::AttrId id);
  Result<mlir::Attribute> buildVhlo(bytecode::AttrId id);
  Result<mlir::Attribute> buildSdy(bytecode::AttrId id);
  /// Copies a tensor of at most `inlineBytes`; a larger one stays in the file.
  Result<mlir::Attribute> buildTensor(bytecode::AttrId id, size_t inlineBytes);
  Result<mlir::Attribute> buildDenseArray(bytecode::AttrId id);
  Result<mlir::Attribute> buildDictionary(bytecode::AttrId id);

  Status attributes(bytecode::Range range, llvm::SmallVectorImpl<mlir::Attribute> &out);
  /// All attributes of a list, each of class `Attr`.
  template <typename Attr>
  Result<llvm::SmallVector<Attr>> attributesOf(bytecode::AttrId owner, bytecode::Range range);
  template <typename Attr> Result<Attr> attributeOf(bytecode::AttrId owner, bytecode::AttrId id);

  /// The diagnostic that MLIR's getChecked reports to; its text becomes part of the Status.
  mlir::InFlightDiagnostic emitError();
  Status invalidType(bytecode::TypeId id, std::string_view reason);
  Status invalidAttribute(bytecode::AttrId id, std::string_view reason);
  /// The type, or the reason why MLIR rejected it.
  Result<mlir::Type> checked(mlir::Type type, bytecode::TypeId id);
  Result<mlir::Attribute> checked(mlir::Attribute attribute, bytecode::AttrId id);

  /// The literal of a tensor of signed or signless integers of `width` bits; null for other
  /// entries.
  const bytecode::Literal *listOf(bytecode::AttrId id, unsigned width) const;

  mlir::MLIRContext &mlirContext;
  const bytecode::Module &module;
  ArtifactFile file;
  std::vector<mlir::Type> builtTypes;
  std::vector<mlir::Attribute> builtAttributes;
  llvm::DenseMap<bytecode::AttrId, mlir::Attribute> builtConstants;
  /// The last diagnostic with which MLIR rejected an entry.
  std::string refusal;
  mlir::ScopedDiagnosticHandler handler;
};

template <typename Attr>
Result<Attr> EntryBuilder::attributeOf(bytecode::AttrId owner, bytecode::AttrId id) {
  Result<mlir::Attribute> built = attribute(id);
  if (!built.isOk())
    return std::move(built).takeStatus();
  if (auto attr = llvm::dyn_cast<Attr>(*built))
    return attr;
  return invalidAttribute(owner, "it refers to attribute " + std::to_string(id) +
                                     ", which has the wrong kind");
}

template <typename Attr>
Result<llvm::SmallVector<Attr>> EntryBuilder::attributesOf(bytecode::AttrId owner,
                                                           bytecode::Range range) {
  llvm::SmallVector<Attr> all;
  for (bytecode::AttrId id : module.attrsIn(range)) {
    Result<Attr> built = attributeOf<Attr>(owner, id);
    if (!built.isOk())
      return std::move(built).takeStatus();
    all.push_back(*built);
  }
  return all;
}

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_ENTRYBUILDER_H
