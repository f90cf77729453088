// fuse-pack-elements: stores arrays of elements of 2, 4 and 6 bits packed, as bytes.
#include "tilewright/dialect/exec/LibraryOps.h"
#include "tilewright/dialect/exec/ScaledOps.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/PassLog.h"
#include "tilewright/transform/TypeOf.h"
#include "tilewright/transform/fuse/Classify.h"
#include "tilewright/transform/fuse/PackedRows.h"
#include "tilewright/transform/fuse/Packing.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_PACKELEMENTSPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

/// Whether a kernel can compute the bytes of a fusion's results instead of their elements: each
/// byte is computed on its own, at any index. A reduction, product or gather is not repeated for
/// bytes; the next kernel packs its result.
bool canPack(exec::FusionOp fusion) {
  return llvm::all_of(bodyOf(fusion).without_terminator(), [](Operation &op) {
    const OpClass opClass = classify(&op);
    return opClass != OpClass::other && opClass != OpClass::reduce;
  });
}

/// Whether a kernel can unpack this argument of its fusion where it reads the elements.
bool canUnpack(exec::FusionOp fusion, BlockArgument argument) {
  const bool isComputed = llvm::none_of(argument.getUses(), [](OpOperand &use) {
    const bool isOverwritten = indexing::updateOf(use.getOwner()) && use.getOperandNumber() == 0;
    return isParameter(use) || isOverwritten;
  });
  return isComputed && llvm::all_of(bodyOf(fusion).without_terminator(), [](Operation &op) {
           return classify(&op) != OpClass::other ||
                  isa<stablehlo::GatherOp, stablehlo::DynamicUpdateSliceOp>(op);
         });
}

/// Whether an operand is one of the sides of a scaled product of the CPU's library, and has rows of
/// whole bytes of the only packed type that the library decodes.
bool isPackedSide(OpOperand &use) {
  auto product = dyn_cast<exec::DotGeneralOp>(use.getOwner());
  const RankedTensorType type = typeOf(use.get());
  return product && product.getBlock() > 0 && use.getOperandNumber() < 2 &&
         isa<Float4E2M1FNType>(type.getElementType()) && rowsOf(type, type.getRank() - 1);
}

/// Whether the reader of a narrow value reads its packed bytes, not one element per byte.
bool readsBytes(OpOperand &use) {
  Operation *reader = use.getOwner();
  if (isPackedSide(use))
    return true;
  if (auto fusion = dyn_cast<exec::FusionOp>(reader))
    return !bodyOf(fusion).getOps<exec::ScaledMatmulOp>().empty() ||
           canUnpack(fusion, bodyOf(fusion).getArgument(use.getOperandNumber()));
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(reader))
    return rowsOf(update).has_value();
  if (auto gather = dyn_cast<stablehlo::GatherOp>(reader))
    return use.getOperandNumber() == 0 && rowsOf(gather);
  if (rowsOfCollective(reader))
    return true;
  return reader->hasTrait<OpTrait::IsTerminator>() || classify(reader) == OpClass::movement ||
         isa<stablehlo::WhileOp, stablehlo::ReshapeOp>(reader);
}

/// Rewrites one function. In the meantime, a cast from bytes to a narrow tensor represents
/// unpacking, and a cast to bytes represents packing; each is then emitted where it is cheapest.
class Packer {
public:
  explicit Packer(func::FuncOp function) : function(function), builder(function.getContext()) {}

  void run() {
    recordSignature();
    convert(function.getBody().front());
    function.setType(
        builder.getFunctionType(function.getBody().front().getArgumentTypes(),
                                function.getBody().front().getTerminator()->getOperandTypes()));
    for (exec::FusionOp fusion : fusions)
      convertFusion(fusion);
    for (UnrealizedConversionCastOp cast : unpacks)
      emitUnpacks(cast);
    for (UnrealizedConversionCastOp cast : packs)
      emitPackBy(cast);
  }

private:
  using Cast = UnrealizedConversionCastOp;

