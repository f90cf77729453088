#include "tilewright/dialect/sdy/VerifySharding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tilewright::sdy;

namespace {
/// The part of an axis that a reference covers: [1, n) for a whole axis of size n, and [p, p * s)
/// for the sub-axis of pre-size p and size s.
struct AxisSpan {
  size_t axis;
  int64_t begin, end;
  AxisRefAttr ref;

  auto key() const { return std::make_tuple(axis, begin, end); }
  bool operator<(const AxisSpan &other) const { return key() < other.key(); }
};

/// Checks all axes of one sharding against one mesh.
class AxisChecker {
public:
  AxisChecker(MeshAttr mesh, EmitShardingError emitError) : mesh(mesh), emitError(emitError) {}

  /// Checks each reference of one list, and that no two adjacent references can be merged.
  LogicalResult verifyList(ArrayRef<AxisRefAttr> refs);

  /// Like verifyList, for lists whose order has no meaning; they must be in the order of the mesh.
  LogicalResult verifySortedList(StringRef name, ArrayRef<AxisRefAttr> refs);

  /// Checks that no part of an axis occurs twice in the lists seen so far.
  LogicalResult verifyDisjoint();

private:
  LogicalResult addSpan(AxisRefAttr ref);

  MeshAttr mesh;
  EmitShardingError emitError;
  SmallVector<AxisSpan> spans;
};
} // namespace

/// Formats a reference as in a sharding.
static std::string toString(AxisRefAttr ref) {
  std::string text = ("\"" + ref.getName() + "\"").str();
  if (SubAxisInfoAttr sub = ref.getSubAxisInfo())
    text += ":(" + std::to_string(sub.getPreSize()) + ")" + std::to_string(sub.getSize());
  return text;
}

LogicalResult AxisChecker::addSpan(AxisRefAttr ref) {
  std::optional<size_t> axis = mesh.findAxis(ref.getName());
  if (!axis) {
    InFlightDiagnostic diag = emitError() << "refers to axis \"" << ref.getName()
                                          << "\", which does not exist in its mesh";
    diag.attachNote() << "the mesh is " << mesh;
    return diag;
  }
  int64_t axisSize = mesh.getAxes()[*axis].getSize();
  SubAxisInfoAttr sub = ref.getSubAxisInfo();
  if (!sub) {
    spans.push_back({*axis, 1, axisSize, ref});
    return success();
  }
  std::optional<int64_t> end = llvm::checkedMul(sub.getPreSize(), sub.getSize());
  if (!end || axisSize % *end != 0)
    return emitError() << "refers to sub-axis " << toString(ref)
                       << ", whose pre-size times size must divide the size of the axis, "
                       << axisSize;
  if (sub.getSize() == axisSize)
    return emitError() << "refers to sub-axis " << toString(ref)
                       << ", which is the whole axis and must be written \"" << ref.getName()
                       << "\"";
  spans.push_back({*axis, sub.getPreSize(), *end, ref});
  return success();
}

LogicalResult AxisChecker::verifyList(ArrayRef<AxisRefAttr> refs) {
  for (size_t i = 0; i < refs.size(); ++i) {
    if (failed(addSpan(refs[i])))
      return failure();
    if (i == 0)
      continue;
    const AxisSpan &previous = spans[spans.size() - 2], &current = spans.back();
    if (previous.axis == current.axis && previous.end == current.begin &&
        previous.begin != current.begin)
      return emitError() << "refers to adjacent sub-axes " << toString(previous.ref) << " and "
                         << toString(current.ref) << ", which must be merged";
  }
  return success();
}

LogicalResult AxisChecker::verifySortedList(StringRef name, ArrayRef<AxisRefAttr> refs) {
  size_t first = spans.size();
  if (failed(verifyList(refs)))
    return failure();
  for (size_t i = first + 1; i < spans.size(); ++i)
    if (spans[i] < spans[i - 1])
      return emitError() << "must list its " << name << " axes in the order of the mesh, got "
                         << toString(spans[i].ref) << " after " << toString(spans[i - 1].ref);
  return success();
}

LogicalResult AxisChecker::verifyDisjoint() {
  llvm::sort(spans);
  for (size_t i = 1; i < spans.size(); ++i) {
    const AxisSpan &left = spans[i - 1], &right = spans[i];
    if (left.axis != right.axis)
      continue;
    if (left.ref == right.ref)
      return emitError() << "uses axis " << toString(left.ref) << " twice";
    if (left.end > right.begin)
      return emitError() << "uses " << toString(left.ref) << " and " << toString(right.ref)
                         << ", which overlap";
    // (1)2 and (3)2 of an axis of size 6: no split of the axis contains both.
    if (right.begin % left.end != 0)
      return emitError() << "uses " << toString(left.ref) << " and " << toString(right.ref)
                         << ", which do not belong to the same split of the axis";
  }
  return success();
}

