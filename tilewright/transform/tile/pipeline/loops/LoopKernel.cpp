#include "tilewright/transform/tile/pipeline/loops/LoopKernel.h"

#include "tilewright/transform/tile/pipeline/Epilogue.h"
#include "tilewright/transform/tile/pipeline/RoleKernel.h"
#include "tilewright/transform/tile/pipeline/loops/LoadRole.h"
#include "tilewright/transform/tile/pipeline/loops/TensorRoles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tilewright::pipeline {

std::optional<PlannedLoop> planProductLoop(tile::KernelOp kernel, const Machine &machine,
                                           std::string &reason) {
  if (machine.matrixUnit == MatrixUnit::mma) {
    reason = "products in one loop have roles only where single warps do not multiply";
    return std::nullopt;
  }
  std::optional<ProductLoop> products =
      findProductLoop(kernel, machine.matrixUnit == MatrixUnit::tcgen05, reason);
  if (!products)
    return std::nullopt;
  const int64_t groups = products->groups();
  if (const std::optional<std::string> problem = TileLayouts(*products, groups).problem()) {
    reason = *problem;
    return std::nullopt;
  }
  std::optional<LoopPlan> plan = planLoop(*products, machine, groups, reason);
  if (!plan)
    return std::nullopt;
  return PlannedLoop{std::move(*products), std::move(*plan)};
}

sm::KernelOp makeLoopKernel(PlannedLoop &planned) {
  ProductLoop &products = planned.products;
  const LoopPlan &plan = planned.plan;
  tile::KernelOp old = products.kernel;
  OpBuilder b(old);
  Location loc = old.getLoc();
  auto kernel =
      sm::KernelOp::create(b, loc, old.getSymNameAttr(), old.getGridAttr(), old.getNumInputsAttr(),
                           b.getI64IntegerAttr(plan.plan.threads / 32), DenseI64ArrayAttr(),
                           StringAttr(), IntegerAttr(), old.getUpdatesAttr());
  Block *block = b.createBlock(&kernel.getBody());
  IRMapping scalars;
  for (BlockArgument argument : old.getBlock().getArguments())
    scalars.map(argument, block->addArgument(argument.getType(), argument.getLoc()));
  b.setInsertionPointToStart(block);
  for (Operation &op : old.getBlock().without_terminator())
    if (isScalar(&op) &&
        llvm::all_of(op.getOperands(), [&](Value operand) { return scalars.contains(operand); }))
      b.clone(op, scalars);
  RoleChannels channels;
  for (auto &[op, staged] : products.loads) {
    const SmallVector<sm::BufferType> buffers(size_t(staged.parts), staged.bufferType());
    auto type = sm::ChannelType::get(b.getContext(), buffers);
    const auto depth = plan.depths.find(op);
    channels.staged[op] = sm::ChannelOp::create(b, op->getLoc(), type,
                                                depth == plan.depths.end() ? 1 : depth->second);
  }
  if (products.inTensorMemory)
    for (const LoopProduct &product : products.products)
      channels.tensor[product.dot] = makeTensorChannel(b, products, product);
  if (plan.takesTurns)
    channels.turn = sm::ChannelOp::create(b, loc, sm::ChannelType::get(b.getContext(), {}),
                                          /*depth=*/1, /*filled=*/1);
  auto makeRole = [&](StringRef name, const RolePlan &role) {
    OpBuilder::InsertionGuard guard(b);
    auto op = sm::RoleOp::create(b, loc, name, role.warps, role.registers);
    b.createBlock(&op.getBody());
    tile::YieldOp::create(b, loc);
    return op;
  };
  const RolePlan &loadPlan = plan.plan.roles[loopLoad], &mathPlan = plan.plan.roles[loopMath];
  LoadRole load(products, scalars, channels, loadPlan.warps);
  std::optional<MmaRole> mma;
  if (products.inTensorMemory)
    mma.emplace(products, scalars, channels, plan.plan.roles[loopMma].warps);
  llvm::SetVector<Value> numbers(load.numbersFromMath().begin(), load.numbersFromMath().end());
  if (mma)
    numbers.insert_range(mma->numbersFromMath());
  for (Value number : numbers) {
    // Only the math role can compute this number.
    const sm::Layout single(SmallVector<sm::Layout::Digits>{{}});
    auto buffer = sm::BufferType::get(b.getContext(), {1}, number.getType(), sm::Space::shared,
                                      sm::LayoutAttr::get(b.getContext(), single));
    channels.numbers[number] =
        sm::ChannelOp::create(b, loc, sm::ChannelType::get(b.getContext(), {buffer}), /*depth=*/1);
  }
  b.setInsertionPointToEnd(block);
  auto yield = tile::YieldOp::create(b, loc);
  b.setInsertionPoint(yield);
  if (mma) {
    // A warp accesses the lanes of tensor memory that its number selects, so the warpgroups that do
    // so come first.
    auto mathRole = makeRole("math", mathPlan), loadRole = makeRole("load", loadPlan),
         mmaRole = makeRole("mma", plan.plan.roles[loopMma]);
    makeRole("idle", plan.plan.roles[loopIdle]);
    TensorMathRole(products, plan, scalars, channels).build(mathRole);
    load.build(loadRole);
    mma->build(mmaRole);
  } else {
    auto loadRole = makeRole("load", loadPlan), mathRole = makeRole("math", mathPlan);
    load.build(loadRole);
    MathRole(products, plan, scalars, channels).build(mathRole);
  }
  old->erase();
  return kernel;
}

} // namespace tilewright::pipeline
