#include "tilewright/driver/Emit.h"

#include "tilewright/artifact/MemoryTimeline.h"
#include "tilewright/dialect/exec/CallLayouts.h"
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/source/Source.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloTypes.h"
#include "tilewright/dialect/stablehlo/ops/ControlFlowOps.h"
#include "tilewright/dialect/stablehlo/ops/CreationOps.h"
#include "tilewright/driver/Costs.h"
#include "tilewright/driver/EmitAttributes.h"
#include "tilewright/driver/EmitLibrary.h"
#include "tilewright/driver/ScaledKernels.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/schedule/BufferClasses.h"
#include "tilewright/transform/schedule/Lifetimes.h"
#include "tilewright/transform/schedule/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cstring>
#include <map>
#include <optional>

using namespace mlir;

namespace tilewright::driver {

namespace {

class Emitter {
public:
  Emitter(ModuleOp module, const llvm::StringMap<target::KernelLaunch> &facts)
      : module(module), facts(facts) {}

  Result<artifact::Executable> run();

private:
  Status emitSignature(func::FuncOp function);
  Status emitAllocations(func::FuncOp function);
  /// Emits a block and returns its index.
  Result<artifact::Index> emitBlock(Block &block);
  Status emitOp(Operation &op, artifact::Block &into);
  void emitMemoryTimeline(func::FuncOp function);
  void emitStepCosts();
  Status emitLoop(stablehlo::WhileOp loop, artifact::Step &step);
  Status emitBranch(Operation &op, artifact::Step &step);
  void emitLaunch(exec::LaunchOp launch, artifact::Step &step);
  void emitLibrary(exec::LibraryCallOpInterface call, artifact::Step &step);
  Status emitCustomCall(exec::CustomCallOp call, artifact::Step &step);
  Status emitCollective(exec::CollectiveStartOp start, artifact::Step &step);
  Status emitConstant(stablehlo::ConstantOp constant);

  artifact::Slice sliceOf(Value value);
  std::vector<artifact::Operand> operandsOf(ValueRange values);
  std::vector<artifact::Operand> operandsWithTokens(ValueRange values);
  artifact::Index typeIndex(Type type);
  /// The names of functions; `bodies` may be null.
  static std::vector<std::string> namesOf(ArrayAttr bodies);

  ModuleOp module;
  const llvm::StringMap<target::KernelLaunch> &facts;
  artifact::Executable out;
  llvm::DenseMap<Type, artifact::Index> types;
  llvm::StringMap<artifact::Index> kernels;
  std::map<artifact::Library, artifact::Index> libraries;
  std::vector<artifact::ScaledProduct> scaledProducts;
  artifact::Index constantAllocation = 0;
  artifact::Index nothing = artifact::none; // the allocation for tokens, if there are any
  uint32_t collectiveOrder = 0;
  /// The ops that each block's steps were emitted from.
  std::vector<std::vector<Operation *>> sources;
};

} // namespace

/// Whether values of this type take no memory in a plan, as is the case for tokens.
static bool hasNoBytes(Type type) { return !isa<RankedTensorType>(type); }

static artifact::TensorType tensorTypeOf(Type type) {
  // JAX passes a token as an empty array of booleans.
  if (isa<stablehlo::TokenType>(type))
    return {numerics::ElementType::pred, {0}};
  auto tensor = cast<RankedTensorType>(type);
  // The schedule stage rejects types without static shape or element type.
  return {*interpret::elementTypeOf(tensor.getElementType()),
          std::vector<int64_t>(tensor.getShape().begin(), tensor.getShape().end())};
}

static artifact::Slice toSlice(exec::SliceAttr slice) {
  return {static_cast<artifact::Index>(slice.getAllocation()), slice.getOffset(), slice.getBytes()};
}

artifact::Slice Emitter::sliceOf(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto slices = result.getOwner()->getAttrOfType<ArrayAttr>(exec::ExecDialect::slicesAttr);
    return toSlice(cast<exec::SliceAttr>(slices[result.getResultNumber()]));
  }
  auto argument = cast<BlockArgument>(value);
  Region *region = argument.getOwner()->getParent();
  auto regions =
      region->getParentOp()->getAttrOfType<ArrayAttr>(exec::ExecDialect::argumentSlicesAttr);
  return toSlice(cast<exec::SliceAttr>(
      cast<ArrayAttr>(regions[region->getRegionNumber()])[argument.getArgNumber()]));
}

