// fuse-products: for GPUs, turns every op into a fusion (one kernel each) and fuses each matmul and
// each gather with its prologue and epilogue.
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/exec/SoftmaxOps.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/fuse/Classify.h"
#include "tilewright/transform/fuse/Passes.h"
#include "tilewright/transform/fuse/cost/KernelCost.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_FUSEPRODUCTSPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

bool isConvolution(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<stablehlo::ConvolutionOp>().empty();
}
bool isScaled(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<exec::ScaledMatmulOp>().empty();
}
bool isProduct(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<stablehlo::DotGeneralOp>().empty() || isConvolution(fusion) ||
         isScaled(fusion);
}
bool isAttention(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<exec::SoftmaxDotOp>().empty();
}
bool isGradientOfAttention(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<exec::SoftmaxDotBackwardOp>().empty();
}
bool isReduction(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<stablehlo::ReduceOp>().empty();
}

/// Whether a fusion updates a part of an input in place.
bool isUpdate(exec::FusionOp fusion) {
  return llvm::any_of(bodyOf(fusion), [](Operation &op) { return indexing::updateOf(&op); });
}
bool isGather(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<stablehlo::GatherOp>().empty();
}

/// Whether an op has a kernel of its own, which reads constants from memory, too.
bool hasOwnKernel(Operation *op) {
  return isa<exec::ScaledMatmulOp, exec::SoftmaxDotOp, exec::SoftmaxDotBackwardOp>(op);
}

/// Wraps one op in a fusion, together with its splat constants, except those that its kernel reads
/// from memory.
exec::FusionOp wrap(Operation *op) {
  OpBuilder builder(op);
  llvm::SmallSetVector<Value, 4> read;
  for (OpOperand &operand : indexing::readOperands(op)) {
    Operation *source = operand.get().getDefiningOp();
    if (!source || classify(source) != OpClass::splat || hasOwnKernel(op))
      read.insert(operand.get());
  }
  SmallVector<Value> inputs(read.getArrayRef());
  // The memory that the op overwrites gets an input of its own, even if the op also reads that
  // value.
  if (indexing::updateOf(op))
    inputs.push_back(op->getOperand(0));
  auto fusion = exec::FusionOp::create(builder, op->getLoc(), op->getResultTypes(),
                                       op->getName().stripDialect(), inputs,
                                       builder.getStringAttr("an op by itself"));
  Block *block = builder.createBlock(&fusion.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    block->addArgument(input.getType(), input.getLoc());
  for (auto [input, argument] : llvm::zip(read, block->getArguments()))
    mapping.map(input, argument);
  for (OpOperand &operand : indexing::readOperands(op))
    if (!mapping.contains(operand.get()))
      mapping.map(operand.get(), builder.clone(*operand.get().getDefiningOp())->getResult(0));
  Operation *inner = builder.clone(*op, mapping);
  if (indexing::updateOf(op))
    inner->setOperand(0, block->getArguments().back());
  exec::YieldOp::create(builder, op->getLoc(), inner->getResults());
  op->replaceAllUsesWith(fusion.getResults());
  op->erase();
  return fusion;
}

/// Merges the two fusions, at the consumer's position unless another one is given. The producer
/// must have no other reader, unless the merged fusion also `keeps` its results, before its own.
exec::FusionOp merge(exec::FusionOp producer, exec::FusionOp consumer, StringRef reason,
                     bool keeps = false, Operation *position = nullptr) {
  OpBuilder builder(position ? position : consumer.getOperation());
  llvm::SmallSetVector<Value, 8> inputs(producer.getInputs().begin(), producer.getInputs().end());
  for (Value input : consumer.getInputs())
    if (input.getDefiningOp() != producer)
      inputs.insert(input);
  // For a chain of two matmuls, the name starts with the first.
  const std::string name = (producer.getName() + "_" + consumer.getName()).str();
  SmallVector<Type> types;
  if (keeps)
    llvm::append_range(types, producer.getResultTypes());
  llvm::append_range(types, consumer.getResultTypes());
  auto merged = exec::FusionOp::create(builder, consumer.getLoc(), types, name,
                                       inputs.getArrayRef(), builder.getStringAttr(reason));
  Block *block = builder.createBlock(&merged.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
  auto copy = [&](exec::FusionOp from) {
    IRMapping inside;
    for (auto [argument, input] : llvm::zip_equal(bodyOf(from).getArguments(), from.getInputs()))
      inside.map(argument, mapping.lookup(input));
    for (Operation &op : bodyOf(from).without_terminator())
      builder.clone(op, inside);
    return llvm::map_to_vector(bodyOf(from).getTerminator()->getOperands(),
                               [&](Value value) { return inside.lookup(value); });
  };
  const SmallVector<Value> produced = copy(producer);
  mapping.map(producer.getResults(), produced);
  SmallVector<Value> results;
  if (keeps)
    results = produced;
  llvm::append_range(results, copy(consumer));
  exec::YieldOp::create(builder, consumer.getLoc(), results);
  const unsigned kept = keeps ? producer->getNumResults() : 0;
  consumer.replaceAllUsesWith(merged.getResults().drop_front(kept));
  consumer.erase();
  if (keeps)
    producer.replaceAllUsesWith(merged.getResults().take_front(kept));
  producer.erase();
  return merged;
}

/// Why a producer cannot become a prologue of the matmul or gather; null if it can.
const char *refusePrologue(exec::FusionOp producer, Operation *product) {
  if (producer->getNumResults() != 1 ||
      !llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == product; }))
    return "its result has other readers";
  if (isReduction(producer) || isProduct(producer))
    return "it contains a reduction";
  if (isUpdate(producer))
    return "it writes a part of its result in place";
  if (isGather(producer))
    return "it contains a gather, whose elements no copy engine can load";
  // Each block of the matmul computes the prologue again, so it is computed once for every tile of
  // the other operand.
  if (llvm::any_of(bodyOf(producer), [](Operation &op) { return isExpensive(&op); }))
    return "an expensive op would be computed many times";
  if (llvm::count_if(bodyOf(producer), [](Operation &op) {
        return classify(&op) == OpClass::elementwise;
      }) > maxPrologueOps)
    return "its many ops would take longer than the product";
  return nullptr;
}

