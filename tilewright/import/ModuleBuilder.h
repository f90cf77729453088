// From the tables of an artifact to a module of func, stablehlo and sdy.
#ifndef TILEWRIGHT_IMPORT_MODULEBUILDER_H
#define TILEWRIGHT_IMPORT_MODULEBUILDER_H

#include "tilewright/import/EntryBuilder.h"
#include "tilewright/import/OperationAttributes.h"
#include "tilewright/import/PartCount.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <array>
#include <memory>

namespace tilewright {

/// Creates every operation once, in the order of the table: linear in the size
/// of the artifact. The result has the structure that MLIR's verifier and ours
/// take for granted (blocks end in the right terminator, functions stand in
/// the module), but is not verified yet.
class ModuleBuilder {
public:
  ModuleBuilder(EntryBuilder &entries, const ImportOptions &options);

  /// - misplacedOperation: an operation stands where it has no meaning.
  /// - attributeKind: an operation's attribute is not what the operation takes.
  /// - entryInvalid: MLIR has no such type or attribute.
  /// - limitParts: types and attributes are small in the file and huge to visit.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> build();

private:
  /// What to do with the operations of one row of the table; made at first use.
  struct Plan {
    mlir::OperationName name;
    /// Without dialect and version: "dot_general".
    std::string_view base;
    /// One per attribute of the row: its rule, and its name in StableHLO.
    llvm::SmallVector<std::pair<const AttributeRule *, mlir::StringAttr>> slots;
    bool hasParts = false;
  };

  Result<const Plan *> planOf(bytecode::Op op);

  Status buildBlock(const bytecode::Region &region, mlir::Block &block);
  Status buildOperation(bytecode::OpId id, mlir::Block &block);
  Status createOperation(bytecode::OpId id, mlir::Block &block);
  Status forwardCast(bytecode::OpId id);
  Status buildRegions(bytecode::OpId id, mlir::Operation &op);

  Status appendInherent(const bytecode::Operation &op, const Plan &plan, mlir::NamedAttrList &out);
  Status appendDiscardable(const bytecode::Operation &op, mlir::OperationName name,
                           mlir::NamedAttrList &out);

  /// Whether operation `id` may stand in a region of `parent`, and at its end.
  Status checkPlace(bytecode::OpId id, bytecode::OpId parent, bool isLast);
  Status checkFunction(const bytecode::Operation &op);

  /// Adds which operation it was, and where in the user's program.
  Status at(bytecode::OpId id, Status failure);
  Status misplaced(bytecode::OpId id, std::string_view rule);

  const bytecode::Operation &operation(bytecode::OpId id) const { return tables.operations[id]; }
  bytecode::Op kindOf(bytecode::OpId id) const { return tables.rowOf(operation(id)).op; }

  EntryBuilder &entries;
  const bytecode::Module &tables;
  mlir::MLIRContext &context;
  PartCount parts;
  std::vector<mlir::Value> values;
  std::array<std::unique_ptr<Plan>, bytecode::opCount> plans;
};

} // namespace tilewright

#endif // TILEWRIGHT_IMPORT_MODULEBUILDER_H