artifact::Index Emitter::typeIndex(Type type) {
  auto [it, isNew] = types.try_emplace(type, out.types.size());
  if (isNew)
    out.types.push_back(tensorTypeOf(type));
  return it->second;
}

std::vector<artifact::Operand> Emitter::operandsOf(ValueRange values) {
  std::vector<artifact::Operand> operands;
  for (Value value : values)
    if (!hasNoBytes(value.getType()))
      operands.push_back({sliceOf(value), typeIndex(value.getType())});
  return operands;
}

/// Like operandsOf(), but with tokens as empty slices: handlers of custom calls expect every
/// operand.
std::vector<artifact::Operand> Emitter::operandsWithTokens(ValueRange values) {
  std::vector<artifact::Operand> operands;
  for (Value value : values) {
    if (hasNoBytes(value.getType()) && nothing == artifact::none) {
      nothing = static_cast<artifact::Index>(out.allocations.size());
      out.allocations.push_back({artifact::Storage::temporary, 0, 0, 0});
    }
    artifact::Slice slice =
        hasNoBytes(value.getType()) ? artifact::Slice{nothing, 0, 0} : sliceOf(value);
    operands.push_back({slice, typeIndex(value.getType())});
  }
  return operands;
}

std::vector<std::string> Emitter::namesOf(ArrayAttr bodies) {
  std::vector<std::string> names;
  if (bodies)
    for (Attribute body : bodies)
      names.push_back(cast<FlatSymbolRefAttr>(body).getValue().str());
  return names;
}

Status Emitter::emitSignature(func::FuncOp function) {
  auto memoryKind = [](DictionaryAttr attributes) -> std::string {
    StringAttr kind = attributes ? attributes.getAs<StringAttr>("mhlo.memory_kind") : nullptr;
    return kind ? kind.str() : "device";
  };
  auto sharding = [](DictionaryAttr attributes) -> std::string {
    StringAttr text = attributes ? attributes.getAs<StringAttr>("exec.sharding") : nullptr;
    return text ? text.str() : "";
  };
  // The plan stores packed arrays as bytes; the signature keeps the caller's type.
  auto arrayType = [](DictionaryAttr attributes, Type type) -> artifact::TensorType {
    TypeAttr array = attributes ? attributes.getAs<TypeAttr>("exec.array_type") : nullptr;
    return tensorTypeOf(array ? array.getValue() : type);
  };
  auto refuse = [&](StringRef what, unsigned number, Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return Status(Error::planSignature,
                  concat(what.str(), " ", number, " of the program has type ", text,
                         "; parameters and results must be tensors of static shape"));
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Type type = function.getArgumentTypes()[i];
    if (!isa<RankedTensorType, stablehlo::TokenType>(type))
      return refuse("parameter", i, type);
    DictionaryAttr attributes = function.getArgAttrDict(i);
    artifact::Parameter parameter{arrayType(attributes, type), memoryKind(attributes)};
    parameter.sharding = sharding(attributes);
    if (attributes && attributes.get("tf.aliasing_output"))
      parameter.donation = artifact::Donation::must;
    else if (auto donor = attributes ? attributes.getAs<BoolAttr>("jax.buffer_donor") : nullptr;
             donor && donor.getValue())
      parameter.donation = artifact::Donation::may;
    out.parameters.push_back(std::move(parameter));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Type type = function.getResultTypes()[i];
    if (!isa<RankedTensorType, stablehlo::TokenType>(type))
      return refuse("result", i, type);
    DictionaryAttr attributes = function.getResultAttrDict(i);
    artifact::ResultInfo result{arrayType(attributes, type), memoryKind(attributes)};
    result.sharding = sharding(attributes);
    if (auto claim = attributes ? attributes.getAs<IntegerAttr>("exec.alias_of") : nullptr)
      result.aliasOf = static_cast<artifact::Index>(claim.getInt());
    out.results.push_back(std::move(result));
  }
  return {};
}