MeshAttr tilewright::sdy::lookupMesh(TensorShardingAttr sharding, Operation *from,
                                     SymbolTableCollection &symbols) {
  if (auto mesh = dyn_cast<MeshAttr>(sharding.getMeshOrRef()))
    return mesh;
  auto name = cast<FlatSymbolRefAttr>(sharding.getMeshOrRef());
  auto op = symbols.lookupNearestSymbolFrom<MeshOp>(from, name.getAttr());
  return op ? op.getMesh() : MeshAttr();
}

/// Checks that no axis of `sharding` is manual in a region around `op`, because the tensors in such
/// a region are already shards along its manual axes.
static LogicalResult verifyAxesAreFree(TensorShardingAttr sharding, Operation *op,
                                       EmitShardingError emitError) {
  auto outer = op->getParentOfType<ManualComputationOp>();
  if (!outer)
    return success();
  SmallVector<AxisRefAttr> axes(sharding.getReplicatedAxes());
  llvm::append_range(axes, sharding.getUnreducedAxes());
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    llvm::append_range(axes, dim.getAxes());
  for (; outer; outer = outer->getParentOfType<ManualComputationOp>())
    for (StringAttr manual : outer.getManualAxes())
      for (AxisRefAttr axis : axes)
        if (axis.getName() == manual.getValue()) {
          InFlightDiagnostic diag = emitError()
                                    << "refers to axis \"" << axis.getName()
                                    << "\", which is already manual in an enclosing region";
          diag.attachNote(outer.getLoc()) << "the axis is in this op's manual_axes";
          return diag;
        }
  return success();
}

LogicalResult tilewright::sdy::verifySharding(TensorShardingAttr sharding, Type type, Operation *op,
                                              SymbolTableCollection &symbols,
                                              EmitShardingError emitError) {
  MeshAttr mesh = lookupMesh(sharding, op, symbols);
  if (!mesh)
    return emitError() << "refers to mesh " << sharding.getMeshOrRef()
                       << ", which is not an sdy.mesh of this module";

  if (mesh.isMaximal()) {
    if (sharding.getRank() != 0 || !sharding.hasNoAxes())
      return emitError() << "on a single-device mesh must have no dimensions and no axes, got "
                         << sharding;
    return success();
  }

  // JAX wraps the result of some custom calls in a tuple of one element.
  if (auto tuple = dyn_cast<TupleType>(type); tuple && tuple.size() == 1)
    type = tuple.getType(0);
  if (isa<UnrankedTensorType>(type))
    return emitError() << "requires a ranked tensor, got " << type;
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t rank = tensor ? tensor.getRank() : 0;
  if (static_cast<int64_t>(sharding.getRank()) != rank)
    return emitError() << "must have one dimension sharding for each dimension of " << type
                       << ", got " << sharding.getRank() << " for " << rank;
  if (!tensor && !sharding.hasNoAxes())
    return emitError() << "must not have axes, because " << type << " is not a ranked tensor, got "
                       << sharding;

  AxisChecker checker(mesh, emitError);
  for (DimensionShardingAttr dim : sharding.getDimShardings())
    if (failed(checker.verifyList(dim.getAxes())))
      return failure();
  if (failed(checker.verifySortedList("replicated", sharding.getReplicatedAxes())) ||
      failed(checker.verifySortedList("unreduced", sharding.getUnreducedAxes())) ||
      failed(checker.verifyDisjoint()))
    return failure();
  return verifyAxesAreFree(sharding, op, emitError);
}

LogicalResult tilewright::sdy::verifyShardings(TensorShardingPerValueAttr attr, TypeRange types,
                                               StringRef kind, Operation *op,
                                               SymbolTableCollection &symbols) {
  ArrayRef<TensorShardingAttr> shardings = attr.getShardings();
  // An op without results can still have a sharding, which assigns the op to a device.
  bool placesOpWithoutValues = types.empty() && shardings.size() == 1 &&
                               shardings[0].getRank() == 0 && shardings[0].hasNoAxes();
  if (placesOpWithoutValues) {
    if (!lookupMesh(shardings[0], op, symbols))
      return op->emitOpError() << "sharding refers to mesh " << shardings[0].getMeshOrRef()
                               << ", which is not an sdy.mesh of this module";
    return success();
  }
  if (shardings.size() != types.size())
    return op->emitOpError() << "must have one sharding for each " << kind << ", got "
                             << shardings.size() << " shardings for " << types.size() << " " << kind
                             << "s";
  for (auto [index, sharding, type] : llvm::enumerate(shardings, types)) {
    auto emitError = [&, index = index] {
      return op->emitOpError() << kind << " " << index << " sharding ";
    };
    if (failed(verifySharding(sharding, type, op, symbols, emitError)))
      return failure();
  }
  return success();
}
