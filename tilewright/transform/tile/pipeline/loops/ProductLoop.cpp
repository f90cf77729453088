#include "tilewright/transform/tile/pipeline/loops/ProductLoop.h"

#include "tilewright/transform/tile/pipeline/RoleKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::pipeline {

using sm::Layout;

/// The columns and depths of an instruction's operands are multiples of this.
constexpr int64_t granule = 16;

Layout StagedLoad::layout() const {
  auto tile = cast<RankedTensorType>(operand.tile.getType());
  const int64_t line = 128 * 8 / operand.bits;
  // The layout has whole lines along the contiguous dimension. The part of the last line that is
  // beyond the tile is copied, but no product reads it.
  const bool isAlongDepth = isLhs != operand.transposed;
  const int64_t own = tile.getShape()[isLhs ? 0 : 1] / parts,
                depth = tile.getShape()[isLhs ? 1 : 0];
  auto whole = [&](int64_t size) { return int64_t(llvm::alignTo(uint64_t(size), line)); };
  Layout layout =
      operandLayout(isAlongDepth ? own : whole(own), isAlongDepth ? whole(depth) : depth,
                    operand.bits, isAlongDepth, 1, 1);
  if (isLhs)
    return layout;
  SmallVector<Layout::Digits> dims{layout.getDims()[1], layout.getDims()[0]};
  return Layout(dims, layout.getCopies(), layout.getFlips());
}

int64_t StagedLoad::bytes() const {
  const Layout all = layout();
  return parts * all.cover(0) * all.cover(1) * operand.bits / 8;
}

sm::BufferType StagedLoad::bufferType() const {
  tile::LoadOp load = operand.load;
  auto tile = cast<RankedTensorType>(operand.tile.getType());
  SmallVector<int64_t> shape(tile.getShape());
  shape[0] /= parts;
  return sm::BufferType::get(load.getContext(), shape, tile.getElementType(), sm::Space::shared,
                             sm::LayoutAttr::get(load.getContext(), layout()));
}

namespace {

/// Finds the products and their staged operands.
class Finder {
public:
  Finder(tile::KernelOp kernel, bool inTensorMemory, std::string &reason) : reason(reason) {
    found.kernel = kernel;
    found.inTensorMemory = inTensorMemory;
  }

  std::optional<ProductLoop> find() {
    if (!findProducts() || !checkOps() || (found.inTensorMemory && !findSums()))
      return std::nullopt;
    return std::move(found);
  }

private:
  ProductLoop found;
  std::string &reason;

  template <typename... Values> bool no(const char *format, Values &&...values) {
    reason = llvm::formatv(format, std::forward<Values>(values)...).str();
    return false;
  }
  bool findProducts();
  bool addProduct(tile::DotOp dot);
  bool addLoad(tile::DotOp dot, bool isLhs);
  bool checkLoad(const StagedLoad &load, StringRef side);
  bool checkOps();
  bool findSums();
  bool addSum(const LoopProduct &product);
};

bool Finder::findProducts() {
  SmallVector<tile::DotOp> dots;
  found.kernel.getBody().walk([&](tile::DotOp dot) { dots.push_back(dot); });
  if (dots.size() < 2)
    return no("it does not have several products");
  if (found.kernel.getUpdates())
    return no("it writes a part of an input in place");
  found.loop = dyn_cast<scf::ForOp>(dots.front()->getParentOp());
  if (!found.loop ||
      llvm::any_of(dots, [&](tile::DotOp dot) { return dot->getParentOp() != found.loop; }))
    return no("its products are not all in the same loop");
  if (!matchPattern(found.loop.getLowerBound(), m_Zero()) ||
      !matchPattern(found.loop.getStep(), m_One()))
    return no("its loop does not count from 0 in steps of 1");
  return llvm::all_of(dots, [&](tile::DotOp dot) { return addProduct(dot); });
}

bool Finder::addProduct(tile::DotOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType()),
       rhs = cast<RankedTensorType>(dot.getRhs().getType());
  if (lhs.getRank() != 2 || dot.getLhsScale())
    return no("a product has scales or batches");
  LoopProduct product{.dot = dot,
                      .m = lhs.getDimSize(0),
                      .n = rhs.getDimSize(1),
                      .k = lhs.getDimSize(1),
                      .type = typeName(lhs.getElementType(), dot.getTf32())};
  if (lhs.getElementType() != rhs.getElementType() ||
      lhs.getElementType().getIntOrFloatBitWidth() != 16 || product.type.empty())
    return no("a product multiplies {0} and {1}, but both operands must be f16 or bf16",
              lhs.getElementType(), rhs.getElementType());
  const int64_t groupRows = found.groupRows();
  if (product.m % groupRows != 0 || product.n % granule != 0 || product.k % granule != 0 ||
      product.n > 256)
    return no("a product of {0}x{1}x{2} is not a multiple of {3}x{4}x{4} with at most 256 columns",
              product.m, product.n, product.k, groupRows, granule);
  if (found.rows && found.rows != product.m)
    return no("its products have {0} and {1} rows", found.rows, product.m);
  found.rows = product.m;
  found.products.push_back(product);
  // A left operand that is not a loaded tile is computed in registers.
  Value left = dot.getLhs();
  while (auto view = left.getDefiningOp<tile::ViewOp>())
    left = view.getSource();
  return (!left.getDefiningOp<tile::LoadOp>() || addLoad(dot, true)) && addLoad(dot, false);
}

