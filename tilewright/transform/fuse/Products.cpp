// fuse-products: on a GPU every op is a kernel, and a product takes its neighbours along.
#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/transform/fuse/Classify.h"
#include "tilewright/transform/fuse/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tilewright::fuse {
#define GEN_PASS_DEF_FUSEPRODUCTSPASS
#include "tilewright/transform/fuse/Passes.h.inc"

namespace {

Block &bodyOf(exec::FusionOp fusion) { return fusion.getBody().front(); }

bool isProduct(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<stablehlo::DotGeneralOp>().empty();
}
bool isReduction(exec::FusionOp fusion) {
  return !bodyOf(fusion).getOps<stablehlo::ReduceOp>().empty();
}

/// A fusion of one op, in its place. Constants that are one number go in with it.
exec::FusionOp wrap(Operation *op) {
  OpBuilder builder(op);
  llvm::SmallSetVector<Value, 4> inputs;
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (!source || classify(source) != OpClass::splat)
      inputs.insert(operand);
  }
  auto fusion = exec::FusionOp::create(builder, op->getLoc(), op->getResultTypes(),
                                       op->getName().stripDialect(), inputs.getArrayRef(),
                                       builder.getStringAttr("an op by itself"));
  Block *block = builder.createBlock(&fusion.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, block->addArgument(input.getType(), input.getLoc()));
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
  Operation *inner = builder.clone(*op, mapping);
  exec::YieldOp::create(builder, op->getLoc(), inner->getResults());
  op->replaceAllUsesWith(fusion.getResults());
  op->erase();
  return fusion;
}

/// One fusion of both, where the consumer stands; nobody else reads the producer.
exec::FusionOp merge(exec::FusionOp producer, exec::FusionOp consumer, StringRef reason) {
  OpBuilder builder(consumer);
  llvm::SmallSetVector<Value, 8> inputs(producer.getInputs().begin(), producer.getInputs().end());
  for (Value input : consumer.getInputs())
    if (input.getDefiningOp() != producer)
      inputs.insert(input);
  // Of two products in a chain the name tells the first.
  const std::string name = (producer.getName() + "_" + consumer.getName()).str();
  auto merged = exec::FusionOp::create(builder, consumer.getLoc(), consumer.getResultTypes(), name,
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
  mapping.map(producer.getResults(), copy(producer));
  exec::YieldOp::create(builder, consumer.getLoc(), copy(consumer));
  consumer.replaceAllUsesWith(merged.getResults());
  consumer.erase();
  producer.erase();
  return merged;
}

/// Why what a product reads may not be computed on the way to it; null if it may.
const char *refusePrologue(exec::FusionOp producer, Operation *product) {
  if (producer->getNumResults() != 1 ||
      !llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == product; }))
    return "its result is read elsewhere too";
  if (isReduction(producer) || isProduct(producer))
    return "it reduces";
  // Each block of the product computes what it reads: once for every tile of the other side.
  if (llvm::any_of(bodyOf(producer), [](Operation &op) { return isExpensive(&op); }))
    return "an expensive op would be computed many times";
  return nullptr;
}

/// Why a fusion may not go on with the elements of a product; null if it may.
const char *refuseEpilogue(exec::FusionOp product, exec::FusionOp reader) {
  if (reader->getBlock() != product->getBlock())
    return "it is in another block";
  if (isProduct(reader))
    return "it is a product itself";
  if (isReduction(reader))
    return "it reduces, so a block would need all columns";
  llvm::DenseSet<Value> touched;
  for (auto [argument, input] : llvm::zip_equal(bodyOf(reader).getArguments(), reader.getInputs()))
    if (input.getDefiningOp() == product)
      touched.insert(argument);
  for (Operation &op : bodyOf(reader).without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value operand) { return touched.contains(operand); }))
      continue;
    const OpClass opClass = classify(&op);
    if (opClass != OpClass::elementwise && opClass != OpClass::reshape)
      return "it reads the product in another order";
    touched.insert(op.result_begin(), op.result_end());
  }
  return nullptr;
}