  /// Keeps the types of narrow parameters and results for the executable's signature. Drops their
  /// shardings, which describe the dimensions of these types, and which no later stage reads.
  void recordSignature() {
    const StringAttr arrayType = builder.getStringAttr("exec.array_type"),
                     sharding = builder.getStringAttr("sdy.sharding");
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (isNarrow(type)) {
        function.setArgAttr(static_cast<unsigned>(i), arrayType, TypeAttr::get(type));
        function.removeArgAttr(static_cast<unsigned>(i), sharding);
      }
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (isNarrow(type)) {
        function.setResultAttr(static_cast<unsigned>(i), arrayType, TypeAttr::get(type));
        function.removeResultAttr(static_cast<unsigned>(i), sharding);
      }
  }

  // --- Which values are packed ---

  /// Packs the arguments of a block and the values that it yields, and the values between them
  /// where that needs no extra kernel.
  void convert(Block &block) {
    builder.setInsertionPointToStart(&block);
    for (BlockArgument argument : block.getArguments())
      if (isNarrow(argument.getType()))
        makePacked(argument);
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      convert(&op);
    packOperands(block.getTerminator());
  }

  void convert(Operation *op) {
    if (isa<Cast>(op) || (!llvm::any_of(op->getOperandTypes(), isNarrow) &&
                          !llvm::any_of(op->getResultTypes(), isNarrow) &&
                          !isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op)))
      return;
    if (auto fusion = dyn_cast<exec::FusionOp>(op)) {
      packOfProduct(fusion);
      return convertResults(fusion);
    }
    if (isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op)) {
      packOperands(op);
      builder.setInsertionPointAfter(op);
      for (Value result : op->getResults())
        if (isNarrow(result.getType()))
          makePacked(result);
      for (Region &region : op->getRegions())
        convert(region.front());
      return;
    }
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
      return convertConstant(constant);
    if (auto reshape = dyn_cast<stablehlo::ReshapeOp>(op)) {
      // A reshape keeps the order of elements, so it changes no byte of a packed array.
      if (auto cast = reshape.getOperand().getDefiningOp<Cast>()) {
        builder.setInsertionPoint(op);
        reshape.replaceAllUsesWith(unpackCast(cast.getOperand(0), reshape.getType()));
        reshape.erase();
      }
      return;
    }
    if (convertRows(op))
      return;
    if (isa<exec::DotGeneralOp>(op))
      return packSides(op);
    if (const OpClass opClass = classify(op); opClass == OpClass::movement)
      convertResults(wrap(op));
  }

  /// Turns an op that only moves rows of whole bytes into an op on bytes.
  bool convertRows(Operation *op) {
    builder.setInsertionPoint(op);
    if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op)) {
      std::optional<int64_t> rows = rowsOf(update);
      if (!rows)
        return false;
      Value bytes = updateRows(builder, update, asRows(update.getOperand(), *rows),
                               asRows(update.getUpdate(), *rows));
      replaceByBytes(op->getResult(0), bytes);
    } else if (auto gather = dyn_cast<stablehlo::GatherOp>(op)) {
      std::optional<int64_t> rows = rowsOf(gather);
      if (!rows)
        return false;
      replaceByBytes(op->getResult(0),
                     gatherRows(builder, gather, asRows(gather.getOperand(), *rows)));
    } else {
      std::optional<int64_t> rows = rowsOfCollective(op);
      if (!rows)
        return false;
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(asRows(operand, *rows));
      Operation *moved = builder.clone(*op);
      moved->setOperands(operands);
      for (auto [from, to] : llvm::zip_equal(op->getResults(), moved->getResults())) {
        to.setType(*rowsOf(typeOf(from), *rows));
        replaceByBytes(from, to);
      }
    }
    op->erase();
    return true;
  }

  /// The bytes of a narrow value, as rows.
  Value asRows(Value value, int64_t leading) {
    return reshape(packedOf(value), *rowsOf(typeOf(value), leading));
  }
  Value reshape(Value value, RankedTensorType type) {
    if (value.getType() == type)
      return value;
    return stablehlo::ReshapeOp::create(builder, value.getLoc(), type, value);
  }
  /// Replaces a narrow value for its readers by the elements of `bytes`, which may have any shape.
  void replaceByBytes(Value value, Value bytes) {
    const RankedTensorType type = typeOf(value);
    value.replaceAllUsesWith(unpackCast(reshape(bytes, packedType(type)), type));
  }

  /// Changes the type of a value to bytes. Its readers get the elements from a cast.
  void makePacked(Value value) {
    const RankedTensorType type = typeOf(value);
    value.setType(packedType(type));
    auto cast = Cast::create(builder, value.getLoc(), type, value);
    value.replaceAllUsesExcept(cast.getResult(0), cast);
    unpacks.push_back(cast);
  }

  Value unpackCast(Value bytes, RankedTensorType type) {
    auto cast = Cast::create(builder, bytes.getLoc(), type, bytes);
    unpacks.push_back(cast);
    return cast.getResult(0);
  }

  /// The bytes of a narrow value.
  Value packedOf(Value value) {
    while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
      value = reshape.getOperand();
    auto cast = value.getDefiningOp<Cast>();
    if (cast)
      return cast.getOperand(0);
    Value &known = packed[value];
    if (!known) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(value);
      cast = Cast::create(builder, value.getLoc(), packedType(typeOf(value)), value);
      packs.push_back(cast);
      known = cast.getResult(0);
    }
    return known;
  }

  void packOperands(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isNarrow(operand.get().getType()))
        operand.set(packedOf(operand.get()));
  }

  void convertConstant(stablehlo::ConstantOp constant) {
    DenseElementsAttr bytes = packConstant(constant.getValue());
    if (!bytes)
      return; // stays one byte an element
    builder.setInsertionPoint(constant);
    Value value = stablehlo::ConstantOp::create(builder, constant.getLoc(), bytes);
    constant.replaceAllUsesWith(unpackCast(value, typeOf(constant)));
    constant.erase();
  }

  void convertResults(exec::FusionOp fusion) {
    if (convertUpdate(fusion))
      return;
    fusions.push_back(fusion);
    if (!canPack(fusion))
      return;
    builder.setInsertionPointAfter(fusion);
    for (Value result : fusion.getResults()) {
      if (!isNarrow(result.getType()) || llvm::none_of(result.getUses(), readsBytes))
        continue;
      Value bytes = packedOf(result);
      Value elements = unpackCast(bytes, typeOf(result));
      elements.getDefiningOp()->moveAfter(bytes.getDefiningOp());
      result.replaceAllUsesExcept(elements, bytes.getDefiningOp());
    }
  }

  /// Gives a scaled product of the library the packed bytes of its sides where they exist.
  void packSides(Operation *product) {
    builder.setInsertionPoint(product);
    for (OpOperand &use : product->getOpOperands())
      if (use.get().getDefiningOp<Cast>() && isPackedSide(use))
        use.set(asRows(use.get(), typeOf(use.get()).getRank() - 1));
  }

  /// Gives a scaled product the packed bytes of its elements, which its matrix unit reads.
  void packOfProduct(exec::FusionOp fusion) {
    auto products = bodyOf(fusion).getOps<exec::ScaledMatmulOp>();
    if (products.empty())
      return;
    exec::ScaledMatmulOp product = *products.begin();
    for (Value side : {product.getLhs(), product.getRhs()}) {
      auto argument = dyn_cast<BlockArgument>(side);
      if (!argument || !isNarrow(argument.getType()))
        continue;
      const RankedTensorType type = typeOf(argument), bytes = *rowsOf(type, type.getRank() - 1);
      builder.setInsertionPoint(fusion);
      OpOperand &input = fusion.getInputsMutable()[argument.getArgNumber()];
      input.set(reshape(packedOf(input.get()), bytes));
      argument.setType(bytes);
    }
  }

  /// On a GPU, a fusion that writes rows of whole bytes into its operand writes them as bytes.
  bool convertUpdate(exec::FusionOp &fusion) {
    auto updates = bodyOf(fusion).getOps<stablehlo::DynamicUpdateSliceOp>();
    if (!llvm::hasSingleElement(updates) || fusion->getNumResults() != 1)
      return false;
    stablehlo::DynamicUpdateSliceOp update = *updates.begin();
    auto target = dyn_cast<BlockArgument>(update.getOperand());
    std::optional<int64_t> rows = rowsOf(update);
    if (!rows || !target || !target.hasOneUse() || !update->hasOneUse() ||
        !isa<exec::YieldOp>(*update->user_begin()))
      return false;
    const unsigned number = target.getArgNumber();
    const RankedTensorType type = update.getType(), array = *rowsOf(type, *rows);
    builder.setInsertionPoint(update);
    Value part = reshape(emitPack(builder, update.getLoc(), update.getUpdate()),
                         *rowsOf(typeOf(update.getUpdate()), *rows));
    target.setType(array);
    Value written = updateRows(builder, update, target, part);
    update.replaceAllUsesWith(written);
    update.erase();
    builder.setInsertionPoint(fusion);
    fusion.getInputsMutable()[number].set(reshape(packedOf(fusion.getInputs()[number]), array));
    Value result = fusion.getResult(0);
    result.setType(array);
    builder.setInsertionPointAfter(fusion);
    auto bytes = stablehlo::ReshapeOp::create(builder, fusion.getLoc(), packedType(type), result);
    Value elements = unpackCast(bytes, type);
    result.replaceAllUsesExcept(elements, bytes);
    fusions.push_back(fusion);
    return true;
  }

  /// Wraps an op that moves elements in a fusion, with its splat constants.
  exec::FusionOp wrap(Operation *op) {
    builder.setInsertionPoint(op);
    llvm::SmallSetVector<Value, 4> inputs;
    for (Value operand : op->getOperands())
      if (!isSplat(operand))
        inputs.insert(operand);
    auto fusion = exec::FusionOp::create(builder, op->getLoc(), op->getResultTypes(),
                                         op->getName().stripDialect(), inputs.getArrayRef(),
                                         builder.getStringAttr("an op on packed elements"));
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&fusion.getBody());
    IRMapping mapping;
    for (Value input : inputs)
      mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, splatOf(operand));
    Operation *inner = builder.clone(*op, mapping);
    exec::YieldOp::create(builder, op->getLoc(), inner->getResults());
    op->replaceAllUsesWith(fusion.getResults());
    op->erase();
    return fusion;
  }

  /// Whether a value is a constant with equal elements, packed or not.
  static DenseElementsAttr splatAttribute(Value value) {
    auto cast = value.getDefiningOp<Cast>();
    auto constant = (cast ? cast.getOperand(0) : value).getDefiningOp<stablehlo::ConstantOp>();
    auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
    return dense && !dense.empty() && (dense.isSplat() || dense.getNumElements() == 1) ? dense
                                                                                       : nullptr;
  }
  static bool isSplat(Value value) {
    DenseElementsAttr dense = splatAttribute(value);
    // The last byte of a packed splat differs from the others if it has unused bits.
    return dense && (dense.getType() == value.getType() || typeOf(value).getNumElements() == 1);
  }
  Value splatOf(Value value) {
    DenseElementsAttr dense = splatAttribute(value);
    if (dense.getType() != value.getType()) {
      const Type element = typeOf(value).getElementType();
      const APInt bits = dense.getValues<APInt>()[0].trunc(element.getIntOrFloatBitWidth());
      if (auto real = dyn_cast<FloatType>(element))
        dense = DenseElementsAttr::get(typeOf(value), APFloat(real.getFloatSemantics(), bits));
      else
        dense = DenseElementsAttr::get(typeOf(value), bits);
    }
    return stablehlo::ConstantOp::create(builder, value.getLoc(), dense);
  }

  // --- Where elements are packed and unpacked ---

  /// Packs and unpacks in the kernel of a fusion, where it can.
  void convertFusion(exec::FusionOp fusion) {
    Block &body = bodyOf(fusion);
    // Decide before the body contains ops that unpack.
    SmallVector<unsigned> unpacked, packedResults;
    for (auto [i, input] : llvm::enumerate(fusion.getInputs()))
      if (input.getDefiningOp<Cast>() && isNarrow(input.getType()) &&
          canUnpack(fusion, body.getArgument(static_cast<unsigned>(i))))
        unpacked.push_back(static_cast<unsigned>(i));
    if (canPack(fusion))
      for (OpResult result : fusion.getResults())
        if (isNarrow(result.getType()) && packed.contains(result))
          packedResults.push_back(result.getResultNumber());
    for (unsigned i : unpacked) {
      BlockArgument argument = body.getArgument(i);
      const RankedTensorType type = typeOf(argument);
      fusion.getInputsMutable()[i].set(fusion.getInputs()[i].getDefiningOp<Cast>().getOperand(0));
      argument.setType(packedType(type));
      builder.setInsertionPointToStart(&body);
      Value elements = emitUnpack(builder, fusion.getLoc(), argument, type);
      // Only the first op of the unpacking reads the bytes.
      llvm::SmallPtrSet<Operation *, 4> readers;
      for (Operation &op : llvm::make_range(body.begin(), elements.getDefiningOp()->getIterator()))
        readers.insert(&op);
      readers.insert(elements.getDefiningOp());
      argument.replaceUsesWithIf(elements,
                                 [&](OpOperand &use) { return !readers.contains(use.getOwner()); });
    }
    Operation *yield = body.getTerminator();
    for (unsigned i : packedResults) {
      OpResult result = fusion->getResult(i);
      auto cast = packed.lookup(result).getDefiningOp<Cast>();
      builder.setInsertionPoint(yield);
      yield->setOperand(i, emitPack(builder, fusion.getLoc(), yield->getOperand(i)));
      result.setType(cast.getResult(0).getType());
      cast.getResult(0).replaceAllUsesWith(result);
      packs.erase(llvm::find(packs, cast));
      cast.erase();
    }
  }

  exec::FusionOp makeFusion(StringRef name, Value input, Type result, StringRef reason,
                            llvm::function_ref<Value(Value)> emit) {
    auto fusion = exec::FusionOp::create(builder, input.getLoc(), TypeRange(result), name,
                                         ValueRange(input), builder.getStringAttr(reason));
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&fusion.getBody());
    Value value = emit(block->addArgument(input.getType(), input.getLoc()));
    exec::YieldOp::create(builder, input.getLoc(), value);
    return fusion;
  }

  static void report(Operation *op, RankedTensorType type, const char *why) {
    TILEWRIGHT_LOG("fuse-pack-elements", op, why);
    remark::missed(op->getLoc(), remark::RemarkOpts::name("pack-elements").category("fuse"))
        << remark::reason(
               "'{0}' {1} {2} elements, one in each byte: it has no form for packed ones",
               op->getName().getStringRef(), why, type.getNumElements());
  }

  /// Unpacks for the readers that do not do it themselves, just before each of them: a value that
  /// only a branch reads is not unpacked outside of that branch.
  void emitUnpacks(Cast cast) {
    const RankedTensorType type = typeOf(cast.getResult(0));
    llvm::SmallSetVector<Operation *, 4> readers(cast->user_begin(), cast->user_end());
    for (Operation *reader : readers) {
      report(reader, type, "reads");
      builder.setInsertionPoint(reader);
      exec::FusionOp fusion =
          makeFusion("unpack", cast.getOperand(0), type, "for a reader of single bytes",
                     [&](Value bytes) { return emitUnpack(builder, cast.getLoc(), bytes, type); });
      fusion->setDiscardableAttr("exec.unpacks", builder.getUnitAttr()); // for tile-unpack-loads
      reader->replaceUsesOfWith(cast.getResult(0), fusion.getResult(0));
    }
    cast.erase();
  }

  void emitPackBy(Cast cast) {
    Value value = cast.getOperand(0);
    report(value.getDefiningOp(), typeOf(value), "writes");
    builder.setInsertionPoint(cast);
    exec::FusionOp fusion =
        makeFusion("pack", value, cast.getResult(0).getType(), "of a result in single bytes",
                   [&](Value elements) { return emitPack(builder, cast.getLoc(), elements); });
    cast.getResult(0).replaceAllUsesWith(fusion.getResult(0));
    cast.erase();
  }

  func::FuncOp function;
  OpBuilder builder;
  SmallVector<exec::FusionOp> fusions; // that read or write narrow elements
  SmallVector<Cast> unpacks, packs;
  DenseMap<Value, Value> packed; // casts of narrow values to bytes
};

struct PackElements : impl::PackElementsPassBase<PackElements> {
  void runOnOperation() override {
    if (getOperation().isPrivate() || getOperation().isExternal())
      return;
    Packer(getOperation()).run();
  }
};

} // namespace
} // namespace tilewright::fuse