bool Finder::addLoad(tile::DotOp dot, bool isLhs) {
  const StringRef side = isLhs ? "lhs" : "rhs";
  Value tile = isLhs ? dot.getLhs() : dot.getRhs();
  std::optional<Operand> operand =
      findOperand(tile, [](tile::LoadOp) { return true; }, side, reason);
  if (!operand)
    return false;
  if (operand->hasPrologue)
    return no("its {0} is computed, but must be loaded", side);
  StagedLoad load{.operand = *operand, .dot = dot, .isLhs = isLhs};
  if (isLhs && found.inTensorMemory)
    load.parts = found.groups();
  if (!checkLoad(load, side))
    return false;
  if (!found.loads.insert({operand->load, load}).second)
    return no("two products read the same load");
  return true;
}

bool Finder::checkLoad(const StagedLoad &staged, StringRef side) {
  const Operand &operand = staged.operand;
  tile::LoadOp load = operand.load;
  const int64_t rowBytes =
      cast<MemRefType>(load.getSource().getType()).getShape().back() * operand.bits / 8;
  if (rowBytes % 16 != 0)
    return no("rows of its {0} are {1} bytes apart, but the copy engine requires multiples of 16",
              side, rowBytes);
  if (operand.packing != 1 || operand.outerSizes.size() != 1 || operand.outerStrides[0] != 1)
    return no("its {0} has rows along several dimensions of memory, or with strides", side);
  if (operand.outerSizes[0] > 256)
    return no("its {0} has {1} rows, but a box of the copy engine has at most 256", side,
              operand.outerSizes[0]);
  if (found.inTensorMemory && !found.isInLoop(load) && load->getParentOp() != found.kernel)
    return no("its {0} is loaded in an outer loop", side);
  for (Operation *parent = load->getParentOp(); parent != found.kernel;
       parent = parent->getParentOp())
    if (!isa<scf::ForOp>(parent))
      return no("its {0} is loaded in a branch", side);
  for (Operation *user : load->getUsers())
    if (!isa<tile::ViewOp>(user) && user != staged.dot)
      return no("its {0} is also read by a {1}", side, user->getName().getStringRef());
  return true;
}

/// Checks that the roles support all ops.
bool Finder::checkOps() {
  Operation *bad = nullptr;
  found.kernel.getBody().walk([&](Operation *op) {
    // The ops in regions of maps and reductions are scalar code.
    if (isa<tile::MapOp, tile::ReduceOp>(op->getParentOp()))
      return;
    if (!isa<tile::LoadOp, tile::StoreOp, tile::ViewOp, tile::MapOp, tile::IotaOp, tile::ReduceOp,
             tile::DotOp, tile::YieldOp, tensor::ExtractOp, scf::ForOp, scf::IfOp, scf::YieldOp>(
            op) &&
        !isScalar(op))
      bad = bad ? bad : op;
    // The load role may need the number, and channels pass only words of 32 bits.
    if (auto extract = dyn_cast<tensor::ExtractOp>(op);
        extract && extract.getType().isIntOrFloat() &&
        extract.getType().getIntOrFloatBitWidth() != 32)
      bad = bad ? bad : op;
  });
  return !bad || no("it has a {0}", bad->getName().getStringRef());
}