/// Why a producer cannot join the op that writes its result into other memory; null if it can.
const char *refuseUpdate(exec::FusionOp producer, exec::FusionOp update) {
  if (producer->getNumResults() != 1 ||
      !llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == update; }))
    return "its result has other readers";
  if (isProduct(producer))
    return "it contains a product";
  if (isUpdate(producer))
    return "it writes in place too";
  Value target = update.getInputs().back();
  if (target.getDefiningOp() == producer)
    return "its result is overwritten";
  if (llvm::is_contained(producer.getInputs(), target) ||
      llvm::count(update.getInputs(), target) != 1)
    return "it reads the memory that is overwritten";
  return nullptr;
}

/// The maximum number of columns in one tile of a warp-specialized kernel.
constexpr int64_t maxColumns = 256;

/// Why the matmul does not become a warp-specialized kernel whose operands the copy engine loads;
/// null if it does. In such a kernel a few threads hold whole rows of a tile, so reducing rows is
/// cheap. In other kernels, keeping whole rows in a tile would cost too much.
const char *refuseRoles(exec::FusionOp product) {
  const exec::TargetAttr target = exec::targetOf(product);
  const exec::MatrixAttr matrix = target.getMatrix();
  auto dots = bodyOf(product).getOps<stablehlo::DotGeneralOp>();
  if (!matrix || matrix.getUnit() == exec::MatrixUnit::mma || !llvm::hasSingleElement(dots))
    return "it reduces, so a block would need all columns";
  stablehlo::DotGeneralOp dot = *dots.begin();
  // See NvidiaRates.def: a chip with tensor memory that multiplies s8 more slowly than f16 does so
  // with mma.sync.
  const exec::RatesAttr rates = target.getRates();
  if (matrix.getUnit() == exec::MatrixUnit::tcgen05 && rates && rates.getS8() < rates.getF16() &&
      cast<RankedTensorType>(dot.getLhs().getType()).getElementType().isInteger(8))
    return "it reduces, but warps multiply these types, and a warp holds only a part of each row";
  stablehlo::DotDimensionNumbersAttr dims = dot.getDotDimensionNumbers();
  if (dims.getLhsContractingDimensions().size() != 1)
    return "it reduces, but the copy engine cannot load the product's operands";
  for (auto [operand, batch, contracting] :
       {std::tuple(dot.getLhs(), dims.getLhsBatchingDimensions(),
                   dims.getLhsContractingDimensions()),
        {dot.getRhs(), dims.getRhsBatchingDimensions(), dims.getRhsContractingDimensions()}}) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!type.getElementType().isIntOrFloat()) // matrix units have no complex products
      return "it reduces, so a block would need all columns";
    const int64_t rank = type.getRank(), bits = type.getElementTypeBitWidth();
    const bool isTf32 = type.getElementType().isF32() && canMultiplyAsTf32(dot, matrix);
    // Instructions read 8-bit and 32-bit elements only along K.
    const bool isTaken = type.getElementType().isF16() || type.getElementType().isBF16() ||
                         ((bits == 8 || isTf32) && contracting[0] == rank - 1);
    if (!isa<BlockArgument>(operand) || !isTaken || contracting[0] < rank - 2 ||
        int64_t(batch.size()) != rank - 2 || type.getShape().back() * bits / 8 % 16 != 0)
      return "it reduces, but the copy engine cannot load the product's operands";
    for (auto [index, dim] : llvm::enumerate(batch))
      if (dim != int64_t(index))
        return "it reduces, but the copy engine cannot load the product's operands";
  }
  return nullptr;
}