/// Whether a reshape only cuts dimensions into groups or puts groups together, such that what is
/// contiguous stays in pieces that a product's tile is made of: scales of groups come by way of two
/// of them.
bool isGrouping(stablehlo::ReshapeOp reshape) {
  constexpr int64_t least = 64;
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

struct FuseProducts : impl::FuseProductsPassBase<FuseProducts> {
  void runOnOperation() override {
    auto module = getOperation()->getParentOfType<ModuleOp>();
    if (!module || exec::targetWord(module, "kind") != "gpu" || getOperation().isPrivate())
      return;
    SmallVector<Operation *> alone;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<exec::FusionOp>(op))
        return WalkResult::skip();
      if (isa_and_present<stablehlo::StablehloDialect>(op->getDialect()) &&
          !isa<stablehlo::ConstantOp, stablehlo::ReshapeOp>(op) && indexing::canTile(op))
        alone.push_back(op);
      const bool descends =
          op == getOperation() || isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op);
      return descends ? WalkResult::advance() : WalkResult::skip();
    });
    SmallVector<exec::FusionOp> products;
    for (Operation *op : alone) {
      const bool multiplies = isa<stablehlo::DotGeneralOp>(op);
      exec::FusionOp fusion = wrap(op);
      if (multiplies)
        products.push_back(fusion);
    }
    for (exec::FusionOp product : products)
      takeNeighbours(product);
  }

  void takeNeighbours(exec::FusionOp product) {
    for (bool grown = true; grown;) {
      grown = false;
      for (Value input : product.getInputs()) {
        // Another name of what a fusion computes goes in with it.
        auto reshape = input.getDefiningOp<stablehlo::ReshapeOp>();
        auto behind =
            reshape ? reshape.getOperand().getDefiningOp<exec::FusionOp>() : exec::FusionOp();
        if (behind && reshape->hasOneUse() && isGrouping(reshape) &&
            !refusePrologue(behind, reshape)) {
          wrap(reshape);
          grown = true;
          break;
        }
        auto producer = input.getDefiningOp<exec::FusionOp>();
        if (!producer || producer->getBlock() != product->getBlock())
          continue;
        const char *refusal = refusePrologue(producer, product);
        say(product.getLoc(), producer, product, refusal);
        if (refusal)
          continue;
        product = merge(producer, product, "a product that computes what it reads");
        grown = true;
        break;
      }
    }
    // Through other names of the same memory there may be a reader, but it sees another shape.
    if (product->getNumResults() != 1 || product->use_empty())
      return;
    Operation *user = *product->user_begin();
    auto reader = dyn_cast<exec::FusionOp>(user);
    if (!reader)
      return;
    const char *refusal =
        llvm::all_of(product->getUsers(), [&](Operation *other) { return other == user; })
            ? refuseEpilogue(product, reader)
            : "its result is read elsewhere too";
    say(reader.getLoc(), product, reader, refusal);
    if (!refusal)
      merge(product, reader, "goes on with the elements of a product");
  }

  void say(Location loc, exec::FusionOp producer, exec::FusionOp consumer, const char *refusal) {
    if (!getContext().getRemarkEngine())
      return;
    auto opts = remark::RemarkOpts::name("fuse-products").category("fuse");
    auto remark = refusal ? remark::missed(loc, opts) : remark::passed(loc, opts);
    remark << remark::add("fusion '{0}' {1} fusion '{2}'", consumer.getName().str(),
                          refusal ? "does not join" : "joins", producer.getName().str());
    if (refusal)
      remark << remark::reason("{0}", refusal);
    numRefused += refusal ? 1 : 0;
    numJoined += refusal ? 0 : 1;
  }
};

} // namespace
} // namespace tilewright::fuse
