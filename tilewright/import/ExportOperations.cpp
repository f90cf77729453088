#include "tilewright/import/ExportOperations.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/dialect/source/Source.h"
#include "tilewright/dialect/stablehlo/StablehloTypes.h"
#include "tilewright/import/AttributeRules.h"
#include "tilewright/support/Concat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace tilewright {

using bytecode::absent;
using bytecode::AttrId;
using bytecode::Dialect;
using bytecode::Op;
using bytecode::OpId;
using bytecode::OpRow;
using bytecode::RegionId;
using bytecode::TypeId;
using bytecode::ValueId;
using bytecode::Version;

namespace {

class OperationWriter {
public:
  explicit OperationWriter(ExportEntries &entries) : entries(entries), tables(entries.tables) {}

  Status writeModule(mlir::ModuleOp module);

private:
  Status write(mlir::Operation *op);
  Status writeVhlo(mlir::Operation *op);
  Status writeSdy(mlir::Operation *op);
  Status writeRegions(OpId id, mlir::Operation *op, Dialect dialect);
  Status writeBlock(RegionId region, mlir::Block &block, Dialect dialect);

  /// The form of `op` in the target version, if that form can express `op`.
  Result<const OpRow *> rowFor(mlir::Operation *op);
  Status properties(mlir::Operation *op, const OpRow &row, bytecode::Operation &entry);
  Status checkOlderReducers(mlir::Operation *op);

  /// Appends a new operation to the table; finish() sets its `end`.
  Result<OpId> begin(const OpRow &row, mlir::Location location, llvm::ArrayRef<ValueId> operands,
                     mlir::TypeRange results, Dialect dialect);
  void finish(OpId id) { tables.operations[id].end = tables.operations.size(); }
  /// Converts a value between VHLO's types and the builtin types that sdy uses.
  Result<ValueId> cast(ValueId value, mlir::Type type, mlir::Location location, Dialect to);
  Result<llvm::SmallVector<ValueId>> operandsOf(mlir::Operation *op, Dialect dialect);