/// Why a fusion cannot become an epilogue of the matmul or gather; null if it can.
const char *refuseEpilogue(exec::FusionOp product, exec::FusionOp reader) {
  if (reader->getBlock() != product->getBlock())
    return "it is in another block";
  if (isProduct(reader))
    return "it contains a product too";
  const ArrayRef<int64_t> shape = cast<RankedTensorType>(product.getResult(0).getType()).getShape();
  const bool reduces = isReduction(reader);
  if (const char *refusal = reduces ? refuseRoles(product) : nullptr)
    return refusal;
  if (reduces && shape.back() > maxColumns)
    return "it reduces, but a tile holds at most 256 columns";
  // `touched` contains the values that have the product's shape, `rows` the values that have one
  // element per row of the product.
  llvm::DenseSet<Value> touched, rows;
  for (auto [argument, input] : llvm::zip_equal(bodyOf(reader).getArguments(), reader.getInputs()))
    if (input.getDefiningOp() == product)
      touched.insert(argument);
  const int64_t rowCount = shape.empty() ? 1 : ShapedType::getNumElements(shape.drop_back());
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  for (Operation &op : bodyOf(reader).without_terminator()) {
    const bool ofProduct =
        llvm::any_of(op.getOperands(), [&](Value value) { return touched.contains(value); });
    const bool ofRows =
        llvm::any_of(op.getOperands(), [&](Value value) { return rows.contains(value); });
    if (!ofProduct && !ofRows)
      continue;
    const OpClass opClass = classify(&op);
    if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
      if (ofRows || reduce.getDimensions() != ArrayRef<int64_t>(int64_t(shape.size()) - 1) ||
          llvm::any_of(reduce.getInputs(), [&](Value input) { return shapeOf(input) != shape; }))
        return "it reduces something other than rows of the product";
      rows.insert(op.result_begin(), op.result_end());
    } else if (auto spread = dyn_cast<stablehlo::BroadcastInDimOp>(op); spread && ofRows) {
      // The broadcast must not permute the row dimensions.
      for (auto [dim, size] : llvm::enumerate(shapeOf(spread.getOperand())))
        if (size > 1 && spread.getBroadcastDimensions()[dim] != int64_t(dim))
          return "it reads the product in another order";
      if (shapeOf(spread.getResult()) == shape)
        touched.insert(spread.getResult());
      else if (ShapedType::getNumElements(shapeOf(spread.getResult())) == rowCount)
        rows.insert(spread.getResult());
      else
        return "it reads the product in another order";
    } else if (opClass == OpClass::elementwise ||
               (opClass == OpClass::reshape && (!reduces || !ofProduct))) {
      (ofProduct ? touched : rows).insert(op.result_begin(), op.result_end());
    } else {
      return "it reads the product in another order";
    }
  }
  return nullptr;
}

