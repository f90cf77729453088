// Tiling: which box of every value a point of the grid needs, as a function of the tile sizes, and
// the choice of the tile sizes.
#ifndef TILEWRIGHT_TRANSFORM_TILE_TILING_H
#define TILEWRIGHT_TRANSFORM_TILE_TILING_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/exec/Hint.h"
#include "tilewright/transform/tile/FusionGraph.h"
#include "tilewright/transform/tile/pipeline/Gemm.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <map>
#include <set>
#include <tuple>

namespace tilewright::tile {

/// The element types that matrix instructions multiply, after conversion of the operands.
struct MatrixTypes {
  mlir::Type left, right;
  bool isTf32 = false;
};

/// The element type of a product's sums, which are rounded to `result` once: f64 if one of the
/// types is f64, f32 for other floats, and the same for complex numbers. Integers are summed modulo
/// the result's range.
mlir::Type sumTypeOf(mlir::Type left, mlir::Type right, mlir::Type result);

/// Properties of the target, read from the module. The defaults do not describe a particular
/// machine.
struct Capacities {
  int64_t cores = 4;
  int64_t vectorBytes = 32;
  int64_t l1Bytes = 32 << 10;
  /// The minimum number of elements that is worth splitting.
  int64_t minParallelItems = 16 << 10;
  /// Whether the points of the grid are GPU blocks; `cores` is then the number of multiprocessors.
  bool isGpu = false;
  int64_t lanes = 32; // of a warp
  /// The number of elements of a tile that one point can hold at once; larger tiles are processed
  /// in a loop. 0 means unlimited.
  int64_t tileElements = 0;
  /// The matrix instructions, if there are any.
  exec::MatrixAttr matrix;
  /// The machine of the cost model, if its rates are known.
  std::optional<pipeline::Machine> machine;
  /// The operand types with which matrix instructions can compute a dot_general or a convolution:
  /// its own types, or types that represent all of their values; nullopt if there are none.
  std::optional<MatrixTypes> matrixFor(const Node &product, const FusionGraph &graph) const;
  /// Like the function above, for operands of these types. `mayRound`: f32 may lose bits, which
  /// only the default precision permits.
  std::optional<MatrixTypes> matrixFor(mlir::Type left, mlir::Type right, mlir::Type sum,
                                       int64_t depth, bool mayRound) const;

  static Capacities of(exec::TargetAttr target);
};

/// The indices that one point of the grid reads or writes along one dimension of a value:
///   follows    constant + scale * m, for m in the point's tile of `main`
///   whole      constant + scale * l, for l in [0, size)
/// The default is a single index. With a `divisor`, m is replaced by floor((m + phase) / divisor),
/// and tiles must be multiples of the divisor. If `position` is not -1, that runtime position times
/// `positionScale` is added to every index. If `unit` is not -1, the coordinate along that
/// dimension, whose tiles have one element, times `unitScale` is added.
struct Access {
  int main = -1; // a dimension of the grid's domain, or -1
  int64_t size = 1;
  int64_t scale = 1;
  int64_t constant = 0;
  int64_t divisor = 1;
  int64_t phase = 0;
  int position = -1;
  int64_t positionScale = 0;
  int unit = -1; // a dimension of the grid's domain, or a loop
  int64_t unitScale = 0;