  ExportEntries &entries;
  bytecode::Module &tables;
  /// The exported id of each value. A value that sdy ops use has a second id, with builtin types
  /// (see cast()); this map holds the id with VHLO types.
  llvm::DenseMap<mlir::Value, ValueId> values;
  llvm::DenseMap<uint16_t, uint32_t> opNames;
  /// Whether the current failure already names the operation that caused it.
  bool isBlamed = false;
};

/// The forms of an operation, oldest first.
llvm::SmallVector<const OpRow *, 2> formsOf(std::string_view base) {
  llvm::SmallVector<const OpRow *, 2> forms;
  for (const char *version : {"_v1", "_v2"})
    if (const OpRow *row = bytecode::findOp(Dialect::vhlo, concat(base, version)))
      forms.push_back(row);
  return forms;
}

std::string_view view(llvm::StringRef text) { return {text.data(), text.size()}; }

Status OperationWriter::writeModule(mlir::ModuleOp module) {
  TILEWRIGHT_ASSIGN(OpId id, begin(bytecode::rowOf(Op::builtinModule), module.getLoc(), {}, {},
                                   Dialect::builtin));
  // sym_name and sym_visibility, in the order of the row.
  llvm::SmallVector<AttrId> inherent;
  for (mlir::Attribute attribute :
       {mlir::Attribute(module.getSymNameAttr()), mlir::Attribute(module.getSymVisibilityAttr())}) {
    AttrId entry = absent;
    if (attribute) {
      TILEWRIGHT_ASSIGN(entry, entries.builtin(attribute));
    }
    inherent.push_back(entry);
  }
  tables.operations[id].properties = ExportEntries::pool(tables.attrLists, inherent);
  auto discardable = llvm::to_vector(module->getDiscardableAttrs());
  if (!discardable.empty()) {
    TILEWRIGHT_ASSIGN(AttrId attributes, entries.dictionary(discardable, Dialect::builtin));
    tables.operations[id].attributes = attributes;
  }
  TILEWRIGHT_TRY(writeRegions(id, module, Dialect::builtin));
  finish(id);
  return Status();
}

Status OperationWriter::write(mlir::Operation *op) {
  bool isSdy = llvm::isa<sdy::SdyDialect>(op->getDialect());
  Status status = isSdy ? writeSdy(op) : writeVhlo(op);
  // Blame the innermost operation; the operations around it only propagate the failure.
  if (status.isOk() || !status.error() || isBlamed)
    return status;
  isBlamed = true;
  std::string source = source::placeAndNameOf(op->getLoc());
  return Status(*status.error(),
                concat("operation '", view(op->getName().getStringRef()), "'",
                       source.empty() ? "" : " at ", source, ": ", status.message()));
}

Result<const OpRow *> OperationWriter::rowFor(mlir::Operation *op) {
  llvm::StringRef dialect = op->getName().getDialectNamespace();
  llvm::SmallVector<const OpRow *, 2> forms;
  if (dialect == "stablehlo" || dialect == "func")
    forms = formsOf(view(op->getName().stripDialect()));
  if (forms.empty())
    return unsupported("it");

  // The newest form can express every operation. An older form can express `op` if the attributes
  // it lacks have their default values and it accepts the numbers of operands, results and regions.
  auto saysAll = [&](const OpRow *row) {
    if (!row->operands.accepts(op->getNumOperands()) ||
        !row->results.accepts(op->getNumResults()) || !row->regions.accepts(op->getNumRegions()))
      return false;
    return llvm::all_of(forms.back()->attributes, [&](std::string_view name) {
      return row->attributeIndex(name) >= 0 || hasDefault(op, name);
    });
  };
  const OpRow *oldest =
      *llvm::find_if(forms, [&](const OpRow *row) { return row == forms.back() || saysAll(row); });
  TILEWRIGHT_TRY(entries.need(oldest->since, "this form of the operation"));
  for (const OpRow *row : forms)
    if (row->since <= entries.target && entries.target <= row->until)
      return row;
  return unsupported("it");
}

/// StableHLO 0.17 introduced reducers whose types differ from those of their operands.
Status OperationWriter::checkOlderReducers(mlir::Operation *op) {
  llvm::StringRef name = op->getName().stripDialect();
  bool isReducer = name == "all_reduce" || name == "reduce" || name == "reduce_scatter" ||
                   name == "reduce_window" || name == "scatter" || name == "select_and_scatter";
  if (!isReducer || op->getNumRegions() == 0 || op->getRegions().back().empty())
    return Status();
  auto arguments = op->getRegions().back().getArgumentTypes();
  for (auto [argument, result] : llvm::zip(arguments, op->getResultTypes()))
    if (mlir::getElementTypeOrSelf(argument) != mlir::getElementTypeOrSelf(result))
      return entries.need({0, 17}, "a reduction whose type differs from its operand's");
  return Status();
}

Status OperationWriter::properties(mlir::Operation *op, const OpRow &row,
                                   bytecode::Operation &entry) {
  llvm::SmallVector<AttrId> inherent;
  for (std::string_view name : row.attributes) {
    TILEWRIGHT_ASSIGN(AttrId id, exportAttribute(op, name, entries));
    inherent.push_back(id);
  }
  entry.properties = ExportEntries::pool(tables.attrLists, inherent);

  auto discardable = llvm::to_vector(op->getDiscardableAttrs());
  if (!discardable.empty()) {
    TILEWRIGHT_ASSIGN(entry.attributes, entries.dictionary(discardable, Dialect::vhlo));
  }
  return Status();
}

Status OperationWriter::writeVhlo(mlir::Operation *op) {
  TILEWRIGHT_ASSIGN(const OpRow *row, rowFor(op));
  TILEWRIGHT_TRY(checkOlderReducers(op));
  bool usesFutures = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<stablehlo::FutureType>) ||
                     llvm::any_of(op->getResultTypes(), llvm::IsaPred<stablehlo::FutureType>);
  if (usesFutures && op->getName().stripDialect() == "custom_call")
    TILEWRIGHT_TRY(entries.need({1, 17}, "a future in a custom call"));
  TILEWRIGHT_ASSIGN(auto operands, operandsOf(op, Dialect::vhlo));
  TILEWRIGHT_ASSIGN(OpId id,
                    begin(*row, op->getLoc(), operands, op->getResultTypes(), Dialect::vhlo));
  bytecode::Operation entry = tables.operations[id];
  TILEWRIGHT_TRY(properties(op, *row, entry));
  tables.operations[id] = entry;
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    values[result] = entry.firstResult + index;
  TILEWRIGHT_TRY(writeRegions(id, op, Dialect::vhlo));
  finish(id);
  return Status();
}

Status OperationWriter::writeSdy(mlir::Operation *op) {
  const OpRow *row = bytecode::findOp(Dialect::sdy, view(op->getName().stripDialect()));
  if (!row)
    return unsupported("it");
  TILEWRIGHT_TRY(entries.need(row->since, "the sdy dialect"));
  TILEWRIGHT_ASSIGN(auto operands, operandsOf(op, Dialect::sdy));
  TILEWRIGHT_ASSIGN(OpId id,
                    begin(*row, op->getLoc(), operands, op->getResultTypes(), Dialect::builtin));
  llvm::SmallVector<AttrId> inherent;
  for (std::string_view name : row->attributes) {
    AttrId entry = absent;
    if (mlir::Attribute attribute = op->getAttr(llvm::StringRef(name))) {
      TILEWRIGHT_ASSIGN(entry, entries.builtin(attribute));
    }
    inherent.push_back(entry);
  }
  tables.operations[id].properties = ExportEntries::pool(tables.attrLists, inherent);
  auto discardable = llvm::to_vector(op->getDiscardableAttrs());
  if (!discardable.empty()) {
    TILEWRIGHT_ASSIGN(AttrId attributes, entries.dictionary(discardable, Dialect::builtin));
    tables.operations[id].attributes = attributes;
  }
  TILEWRIGHT_TRY(writeRegions(id, op, Dialect::builtin));
  finish(id);
  ValueId first = tables.operations[id].firstResult;
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    TILEWRIGHT_ASSIGN(values[result],
                      cast(first + index, result.getType(), op->getLoc(), Dialect::vhlo));
  }
  return Status();
}