/// Why a fusion cannot become an epilogue of a scaled product; null if it can. The kernel supports
/// only elementwise ops on tiles of the result, with operands in memory that have the result's
/// shape or are broadcast to it.
const char *refusePlainEpilogue(exec::FusionOp product, exec::FusionOp reader) {
  if (reader->getBlock() != product->getBlock())
    return "it is in another block";
  // Attention computes each value at the result's elements, so values may have any shape, except
  // those that depend on the result.
  const bool isFree = isAttention(product);
  if (llvm::any_of(reader.getInputs(), [&](Value input) {
        return input.getDefiningOp() == product && input != product.getResult(0);
      }))
    return "it reads numbers of rows";
  const auto shape = cast<RankedTensorType>(product.getResult(0).getType()).getShape();
  auto isWhole = [&](Value value) {
    return cast<RankedTensorType>(value.getType()).getShape() == shape;
  };
  for (Value input : reader.getInputs())
    if (Type element = cast<RankedTensorType>(input.getType()).getElementType();
        element.isIntOrFloat() && element.getIntOrFloatBitWidth() < 8 && !element.isInteger(1))
      return "it reads packed elements";
  llvm::DenseSet<Value> touched;
  for (auto [argument, input] : llvm::zip_equal(bodyOf(reader).getArguments(), reader.getInputs()))
    if (input.getDefiningOp() == product)
      touched.insert(argument);
  for (Operation &op : bodyOf(reader).without_terminator()) {
    const OpClass opClass = classify(&op);
    auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
    const bool isSpread = broadcast && (isFree ? !touched.contains(broadcast.getOperand())
                                               : isa<BlockArgument>(broadcast.getOperand()));
    if (opClass != OpClass::splat && opClass != OpClass::elementwise && !isSpread &&
        !(isFree && isa<stablehlo::IotaOp>(op)))
      return "it has other than elementwise ops";
    if (!isFree && !llvm::all_of(op.getResults(), isWhole))
      return "it computes values of another shape";
    if (llvm::any_of(op.getOperands(), [&](Value value) { return touched.contains(value); }))
      touched.insert(op.result_begin(), op.result_end());
  }
  if (!llvm::all_of(bodyOf(reader).getTerminator()->getOperands(), isWhole))
    return "it has a result of another shape";
  return nullptr;
}

/// The shortest groups of the contracted dimension that the kernel of a product on this target
/// supports. A tile has one group, of at least a line of memory; with wgmma, whose operands pass
/// through registers, it may have several shorter ones.
int64_t leastGroup(exec::TargetAttr target) {
  const exec::MatrixAttr matrix = target.getMatrix();
  return matrix && matrix.getUnit() == exec::MatrixUnit::wgmma ? 16 : 64;
}

/// Whether a reshape only splits dimensions into groups or merges groups, so that contiguous runs
/// of at least `least` elements remain. Group-wise scaling involves two such reshapes.
bool isGrouping(stablehlo::ReshapeOp reshape, int64_t least) {
  ArrayRef<int64_t> from = reshape.getOperand().getType().getShape(),
                    to = reshape.getType().getShape();
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    int64_t left = from[i++], right = to[j++];
    int64_t parts = 1, last = 0;
    while (left != right) {
      ArrayRef<int64_t> finer = left < right ? from : to;
      size_t &at = left < right ? i : j;
      if (at == finer.size() || ++parts > 2)
        return false;
      last = finer[at];
      (left < right ? left : right) *= finer[at++];
    }
    if (parts == 2 && last % least != 0)
      return false;
  }
  return i == from.size() && j == to.size();
}

/// Whether a reshape only adds or removes dimensions of size 1.
bool onlyChangesUnits(stablehlo::ReshapeOp reshape) {
  SmallVector<int64_t> from(reshape.getOperand().getType().getShape()),
      to(reshape.getType().getShape());
  llvm::erase(from, 1);
  llvm::erase(to, 1);
  return from == to;
}

