// Tiling: which part of every value one point of the grid needs, as a function of the
// sizes of tiles, and the choice of those sizes.
#ifndef TILEWRIGHT_TRANSFORM_TILE_TILING_H
#define TILEWRIGHT_TRANSFORM_TILE_TILING_H

#include "tilewright/transform/tile/FusionGraph.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <map>
#include <set>
#include <tuple>

namespace tilewright::tile {

/// The element types of a product's operands, after what they are may have become what instructions
/// take.
struct MatrixTypes {
  mlir::Type left, right;
  bool isTf32 = false;
};

/// What is known of the machine. Read from the module; the defaults are for none in particular.
struct Capacities {
  int64_t cores = 4;
  int64_t vectorBytes = 32;
  int64_t l1Bytes = 32 << 10;
  /// Fewer elements than this are not worth splitting.
  int64_t minParallelItems = 16 << 10;
  /// Whether points of the grid are blocks of a GPU, with as many `cores` as it has processors.
  bool isGpu = false;
  /// Elements of a tile that one point holds at once; longer ones are done in a loop. 0 is no
  /// limit.
  int64_t tileElements = 0;
  /// Element types that matrix instructions multiply, by their names in the IR.
  std::set<std::string> matrixTypes;
  /// What products cost there, if that is known.
  std::optional<pipeline::Machine> machine;
  /// What matrix instructions are given for a dot_general; nothing if they do not compute it.
  std::optional<MatrixTypes> matrixFor(const Node &dot, const FusionGraph &graph) const;

  static Capacities of(mlir::Attribute target);
};

/// The indices of one dimension of a value at one point of the grid:
///   follows    constant + scale * m, for m in the point's tile of `main`
///   whole      constant + scale * l, for l in [0, size)
/// where `size` 1 and `scale` 1 make it a single index. With a `divisor`, m stands for
/// (m + phase) / divisor, rounded down, and tiles are multiples of it. A `position` of the graph,
/// times its scale, is added to all of them.
struct Access {
  int main = -1; // a dimension of the grid's domain, or -1
  int64_t size = 1;
  int64_t scale = 1;
  int64_t constant = 0;
  int64_t divisor = 1;
  int64_t phase = 0;
  int position = -1;
  int64_t positionScale = 0;

  bool follows() const { return main >= 0; }
  auto key() const {
    return std::make_tuple(main, size, scale, constant, divisor, phase, position, positionScale);
  }
  bool operator<(const Access &other) const { return key() < other.key(); }
  bool operator==(const Access &other) const { return key() == other.key(); }
};
using Box = std::vector<Access>;

/// The box of a node's whole domain, given that of its results; what it reduces is in one piece.
Box domainBox(const Node &node, const Box &result);

/// Where an operand is read, given the box of the user's domain: the preimage of the box
/// under the relation. `view` is the operand's tile index as a function of the domain's
/// tile index. Indices that are not linear in one dimension need the dimensions that they
/// depend on in one piece.
struct OperandBox {
  Box box;
  llvm::SmallVector<mlir::AffineExpr> view;
  std::set<int> needsWhole;
  /// Depends on two positions at once, or on one in a way that no offset can express.
  bool isRefused = false;
};
OperandBox operandBox(const Edge &edge, const Node &source, const Box &domain);

/// Whether an operand is read at indices that depend on a dimension of the domain.
bool readsDim(const Edge &edge, unsigned dim);

/// What is found by following boxes from the outputs to the inputs.
struct Needs {
  /// Dimensions that must be in one piece.
  std::set<int> whole;
  /// The largest loop nest, in elements, and the widest element in it.
  int64_t elements = 1;
  int64_t elementBytes = 1;
  /// Dimensions along which memory is contiguous, with the number of elements moved so.
  std::map<int, int64_t> contiguous;
  bool hasReduction = false;
  /// An index that leaves what it looks into, where only a view could follow it.
  bool leavesView = false;
  /// Two positions that are known only later, in one index.
  bool isRefused = false;
  /// Tiles of these dimensions are multiples of a number.
  std::map<int, int64_t> multiples;
  /// Dimensions along the rows and the columns of a product of matrices.
  std::set<int> rows, columns;
  /// What matrix instructions would do, if they compute it: depth and types, and which sides are
  /// read along their rows from memory in steps of 16 bytes, as copy engines take them.
  struct Product {
    int64_t depth;
    MatrixTypes types;
    bool canCopy;
    bool columnsInner; // what stays in shared memory is contiguous along its columns
    /// The side that is computed from an input of so many bits an element, if one is: it goes
    /// through registers, and on the right the product is computed transposed.
    bool leftComputed = false, rightComputed = false;
    int64_t computedBits = 0;
  };
  std::optional<Product> product;
};

class Tiling {
public:
  /// Finds the domain that the grid covers, and how the outputs follow it.
  /// Nothing, with the reason, where no sizes of tiles are legal.
  static std::optional<Tiling> create(const FusionGraph &graph, const Capacities &capacities,
                                      std::string &reason);

  /// The dimensions of the domain (those of the largest output) and their tiles. After the first
  /// `gridRank` come those that a point goes through in a loop, one tile after the other.
  llvm::SmallVector<int64_t> sizes, tiles;
  int gridRank = 0;
  /// The box of each output.
  std::vector<Box> outputs;

  /// Dimensions that a node reduces in a loop: (node, dimension of its domain) to the number in
  /// `sizes`.
  std::map<std::pair<unsigned, unsigned>, int> reductionLoops;
  /// Dimensions of the grid, each in one piece, that outputs are written along in a loop.
  std::map<int, int> storeLoops;

  /// The box of a node's domain, given that of its results.
  Box domainBox(const Node &node, unsigned number, const Box &result) const;
  bool isLoop(const Access &access) const { return access.main >= gridRank; }

  int64_t points(int main) const {
    return (sizes[static_cast<size_t>(main)] + tiles[static_cast<size_t>(main)] - 1) /
           tiles[static_cast<size_t>(main)];
  }
  int64_t tileSize(const Access &access) const {
    if (!access.follows())
      return access.size;
    const int64_t tile = tiles[static_cast<size_t>(access.main)];
    return (tile - 1 + access.phase) / access.divisor + 1;
  }
  /// How far the first index moves from one point to the next.
  int64_t pointStride(const Access &access) const {
    return access.follows()
               ? access.scale * (tiles[static_cast<size_t>(access.main)] / access.divisor)
               : 0;
  }

  /// Whether every index of the access is proved to be inside [0, size): for all points
  /// of the grid, or only for those elements that outputs keep.
  bool isInside(const Access &access, int64_t size, bool keptOnly) const;

  /// Limits of the graph's positions.
  llvm::SmallVector<int64_t> positionLimits;

private:
  /// Chooses `tiles` among the legal ones.
  bool choose(const Needs &needs, const Capacities &capacities, std::string &reason);
  void chooseForCpu(const Needs &needs, const Capacities &capacities);
  void chooseForGpu(const Needs &needs, const Capacities &capacities);
  void chooseForProduct(const Needs &needs, const Capacities &capacities);
  bool chooseByCost(const Needs &needs, const Capacities &capacities, int row, int column,
                    int64_t blocks);
  /// Finds what has to be done in loops, and adds their dimensions.
  void planLoops(const FusionGraph &graph, const Capacities &capacities);
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_TILING_H