Status Emitter::emitAllocations(func::FuncOp function) {
  auto allocations = function->getAttrOfType<ArrayAttr>(exec::ExecDialect::allocationsAttr);
  if (!allocations)
    return Status(Code::internal, "the module has not been scheduled");
  for (Attribute attribute : allocations) {
    auto allocation = cast<exec::AllocationAttr>(attribute);
    artifact::Allocation made;
    made.index = static_cast<uint64_t>(allocation.getIndex());
    made.bytes = allocation.getBytes();
    made.space = static_cast<uint8_t>(allocation.getSpace());
    StringRef storage = allocation.getStorage();
    if (storage == "parameter") {
      made.storage = artifact::Storage::parameter;
    } else if (storage == "result") {
      made.storage = artifact::Storage::result;
    } else if (storage == "constant") {
      made.storage = artifact::Storage::constant;
      constantAllocation = static_cast<artifact::Index>(out.allocations.size());
      out.constants.resize(static_cast<size_t>(made.bytes));
    } else {
      made.storage = artifact::Storage::temporary;
      int64_t end = allocation.getIndex() + made.bytes;
      out.arenaBytes[made.space] = std::max(out.arenaBytes[made.space], end);
    }
    out.allocations.push_back(made);
  }
  return {};
}

Status Emitter::emitConstant(stablehlo::ConstantOp constant) {
  artifact::Slice slice = sliceOf(constant.getResult());
  interpret::Context context;
  TILEWRIGHT_ASSIGN(interpret::Tensor tensor,
                    interpret::constantTensor(constant.getValue(), context));
  std::memcpy(out.constants.data() + slice.offset, tensor.data(), static_cast<size_t>(slice.bytes));
  return {};
}

void Emitter::emitLaunch(exec::LaunchOp launch, artifact::Step &step) {
  StringRef symbol = launch.getKernel();
  auto [it, isNew] = kernels.try_emplace(symbol, out.kernels.size());
  if (isNew) {
    target::KernelLaunch known = facts.lookup(symbol);
    out.kernels.push_back({known.symbol.empty() ? symbol.str() : known.symbol, known.grid,
                           known.scratchBytes, known.itemCost, known.gpu});
    if (std::optional<artifact::ScaledProduct> product = scaledProductOf(launch, it->second))
      scaledProducts.push_back(*product);
  }
  artifact::LaunchStep action{it->second, {}};
  for (ValueRange values : {ValueRange(launch.getInputs()), ValueRange(launch.getResults())})
    for (Value value : values)
      action.buffers.push_back(sliceOf(value));
  step.action = std::move(action);
  step.name = symbol.str();
}

void Emitter::emitLibrary(exec::LibraryCallOpInterface call, artifact::Step &step) {
  artifact::Library library{libraryCallOf(call), namesOf(call.getBodiesAttr())};
  step.name = nameOf(library.call);
  // Equal calls share one entry.
  auto [it, isNew] = libraries.try_emplace(std::move(library), out.libraries.size());
  if (isNew)
    out.libraries.push_back(it->first);
  step.action = artifact::LibraryStep{it->second, operandsOf(call->getOperands()),
                                      operandsOf(call->getResults())};
}

