// ModuleBuilder: builds a module of func, stablehlo and sdy from the tables of an artifact.
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

/// Creates every operation once, in the order of the table: linear in the size of the artifact. The
/// result has the structure that MLIR's verifier and ours assume (blocks end in the right
/// terminator, functions are children of the module), but is not verified yet.
class ModuleBuilder {
public:
  ModuleBuilder(EntryBuilder &entries, const ImportOptions &options);

  /// - misplacedOperation: an operation is not allowed where it appears.
  /// - attributeKind: an attribute has a kind that its operation does not accept.
  /// - entryInvalid: MLIR has no such type or attribute.
  /// - limitParts: types and attributes are small in the file but too large to traverse.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> build();

private:
  /// How to build the operations of one OpRow; computed at first use.
  struct Plan {
    mlir::OperationName name;
    /// The operation's name without dialect and version: "dot_general".
    std::string_view base;
    /// For each attribute of the row, its rule and its name in StableHLO.
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

  /// Checks that operation `id` may be in a region of `parent`, and that it is a terminator if and
  /// only if it is the last operation of its block.
  Status checkPlace(bytecode::OpId id, bytecode::OpId parent, bool isLast);
  Status checkFunction(const bytecode::Operation &op);

  /// Adds the operation and its line in the user's program to a failure.
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
