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

/// The rows of a warpgroup's instruction. The columns and depths of its operands are multiples of
/// `granule`.
constexpr int64_t groupRows = 64, granule = 16;

Layout StagedLoad::layout() const {
  auto tile = cast<RankedTensorType>(operand.tile.getType());
  const int64_t line = 128 * 8 / operand.bits;
  // The layout has whole lines along the contiguous dimension. The part of the last line that is
  // beyond the tile is copied, but no product reads it.
  const bool isAlongDepth = isLhs != operand.transposed;
  const int64_t own = tile.getShape()[isLhs ? 0 : 1], depth = tile.getShape()[isLhs ? 1 : 0];
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
  return all.cover(0) * all.cover(1) * operand.bits / 8;
}

sm::BufferType StagedLoad::bufferType() const {
  tile::LoadOp load = operand.load;
  auto tile = cast<RankedTensorType>(operand.tile.getType());
  return sm::BufferType::get(load.getContext(), tile.getShape(), tile.getElementType(),
                             sm::Space::shared, sm::LayoutAttr::get(load.getContext(), layout()));
}

namespace {

/// Finds the products and their staged operands.
class Finder {
public:
  Finder(tile::KernelOp kernel, std::string &reason) : reason(reason) { found.kernel = kernel; }

  std::optional<ProductLoop> find() {
    if (!findProducts() || !checkOps())
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

} // namespace

std::optional<ProductLoop> findProductLoop(tile::KernelOp kernel, std::string &reason) {
  return Finder(kernel, reason).find();
}

bool isFree(Operation *op, const ProductLoop &products) {
  if (auto map = dyn_cast<tile::MapOp>(op))
    return map.getInputs().empty();
  return isScalar(op) || isa<tile::ViewOp, tile::IotaOp>(op) || products.loads.contains(op);
}

} // namespace tilewright::pipeline