Status Emitter::emitCustomCall(exec::CustomCallOp call, artifact::Step &step) {
  artifact::CustomCallStep action;
  action.target = call.getTarget().str();
  action.apiVersion = call.getApiVersion();
  if (auto dictionary = dyn_cast<DictionaryAttr>(call.getConfig())) {
    TILEWRIGHT_ASSIGN(action.attributes, toAttributes(dictionary));
  } else if (auto text = dyn_cast<StringAttr>(call.getConfig())) {
    action.opaque = text.str();
  }
  // These attributes are read by plugin/ffi/Call.h. Unless the buffers already have these layouts,
  // it transposes them. It does not pass the attributes on to the handler.
  for (StringRef layouts : {"operand_layouts", "result_layouts"})
    if (auto orders = call->getAttrOfType<DenseI64ArrayAttr>(layouts)) {
      artifact::Elements elements;
      auto *bytes = reinterpret_cast<const std::byte *>(orders.asArrayRef().data());
      elements.bytes.assign(bytes, bytes + orders.size() * sizeof(int64_t));
      action.attributes.push_back({("tilewright." + layouts).str(), std::move(elements)});
    }
  if (call->hasAttr(exec::transposedAttr))
    action.attributes.push_back({"tilewright.transposed", std::string()});
  action.operands = operandsWithTokens(call.getInputs());
  action.results = operandsWithTokens(call.getResults());
  step.name = action.target;
  step.action = std::move(action);
  return {};
}

Status Emitter::emitCollective(exec::CollectiveStartOp start, artifact::Step &step) {
  artifact::CollectiveStartStep action;
  const exec::CollectiveAttr collective = start.getCollective();
  action.kind = collective.getKind();
  action.id = static_cast<uint32_t>(start.getId());
  action.order = collectiveOrder++;
  action.dimension = collective.getDimension();
  action.splitDimension = collective.getSplitDimension();
  action.reduction = collective.getReduction();
  action.bodies = namesOf(start.getBodiesAttr());
  DenseIntElementsAttr groups = start.getGroups();
  auto shape = cast<ShapedType>(groups.getType()).getShape();
  auto value = groups.value_begin<APInt>();
  for (int64_t row = 0; row < shape[0]; ++row) {
    std::vector<int64_t> &group = action.groups.emplace_back();
    for (int64_t column = 0; column < shape[1]; ++column, ++value)
      if (!(*value).isAllOnes())
        group.push_back((*value).getSExtValue());
  }
  action.operands = operandsOf(start.getInputs());
  action.results = operandsOf(start.getResults());
  step.name = nameOf(action.kind);
  step.action = std::move(action);
  return {};
}

Status Emitter::emitLoop(stablehlo::WhileOp loop, artifact::Step &step) {
  artifact::WhileStep action;
  Block &condition = loop.getCond().front();
  TILEWRIGHT_ASSIGN(action.condition, emitBlock(condition));
  TILEWRIGHT_ASSIGN(action.body, emitBlock(loop.getBody().front()));
  action.predicate = sliceOf(condition.getTerminator()->getOperand(0));
  if (auto count = loop->getAttrOfType<IntegerAttr>("exec.trip_count"))
    action.tripCount = count.getInt();
  step.action = std::move(action);
  step.name = "while";
  return {};
}

Status Emitter::emitBranch(Operation &op, artifact::Step &step) {
  artifact::BranchStep action;
  action.isPredicate = isa<stablehlo::IfOp>(op);
  action.selector = sliceOf(op.getOperand(0));
  for (Region &region : op.getRegions()) {
    TILEWRIGHT_ASSIGN(artifact::Index block, emitBlock(region.front()));
    action.blocks.push_back(block);
  }
  step.action = std::move(action);
  step.name = action.isPredicate ? "if" : "case";
  return {};
}