  bool follows() const { return main >= 0; }
  bool dependsOn(int dim) const { return dim >= 0 && (main == dim || unit == dim); }
  auto key() const {
    return std::make_tuple(main, size, scale, constant, divisor, phase, position, positionScale,
                           unit, unitScale);
  }
  bool operator<(const Access &other) const { return key() < other.key(); }
  bool operator==(const Access &other) const { return key() == other.key(); }
};
using Box = std::vector<Access>;

/// The box of a node's whole domain, given the box of its results. Reduced dimensions are untiled,
/// but `units` are at their first index.
Box domainBox(const Node &node, const Box &result);

/// The elements of an operand that a user reads, given the box of the user's domain: the image of
/// the box under the indexing relation. `view` maps an index in the domain's tile to an index in
/// the operand's tile. `needsWhole` has the dimensions of indices that are not linear in a single
/// dimension; these must not be tiled.
struct OperandBox {
  Box box;
  llvm::SmallVector<mlir::AffineExpr> view;
  std::set<int> needsWhole;
  /// Whether no box contains the elements: an index depends on two runtime positions or two unit
  /// dimensions, depends on one of them in a way that an offset cannot express, or divides an index
  /// that is already scaled or divided.
  bool isImpossible = false;
};
OperandBox operandBox(const Edge &edge, const Node &source, const Box &domain);

/// Whether the indices at which an operand is read depend on dimension `dim` of the domain.
bool readsDim(const Edge &edge, unsigned dim);

/// Whether a product (dot_general or convolution) has rows, columns and a depth that can be tiled.
/// A depthwise convolution does not.
bool isMatmul(const Node &node);

/// Constraints that are collected by propagating boxes from the outputs to the inputs.
struct Needs {
  /// Dimensions that must not be tiled.
  std::set<int> whole;
  /// The number of elements of the largest loop nest, and the size in bytes of the widest element.
  int64_t elements = 1;
  int64_t elementBytes = 1;
  /// Dimensions along which memory accesses are contiguous, with the number of elements accessed.
  std::map<int, int64_t> contiguous;
  bool hasReduction = false;
  /// Whether an operand must be read at computed indices, but contains a reduction.
  bool isRefused = false;
  /// The number that tiles of a dimension must be a multiple of.
  std::map<int, int64_t> multiples;
  /// Dimensions whose tiles must have one element.
  std::set<int> units;
  /// The dimensions along the rows and along the columns of a matmul.
  std::set<int> rows, columns;
  /// The matmul, if matrix instructions can compute it: depth, types, and whether the copy engine
  /// can load its operands, for which the size of a row must be a multiple of 16 bytes and operands
  /// of tf32 must be contiguous along K.
  struct Product {
    int64_t depth;
    MatrixTypes types;
    bool canCopy;
    bool depthInner;   // both operands are contiguous along the contraction
    bool columnsInner; // operand in shared memory is contiguous along its columns
    /// Which operands have a prologue, and the element width of its input. That operand goes
    /// through registers; if it is only the right one, the product is computed transposed.
    bool leftHasPrologue = false, rightHasPrologue = false;
    int64_t leftBits = 0, rightBits = 0;
    /// Whether a tile should have rows along several dimensions, as for the positions of a
    /// convolution, whose dimensions are often smaller than a tile.
    bool spreadsRows = false;
    exec::Hint hint = {};
  };
  std::optional<Product> product;
};

class Tiling {
public:
  /// Finds the domain that the grid covers and how the outputs map to it. Returns nullopt and sets
  /// `reason` if no tile sizes are legal.
  static std::optional<Tiling> create(const FusionGraph &graph, const Capacities &capacities,
                                      std::string &reason);

  /// The sizes of all dimensions, and their tiles. The first `gridRank` are the dimensions of the
  /// largest output and form the grid; a point iterates over the tiles of the others in a loop.
  llvm::SmallVector<int64_t> sizes, tiles;
  int gridRank = 0;
  /// The box of each output.
  std::vector<Box> outputs;

  /// The operands that are read at computed indices, element by element, because no box has the
  /// elements that a tile needs, or only a box that is too large.
  std::set<const Edge *> computed;

  /// The dimensions that a node reduces in a loop. Maps (node, dimension of its domain) to an index
  /// into `sizes`.
  std::map<std::pair<unsigned, unsigned>, int> reductionLoops;
  /// Maps each untiled grid dimension along which the outputs are stored in a loop to an index into
  /// `sizes`.
  std::map<int, int> storeLoops;

  /// The box of a node's domain, given the box of its results; reduced dimensions follow their
  /// loops.
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
  /// The distance between the first indices of two adjacent points of the grid.
  int64_t pointStride(const Access &access) const {
    return access.follows()
               ? access.scale * (tiles[static_cast<size_t>(access.main)] / access.divisor)
               : 0;
  }

  /// Whether every index of the access provably lies in [0, size), for all points of the grid. With
  /// `keptOnly`, ignores elements outside the outputs.
  bool isInside(const Access &access, int64_t size, bool keptOnly) const;

  /// The limit of each runtime position of the graph.
  llvm::SmallVector<int64_t> positionLimits;

  /// The user's hint, if the tiles follow it; otherwise the reason why they do not.
  exec::Hint hint;
  std::string whyNotHint;

  /// Whether the tiles are for a pipelined product, which is a loop even if it has one iteration.
  bool isPipelined = false;

private:
  /// Chooses `tiles` among the legal sizes.
  bool choose(const Needs &needs, const Capacities &capacities, std::string &reason);
  void chooseForCpu(const Needs &needs, const Capacities &capacities);
  void chooseForGpu(const Needs &needs, const Capacities &capacities);
  void chooseForProduct(const Needs &needs, const Capacities &capacities);
  bool chooseByCost(const Needs &needs, const Capacities &capacities, int row, int64_t rowCount,
                    int column, int64_t blocks);
  /// Divides `count` rows of a tile among dimensions.
  void spreadRows(llvm::ArrayRef<int> dims, int64_t count);
  /// Adds loop dimensions for tiles that are too large to be held at once, and for reduced unit
  /// dimensions. Returns false if unit dimensions cannot become loops.
  bool planLoops(const FusionGraph &graph, const Capacities &capacities);
};

} // namespace tilewright::tile

#endif // TILEWRIGHT_TRANSFORM_TILE_TILING_H
