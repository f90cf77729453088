#include "tilewright/import/ModuleBuilder.h"

#include "tilewright/dialect/source/Source.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/WorkLimit.h"

#include "mlir/IR/Builders.h"

namespace tilewright {

using bytecode::absent;
using bytecode::AttrId;
using bytecode::Op;
using bytecode::OpId;

ModuleBuilder::ModuleBuilder(EntryBuilder &entries, const ImportOptions &options)
    : entries(entries), tables(entries.tables()), context(entries.context()),
      parts(tables, options), values(tables.valueTypes.size()) {}

Status ModuleBuilder::at(OpId id, Status failure) {
  std::string source;
  if (Result<mlir::Location> location = entries.location(operation(id).location); location.isOk())
    source = source::placeAndNameOf(*location);
  std::string message = concat("operation ", id, " (", tables.rowOf(operation(id)).fullName(), ")",
                               source.empty() ? "" : " at ", source, ": ", failure.message());
  if (failure.error())
    return Status(*failure.error(), std::move(message));
  return Status(failure.code(), std::move(message));
}

Status ModuleBuilder::misplaced(OpId id, std::string_view rule) {
  return at(id, Status(Error::misplacedOperation, concat(rule, "; export the artifact again")));
}

Result<mlir::OwningOpRef<mlir::ModuleOp>> ModuleBuilder::build() {
  const bytecode::Operation &root = operation(0);
  TILEWRIGHT_TRY(parts.charge(root));
  TILEWRIGHT_ASSIGN(mlir::Location location, entries.location(root.location));
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(location);

  mlir::NamedAttrList attributes;
  Properties properties(tables, root);
  for (std::string_view name : {"sym_name", "sym_visibility"}) {
    AttrId id = properties[name];
    if (id == absent)
      continue;
    if (entries.entry(id).kind != bytecode::AttrKind::string)
      return at(0, wrongKind(name, "a string"));
    attributes.append(name, mlir::StringAttr::get(&context, tables.textOf(id)));
  }
  TILEWRIGHT_TRY(appendDiscardable(root, (*module)->getName(), attributes));
  (*module)->setAttrs(attributes.getDictionary(&context));

  const bytecode::Region &body = tables.regionsOf(root).front();
  if (!body.hasBlock || body.argumentCount != 0)
    return misplaced(0, "a module must have one block without arguments");
  TILEWRIGHT_TRY(buildBlock(body, *module->getBody()));
  return module;
}

Status ModuleBuilder::buildBlock(const bytecode::Region &region, mlir::Block &block) {
  bool isModule = kindOf(region.parent) == Op::builtinModule;
  if (!isModule && region.firstOp == region.endOp)
    return misplaced(region.parent, "a block must end with a return, but this block is empty");
  for (OpId id = region.firstOp; id != region.endOp; id = operation(id).end) {
    if (WorkLimit::mustStop())
      return WorkLimit::stopAt(concat("operation ", id, " of the artifact"));
    bool isLast = operation(id).end == region.endOp;
    TILEWRIGHT_TRY(checkPlace(id, region.parent, isLast));
    TILEWRIGHT_TRY(buildOperation(id, block));
  }
  return Status();
}

Status ModuleBuilder::checkPlace(OpId id, OpId parent, bool isLast) {
  Op op = kindOf(id), around = kindOf(parent);
  bool isFunction = op == Op::func_v1, isMesh = op == Op::sdyMesh;
  if (op == Op::builtinModule)
    return misplaced(id, "a module must not be nested in another operation");
  if (around == Op::builtinModule)
    return isFunction || isMesh
               ? Status()
               : misplaced(id, "only functions and meshes may be top-level operations");
  if (isFunction || isMesh)
    return misplaced(id, "a function or a mesh must be a top-level operation");

  bool inManual = around == Op::sdyManualComputation;
  bool isReturn = op == Op::return_v1 || op == Op::sdyReturn;
  if (isReturn && (op == Op::sdyReturn) != inManual)
    return misplaced(
        id,
        "a manual computation must end with sdy.return, every other region with vhlo.return_v1");
  if (isReturn != isLast)
    return misplaced(id, isReturn ? "a return must be the last operation of its block"
                                  : "the last operation of a block must be a return");
  return Status();
}

Status ModuleBuilder::buildOperation(OpId id, mlir::Block &block) {
  if (kindOf(id) == Op::builtinUnrealizedConversionCast)
    return forwardCast(id);
  return createOperation(id, block);
}

Status ModuleBuilder::forwardCast(OpId id) {
  // Casts convert between VHLO's types and the builtin types of sdy. Here both are the same type,
  // so the result is the operand.
  const bytecode::Operation &op = operation(id);
  std::span<const bytecode::ValueId> operands = tables.operandsOf(op);
  bool isIdentity = operands.size() == op.resultCount;
  for (uint32_t i = 0; isIdentity && i < op.resultCount; ++i) {
    TILEWRIGHT_ASSIGN(mlir::Type type, entries.type(tables.valueTypes[op.firstResult + i]));
    isIdentity = values[operands[i]].getType() == type;
    values[op.firstResult + i] = values[operands[i]];
  }
  if (!isIdentity)
    return misplaced(id, "a conversion must not change the type");
  return Status();
}

Result<const ModuleBuilder::Plan *> ModuleBuilder::planOf(Op op) {
  std::unique_ptr<Plan> &plan = plans[static_cast<size_t>(op)];
  if (plan)
    return plan.get();

  const bytecode::OpRow &row = rowOf(op);
  std::string_view base = row.name;
  std::string name = row.fullName();
  if (row.dialect == bytecode::Dialect::vhlo) {
    base = withoutVersion(row.name);
    bool isFunc = op == Op::func_v1 || op == Op::call_v1;
    name = concat(isFunc ? "func." : "stablehlo.", base);
  }
  plan = std::make_unique<Plan>(Plan{mlir::OperationName(name, &context), base, {}, false});
  if (!plan->name.isRegistered())
    return Status(Code::internal, concat("the dialect has no operation ", name));

  for (std::string_view attribute : row.attributes) {
    const AttributeRule *rule = findAttributeRule(base, attribute);
    if (!rule && row.dialect == bytecode::Dialect::vhlo)
      return Status(Code::internal, concat("AttributeRules.def has no rule for attribute '",
                                           attribute, "' of ", base));
    if (rule && rule->form == AttributeForm::part)
      plan->hasParts = true;
    bool isChannel = rule && rule->form == AttributeForm::channel;
    plan->slots.push_back(
        {rule, mlir::StringAttr::get(&context, isChannel ? "channel_handle" : attribute)});
  }
  return plan.get();
}

Status ModuleBuilder::createOperation(OpId id, mlir::Block &block) {
  const bytecode::Operation &op = operation(id);
  Op kind = kindOf(id);
  if (Status status = parts.charge(op); !status.isOk())
    return at(id, std::move(status));
  if (kind == Op::func_v1)
    if (Status status = checkFunction(op); !status.isOk())
      return at(id, std::move(status));

  TILEWRIGHT_ASSIGN(const Plan *plan, planOf(kind));
  mlir::OperationName name = plan->name;
  if (kind == Op::return_v1 && block.getParentOp()->getName().getStringRef() == "func.func")
    name = mlir::OperationName("func.return", &context);

  TILEWRIGHT_ASSIGN(mlir::Location location, entries.location(op.location));
  mlir::NamedAttrList attributes;
  Status status = appendInherent(op, *plan, attributes);
  if (status.isOk())
    status = appendDiscardable(op, name, attributes);
  if (!status.isOk())
    return at(id, std::move(status));

  llvm::SmallVector<mlir::Value> operands;
  for (bytecode::ValueId value : tables.operandsOf(op))
    operands.push_back(values[value]);
  llvm::SmallVector<mlir::Type> types;
  TILEWRIGHT_TRY(
      entries.types(std::span(tables.valueTypes).subspan(op.firstResult, op.resultCount), types));

  mlir::Operation *created =
      mlir::Operation::create(location, name, types, operands, std::move(attributes),
                              /*properties=*/nullptr, mlir::BlockRange(), op.regions.size);
  block.push_back(created);
  for (uint32_t i = 0; i < op.resultCount; ++i)
    values[op.firstResult + i] = created->getResult(i);
  return buildRegions(id, *created);
}

Status ModuleBuilder::buildRegions(OpId id, mlir::Operation &op) {
  std::span<const bytecode::Region> regions = tables.regionsOf(operation(id));
  for (size_t index = 0; index < regions.size(); ++index) {
    const bytecode::Region &region = regions[index];
    if (!region.hasBlock) {
      // A function without a body is a declaration; all other regions need a body.
      if (kindOf(id) == Op::func_v1)
        continue;
      return misplaced(id, "its regions must not be empty");
    }
    mlir::Block &block = op.getRegion(index).emplaceBlock();
    std::span<const AttrId> locations = tables.attrsIn(region.argumentLocations);
    for (uint32_t i = 0; i < region.argumentCount; ++i) {
      TILEWRIGHT_ASSIGN(mlir::Type type, entries.type(tables.valueTypes[region.firstArgument + i]));
      TILEWRIGHT_ASSIGN(mlir::Location location, entries.location(locations[i]));
      values[region.firstArgument + i] = block.addArgument(type, location);
    }
    TILEWRIGHT_TRY(buildBlock(region, block));
  }
  return Status();
}

Status ModuleBuilder::appendInherent(const bytecode::Operation &op, const Plan &plan,
                                     mlir::NamedAttrList &out) {
  if (plan.slots.empty())
    return Status();
  Properties properties(tables, op);
  for (size_t slot = 0; slot < plan.slots.size(); ++slot) {
    auto [rule, name] = plan.slots[slot];
    AttrId id = properties.values[slot];
    if (!rule) { // sdy: the same attributes under the same names
      if (id == absent)
        continue;
      TILEWRIGHT_ASSIGN(mlir::Attribute attribute, entries.attribute(id));
      out.append(name, attribute);
      continue;
    }
    if (rule->form == AttributeForm::part || rule->form == AttributeForm::ignored ||
        isLeftOut(entries, *rule, properties))
      continue;
    bool isConstant = properties.row.op == Op::constant_v1 &&
                      entries.entry(id).kind == bytecode::AttrKind::vhloTensor;
    TILEWRIGHT_ASSIGN(mlir::Attribute attribute,
                      isConstant ? entries.constant(id) : convertAttribute(entries, *rule, id));
    out.append(name, attribute);
  }
  if (plan.hasParts)
    return appendStructs(entries, plan.base, properties, out);
  return Status();
}

Status ModuleBuilder::appendDiscardable(const bytecode::Operation &op, mlir::OperationName name,
                                        mlir::NamedAttrList &out) {
  if (op.attributes == absent)
    return Status();
  const bytecode::OpRow &row = tables.rowOf(op);
  std::span<const AttrId> pairs = tables.attrsIn(entries.entry(op.attributes).list);
  for (size_t pair = 0; pair + 1 < pairs.size(); pair += 2) {
    std::string_view key = tables.textOf(pairs[pair]);
    if (row.attributeIndex(key) >= 0)
      continue; // inherent: bytecode before 5 puts it here
    // MLIR would interpret an attribute of this name as one of the operation's inherent attributes.
    bool isTaken = llvm::any_of(name.getAttributeNames(), [&](mlir::StringAttr own) {
      return own.getValue() == llvm::StringRef(key);
    });
    if (isTaken || key.empty())
      return wrongKind(key, "absent, because StableHLO reserves the name");
    TILEWRIGHT_ASSIGN(mlir::Attribute attribute, entries.attribute(pairs[pair + 1]));
    out.append(key, attribute);
  }
  return Status();
}

Status ModuleBuilder::checkFunction(const bytecode::Operation &op) {
  Properties properties(tables, op);
  const bytecode::Attr &type = entries.entry(properties["function_type"]);
  if (type.kind != bytecode::AttrKind::vhloType ||
      tables.types[type.a].kind != bytecode::TypeKind::function)
    return wrongKind("function_type", "a function type");
  // MLIR does not check the visibility string.
  std::optional<std::string_view> visibility = entries.text(properties["sym_visibility"]);
  if (!visibility || (*visibility != "" && *visibility != "private" && *visibility != "public" &&
                      *visibility != "nested"))
    return wrongKind("sym_visibility", "private, public, nested or empty");
  return Status();
}

} // namespace tilewright