Result<llvm::SmallVector<ValueId>> OperationWriter::operandsOf(mlir::Operation *op,
                                                               Dialect dialect) {
  llvm::SmallVector<ValueId> operands;
  for (mlir::Value operand : op->getOperands()) {
    ValueId id = values.at(operand);
    if (dialect == Dialect::sdy) {
      TILEWRIGHT_ASSIGN(id, cast(id, operand.getType(), op->getLoc(), Dialect::builtin));
    }
    operands.push_back(id);
  }
  return operands;
}

Result<ValueId> OperationWriter::cast(ValueId value, mlir::Type type, mlir::Location location,
                                      Dialect to) {
  TILEWRIGHT_ASSIGN(OpId id, begin(bytecode::rowOf(Op::builtinUnrealizedConversionCast), location,
                                   {value}, type, to));
  finish(id);
  return tables.operations[id].firstResult;
}

Result<OpId> OperationWriter::begin(const OpRow &row, mlir::Location location,
                                    llvm::ArrayRef<ValueId> operands, mlir::TypeRange results,
                                    Dialect dialect) {
  bytecode::Operation entry;
  auto [name, isNew] = opNames.try_emplace(static_cast<uint16_t>(row.op), tables.opNames.size());
  if (isNew)
    tables.opNames.push_back({row.op});
  entry.name = name->second;
  TILEWRIGHT_ASSIGN(entry.location, entries.location(location));
  entry.operands = ExportEntries::pool(tables.operands, operands);
  entry.firstResult = tables.valueTypes.size();
  entry.resultCount = results.size();
  for (mlir::Type result : results) {
    TILEWRIGHT_ASSIGN(TypeId type, entries.type(result, dialect));
    tables.valueTypes.push_back(type);
  }
  tables.operations.push_back(entry);
  return static_cast<OpId>(tables.operations.size() - 1);
}

Status OperationWriter::writeRegions(OpId id, mlir::Operation *op, Dialect dialect) {
  bytecode::Range range{static_cast<uint32_t>(tables.regions.size()), op->getNumRegions()};
  tables.operations[id].regions = range;
  tables.regions.resize(range.end());
  for (uint32_t index = 0; index < range.size; ++index) {
    bytecode::Region region;
    region.parent = id;
    region.firstOp = region.endOp = tables.operations.size();
    region.firstArgument = tables.valueTypes.size();
    tables.regions[range.begin + index] = region;
    mlir::Region &blocks = op->getRegion(index);
    if (blocks.empty())
      continue;
    if (!blocks.hasOneBlock())
      return unsupported("a region with several blocks");
    TILEWRIGHT_TRY(writeBlock(range.begin + index, blocks.front(), dialect));
  }
  return Status();
}

Status OperationWriter::writeBlock(RegionId id, mlir::Block &block, Dialect dialect) {
  bytecode::Region region = tables.regions[id];
  region.hasBlock = true;
  region.argumentCount = block.getNumArguments();
  llvm::SmallVector<AttrId> locations;
  for (mlir::BlockArgument argument : block.getArguments()) {
    TILEWRIGHT_ASSIGN(TypeId type, entries.type(argument.getType(), dialect));
    TILEWRIGHT_ASSIGN(AttrId location, entries.location(argument.getLoc()));
    values[argument] = tables.valueTypes.size();
    tables.valueTypes.push_back(type);
    locations.push_back(location);
  }
  region.argumentLocations = ExportEntries::pool(tables.attrLists, locations);
  tables.regions[id] = region;

  if (dialect == Dialect::builtin)
    for (mlir::BlockArgument argument : block.getArguments()) {
      TILEWRIGHT_ASSIGN(values[argument], cast(values[argument], argument.getType(),
                                               argument.getLoc(), Dialect::vhlo));
    }
  for (mlir::Operation &op : block)
    TILEWRIGHT_TRY(write(&op));
  tables.regions[id].endOp = tables.operations.size();
  return Status();
}

} // namespace

Status exportOperations(mlir::ModuleOp module, ExportEntries &entries) {
  return OperationWriter(entries).writeModule(module);
}

} // namespace tilewright