struct FuseProducts : impl::FuseProductsPassBase<FuseProducts> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (!module || !exec::targetOf(module).isGpu() || getOperation().isPrivate())
      return;
    SmallVector<Operation *> alone;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<exec::FusionOp>(op))
        return WalkResult::skip();
      if (hasOwnKernel(op) ||
          (isa_and_present<stablehlo::StablehloDialect>(op->getDialect()) &&
           !isa<stablehlo::ConstantOp, stablehlo::ReshapeOp>(op) && indexing::canTile(op)))
        alone.push_back(op);
      const bool descends =
          op == getOperation() || isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op);
      return descends ? WalkResult::advance() : WalkResult::skip();
    });
    SmallVector<exec::FusionOp> products, attentions, gathers, updates;
    for (Operation *op : alone) {
      const bool multiplies =
                     isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp, exec::ScaledMatmulOp>(
                         op),
                 gathered = isa<stablehlo::GatherOp>(op),
                 isInPlace = indexing::updateOf(op) != Value();
      exec::FusionOp fusion = wrap(op);
      if (multiplies)
        products.push_back(fusion);
      else if (isAttention(fusion))
        attentions.push_back(fusion);
      else if (gathered)
        gathers.push_back(fusion);
      else if (isInPlace)
        updates.push_back(fusion);
    }
    for (exec::FusionOp gather : gathers)
      takeReader(takeIndices(gather), "a gather with an epilogue");
    for (exec::FusionOp product : products)
      takeNeighbours(product);
    for (exec::FusionOp attention : attentions)
      takeEpilogue(attention);
    for (exec::FusionOp update : updates)
      takeProducers(update);
  }

  /// Merges a fusion with the one that computes an input, unless `refuse` gives a reason. Returns
  /// whether it did.
  bool takeProducer(exec::FusionOp &consumer, Value input, StringRef reason,
                    llvm::function_ref<const char *(exec::FusionOp)> refuse) {
    auto producer = input.getDefiningOp<exec::FusionOp>();
    if (!producer || producer->getBlock() != consumer->getBlock())
      return false;
    const char *refusal = refuse(producer);
    say(consumer.getLoc(), producer, consumer, refusal);
    if (!refusal)
      consumer = merge(producer, consumer, reason);
    return !refusal;
  }

  /// Makes the kernels that compute the operands or the position of an update perform the update
  /// themselves.
  void takeProducers(exec::FusionOp update) {
    auto refuse = [&](exec::FusionOp producer) { return refuseUpdate(producer, update); };
    auto take = [&](Value input) {
      return takeProducer(update, input, "a result written into a part of other memory", refuse);
    };
    // Each merge changes the inputs of the fusion.
    while (llvm::any_of(update.getInputs(), take)) {
    }
  }

  /// Merges a gather with the ops that compute its indices if nothing else reads those. Its table
  /// must be in memory.
  exec::FusionOp takeIndices(exec::FusionOp gather) {
    auto op = *bodyOf(gather).getOps<stablehlo::GatherOp>().begin();
    auto argument = dyn_cast<BlockArgument>(op.getStartIndices());
    if (!argument || op.getOperand() == op.getStartIndices())
      return gather;
    Value indices = gather.getInputs()[argument.getArgNumber()];
    auto reshape = indices.getDefiningOp<stablehlo::ReshapeOp>();
    Value computed = reshape ? reshape.getOperand() : indices;
    auto producer = computed.getDefiningOp<exec::FusionOp>();
    if (!producer || producer->getBlock() != gather->getBlock() ||
        (reshape && !(reshape->hasOneUse() && onlyChangesUnits(reshape))))
      return gather;
    Operation *next = reshape ? reshape.getOperation() : gather.getOperation();
    const char *refusal = refusePrologue(producer, next);
    say(gather.getLoc(), producer, gather, refusal);
    if (refusal)
      return gather;
    const StringRef reason = "a gather with its indices";
    if (reshape)
      producer = merge(producer, wrap(reshape), reason);
    return merge(producer, gather, reason);
  }

  void takeNeighbours(exec::FusionOp product) {
    // A convolution has no prologue: it would be computed again for each tap. A scaled product has
    // none because its operands go from memory to the matrix unit.
    for (bool grown = !isConvolution(product) && !isScaled(product); grown;) {
      grown = false;
      for (Value input : product.getInputs()) {
        // Fuse a reshape between the producer and the matmul too.
        auto reshape = input.getDefiningOp<stablehlo::ReshapeOp>();
        auto behind =
            reshape ? reshape.getOperand().getDefiningOp<exec::FusionOp>() : exec::FusionOp();
        if (behind && reshape->hasOneUse() &&
            isGrouping(reshape, leastGroup(exec::targetOf(product))) &&
            !refusePrologue(behind, reshape)) {
          wrap(reshape);
          grown = true;
          break;
        }
        grown =
            takeProducer(product, input, "a product with a prologue", [&](exec::FusionOp producer) {
              return refusePrologue(producer, product);
            });
        if (grown)
          break;
      }
    }
    takeReader(product, "a product with an epilogue");
  }

  /// Where attention and its epilogue may be computed together, if other fusions also read results
  /// of attention; null if nowhere.
  static Operation *positionOf(exec::FusionOp attention, exec::FusionOp epilogue) {
    Block *block = attention->getBlock();
    auto isKnown = [&](Value input) {
      Operation *source = input.getDefiningOp();
      return !source || source == attention || source->getBlock() != block ||
             source->isBeforeInBlock(attention);
    };
    if (llvm::all_of(epilogue.getInputs(), isKnown))
      return attention;
    auto isLater = [&](Operation *user) {
      return user == epilogue || epilogue->isBeforeInBlock(block->findAncestorOpInBlock(*user));
    };
    return llvm::all_of(attention->getUsers(), isLater) ? epilogue.getOperation() : nullptr;
  }

  /// Merges attention with an epilogue. If gradients read its results too, the fusion has them and
  /// those of the epilogue.
  void takeEpilogue(exec::FusionOp attention) {
    const StringRef reason = "attention with an epilogue";
    if (attention->getNumResults() == 1)
      return takeReader(attention, reason);
    for (Operation *user : attention.getResult(0).getUsers()) {
      auto reader = dyn_cast<exec::FusionOp>(user);
      if (!reader || isGradientOfAttention(reader))
        continue;
      const char *refusal = refusePlainEpilogue(attention, reader);
      Operation *position = refusal ? nullptr : positionOf(attention, reader);
      if (!refusal && !position)
        refusal = "it reads a later value, and another kernel reads attention before it";
      say(reader.getLoc(), attention, reader, refusal);
      if (refusal)
        continue;
      merge(attention, reader, reason, /*keeps=*/true, position);
      return;
    }
  }

  /// Merges a fusion with its only reader. A reader after a reshape sees a different shape, so it
  /// is not an epilogue.
  void takeReader(exec::FusionOp product, StringRef reason) {
    if (product->getNumResults() != 1 || product->use_empty())
      return;
    Operation *user = *product->user_begin();
    auto reader = dyn_cast<exec::FusionOp>(user);
    if (!reader)
      return;
    const char *refusal =
        llvm::all_of(product->getUsers(), [&](Operation *other) { return other == user; })
            ? isScaled(product) || isAttention(product) ? refusePlainEpilogue(product, reader)
                                                        : refuseEpilogue(product, reader)
            : "its result has other readers";
    say(reader.getLoc(), product, reader, refusal);
    if (!refusal)
      merge(product, reader, reason);
  }

  void say(Location loc, exec::FusionOp producer, exec::FusionOp consumer, const char *refusal) {
    TILEWRIGHT_LOG(getArgument(), consumer, "fusion '", consumer.getName(),
                   refusal ? "' does not join fusion '" : "' joins fusion '", producer.getName(),
                   "'", refusal ? ": " : "", refusal ? refusal : "");
    if (!getContext().getRemarkEngine())
      return;
    auto opts = remark::RemarkOpts::name("fuse-products").category("fuse");
    auto remark = refusal ? remark::missed(loc, opts) : remark::passed(loc, opts);
    remark << remark::add("fusion '{0}' {1} fusion '{2}'", consumer.getName().str(),
                          refusal ? "does not join" : "joins", producer.getName().str());
    if (refusal)
      remark << remark::reason("{0}", refusal);
  }
};

} // namespace
} // namespace tilewright::fuse