Status Emitter::emitOp(Operation &op, artifact::Block &into) {
  artifact::Step step;
  step.location = source::placeOf(op.getLoc());
  step.source = source::opsOf(op.getLoc());
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return emitConstant(constant);
  if (auto copy = dyn_cast<exec::CopyOp>(op)) {
    artifact::CopyStep action{sliceOf(copy.getInput()), sliceOf(copy.getResult())};
    if (action.from == action.to || action.from.bytes == 0)
      return {};
    step.action = action;
    step.name = "copy";
  } else if (schedule::viewOffsetOf(&op)) {
    return {}; // its result is in the memory of its operand
  } else if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
    // A GPU cannot launch an empty grid.
    if (const auto &gpu = facts.lookup(launch.getKernel()).gpu;
        gpu && llvm::is_contained(gpu->grid, 0u))
      return {};
    emitLaunch(launch, step);
  } else if (auto call = dyn_cast<exec::LibraryCallOpInterface>(op)) {
    emitLibrary(call, step);
  } else if (auto call = dyn_cast<exec::CustomCallOp>(op)) {
    TILEWRIGHT_TRY(emitCustomCall(call, step));
  } else if (auto start = dyn_cast<exec::CollectiveStartOp>(op)) {
    TILEWRIGHT_TRY(emitCollective(start, step));
  } else if (auto done = dyn_cast<exec::CollectiveDoneOp>(op)) {
    step.action = artifact::CollectiveDoneStep{static_cast<uint32_t>(done.getId())};
    step.name = "done";
  } else if (auto loop = dyn_cast<stablehlo::WhileOp>(op)) {
    TILEWRIGHT_TRY(emitLoop(loop, step));
  } else if (isa<stablehlo::IfOp, stablehlo::CaseOp>(op)) {
    TILEWRIGHT_TRY(emitBranch(op, step));
  } else if (op.hasTrait<OpTrait::IsTerminator>() ||
             llvm::all_of(op.getResults(), [&](Value result) {
               // The result is a view of an operand's memory, or takes no memory.
               return hasNoBytes(result.getType()) ||
                      (op.getNumOperands() == op.getNumResults() &&
                       sliceOf(result) ==
                           sliceOf(op.getOperand(cast<OpResult>(result).getResultNumber())));
             })) {
    return {};
  } else {
    return Status(Error::planOp,
                  concat("'", op.getName().getStringRef().str(), "' at ",
                         step.location.empty() ? "an unknown location" : step.location,
                         " is not supported: no stage lowered it to a step of the plan"));
  }
  into.steps.push_back(std::move(step));
  return {};
}

Result<artifact::Index> Emitter::emitBlock(Block &block) {
  artifact::Index index = static_cast<artifact::Index>(out.blocks.size());
  out.blocks.emplace_back();
  sources.emplace_back();
  artifact::Block made;
  for (Operation &op : block) {
    TILEWRIGHT_TRY(emitOp(op, made));
    if (made.steps.size() > sources[index].size())
      sources[index].push_back(&op);
  }
  out.blocks[index] = std::move(made);
  return index;
}

Result<artifact::Executable> Emitter::run() {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function)
    return Status(Error::planSignature, "the module has no function @main to compile");
  if (auto name = module.getSymName())
    out.name = name->str();
  TILEWRIGHT_TRY(emitSignature(function));
  TILEWRIGHT_TRY(emitAllocations(function));
  TILEWRIGHT_ASSIGN(artifact::Index main, emitBlock(function.getBody().front()));
  assert(main == 0 && "the program is the first block");
  (void)main;
  emitMemoryTimeline(function);
  emitStepCosts();
  artifact::addScaledProducts(out, scaledProducts);
  return std::move(out);
}

void Emitter::emitMemoryTimeline(func::FuncOp function) {
  auto arena = function->getAttrOfType<DenseI64ArrayAttr>(schedule::arenaAttr);
  if (!arena)
    return;
  // The code generator changes only kernels, so ops keep the numbers that they have in the
  // schedule.
  schedule::Lifetimes lifetimes(function);
  std::vector<std::vector<int64_t>> times(sources.size());
  for (auto [ops, into] : llvm::zip(sources, times))
    for (Operation *op : ops)
      into.push_back(lifetimes.beginOf(op));
  artifact::addMemoryTimeline(out, times, arena.asArrayRef());
}

void Emitter::emitStepCosts() {
  artifact::StepCosts costs(out.blocks.size());
  for (size_t block = 0; block < out.blocks.size(); ++block)
    for (auto [step, op] : llvm::zip_equal(out.blocks[block].steps, sources[block]))
      costs[block].push_back(costOf(out, step, op));
  artifact::addStepCosts(out, costs);
}

Result<artifact::Executable> emitExecutable(ModuleOp module,
                                            const llvm::StringMap<target::KernelLaunch> &kernels) {
  return Emitter(module, kernels).run();
}

} // namespace tilewright::driver