bool Finder::findSums() {
  for (const LoopProduct &product : found.products) {
    tile::DotOp dot = product.dot;
    const bool isStaged = llvm::any_of(found.loads, [&](const auto &entry) {
      return entry.second.dot == dot && entry.second.isLhs;
    });
    if (isStaged != isZero(dot.getAcc()))
      return no("a product in tensor memory either begins at zero, or has a computed left operand");
    if (!isStaged && !addSum(product))
      return false;
  }
  return true;
}

/// The factor of each row by which a map multiplies a carried tile; null if it is another map.
static Value factorsOf(tile::MapOp map, Value &carried) {
  Block &body = map.getBody().front();
  auto product = dyn_cast<arith::MulFOp>(body.front());
  if (map.getInputs().size() != 2 || map.getNumResults() != 1 || !product ||
      body.getOperations().size() != 2 || product.getLhs() == product.getRhs() ||
      !isa<BlockArgument>(product.getLhs()) || !isa<BlockArgument>(product.getRhs()))
    return {};
  for (auto [tile, other] : {std::pair(map.getInputs()[0], map.getInputs()[1]),
                             {map.getInputs()[1], map.getInputs()[0]}}) {
    auto view = other.getDefiningOp<tile::ViewOp>();
    if (!isa<BlockArgument>(tile) || !view ||
        cast<RankedTensorType>(view.getSource().getType()).getRank() != 1 ||
        view.getMap() != AffineMap::get(2, 0, getAffineDimExpr(0, map.getContext())))
      continue;
    carried = tile;
    return view.getSource();
  }
  return {};
}

/// Finds the loops that carry the accumulator of a product, from a zero before them.
bool Finder::addSum(const LoopProduct &product) {
  tile::DotOp dot = product.dot;
  TensorSum sum;
  Value carried = dot.getAcc();
  if (auto map = carried.getDefiningOp<tile::MapOp>()) {
    sum.scaling = map;
    sum.factors = factorsOf(map, carried);
    if (!sum.factors || !map->hasOneUse())
      return no("an accumulator is computed by more than a factor for each row");
    found.inTensor.insert(map.getResult(0));
  }
  Value next = dot.getResult();
  for (scf::ForOp loop = found.loop;; loop = cast<scf::ForOp>(loop->getParentOp())) {
    auto argument = dyn_cast<BlockArgument>(carried);
    if (!argument || argument.getOwner() != loop.getBody() || argument.getArgNumber() == 0 ||
        !argument.hasOneUse() || !next.hasOneUse() ||
        loop.getYieldedValues()[argument.getArgNumber() - 1] != next)
      return no("an accumulator is not only carried by loops");
    sum.loop = loop;
    sum.number = argument.getArgNumber() - 1;
    found.inTensor.insert(argument);
    found.inTensor.insert(next);
    carried = loop.getInitArgs()[sum.number];
    next = loop.getResult(sum.number);
    if (!isa<scf::ForOp>(loop->getParentOp()))
      break;
  }
  if (sum.loop->getParentOp() != found.kernel || !isZero(carried))
    return no("an accumulator does not begin at zero before all loops");
  found.sums[dot] = sum;
  return true;
}

} // namespace

std::optional<ProductLoop> findProductLoop(tile::KernelOp kernel, bool inTensorMemory,
                                           std::string &reason) {
  return Finder(kernel, inTensorMemory, reason).find();
}

bool isFree(Operation *op, const ProductLoop &products) {
  if (auto map = dyn_cast<tile::MapOp>(op))
    return map.getInputs().empty();
  return isScalar(op) || isa<tile::ViewOp, tile::IotaOp>(op) || products.loads.contains(op);
}

} // namespace tilewright::pipeline
