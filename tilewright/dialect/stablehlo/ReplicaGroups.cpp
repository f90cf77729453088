#include "tilewright/dialect/stablehlo/ReplicaGroups.h"
#include "tilewright/dialect/stablehlo/StablehloAttrs.h"
#include "tilewright/dialect/stablehlo/verify/VerifyRules.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tilewright::stablehlo;

using GroupSize = std::optional<int64_t>;

/// Checks groups given as axes of a mesh and multiplies the axes' sizes.
static FailureOr<GroupSize> verifyMeshAxes(Operation *op, ReplicaGroupMeshAxesAttr groups) {
  auto mesh = dyn_cast<MeshAttr>(groups.getMesh());
  if (!mesh)
    return GroupSize();
  // Bounded, because each axis is looked up by a linear search.
  constexpr size_t maxAxes = 64;
  if (mesh.getAxes().size() > maxAxes || groups.getAxes().size() > maxAxes)
    return op->emitOpError() << "mesh of replica_groups must have at most " << maxAxes
                             << " axes, got "
                             << std::max(mesh.getAxes().size(), groups.getAxes().size());
  int64_t product = 1;
  for (auto axis : groups.getAxes().getAsRange<AxisRefAttr>()) {
    auto found = llvm::find_if(
        mesh.getAxes(), [&](MeshAxisAttr other) { return other.getName() == axis.getName(); });
    if (found == mesh.getAxes().end()) {
      InFlightDiagnostic diag = op->emitOpError()
                                << "replica_groups must refer to axes of their mesh, got \""
                                << axis.getName() << "\"";
      diag.attachNote() << "the mesh is " << mesh;
      return diag;
    }
    SubAxisInfoAttr sub = axis.getSubAxisInfo();
    int64_t size = sub ? sub.getSize() : found->getSize();
    std::optional<int64_t> next = llvm::checkedMul(product, size);
    if (size < 1 || !next)
      return op->emitOpError() << "axes of replica_groups must have at least one process, and "
                                  "their product must fit in 63 bits, got axis \""
                               << axis.getName() << "\" of size " << size;
    product = *next;
  }
  return GroupSize(product);
}

FailureOr<GroupSize> tilewright::stablehlo::verifyReplicaGroups(Operation *op, Attribute groups,
                                                                GroupRules rules) {
  if (auto axes = dyn_cast<ReplicaGroupMeshAxesAttr>(groups))
    return verifyMeshAxes(op, axes);
  auto table = cast<DenseIntElementsAttr>(groups);
  ArrayRef<int64_t> shape = table.getType().getShape();
  if (shape.size() != 2)
    return op->emitOpError() << "replica_groups must have rank 2, one row for each group, got "
                             << table.getType();
  if (llvm::is_contained(shape, 0))
    return GroupSize();
  bool isOneId = shape[0] == 1 && shape[1] == 1;
  // A splat may represent too many entries to iterate over.
  if (table.isSplat() && !isOneId)
    return op->emitOpError() << "replica_groups must have unique ids, got "
                             << table.getSplatValue<int64_t>() << " in all entries";

  SmallVector<int64_t> ids;
  for (int64_t id : table.getValues<int64_t>()) {
    if (id == -1 && rules != GroupRules::equalAndComplete)
      continue; // padding
    if (id < 0)
      return op->emitOpError() << "ids in replica_groups must not be negative, got " << id;
    ids.push_back(id);
  }
  if (failed(verifyUnique(op, "ids in replica_groups", ids)))
    return failure();
  if (rules != GroupRules::any)
    for (int64_t id : ids)
      if (id >= static_cast<int64_t>(ids.size())) {
        InFlightDiagnostic diag = op->emitOpError() << "replica_groups of " << ids.size()
                                                    << " processes must have ids in [0, "
                                                    << ids.size() << "), got " << id;
        diag.attachNote() << "each process must be in exactly one group";
        return diag;
      }
  bool isPadded = static_cast<int64_t>(ids.size()) != shape[0] * shape[1];
  return isPadded ? GroupSize() : GroupSize(shape[1]);
}

LogicalResult tilewright::stablehlo::verifySourceTargetPairs(Operation *op,
                                                             DenseIntElementsAttr pairs) {
  ArrayRef<int64_t> shape = pairs.getType().getShape();
  if (shape.size() != 2 || shape[1] != 2)
    return op->emitOpError() << "source_target_pairs must have shape [n, 2], got "
                             << shapeText(shape);
  if (pairs.isSplat() && shape[0] > 1)
    return op->emitOpError() << "sources in source_target_pairs must be unique, got "
                             << pairs.getSplatValue<int64_t>() << " in all entries";
  SmallVector<int64_t> sources, targets;
  for (auto [index, id] : llvm::enumerate(pairs.getValues<int64_t>())) {
    if (id < 0)
      return op->emitOpError() << "ids in source_target_pairs must not be negative, got " << id;
    (index % 2 == 0 ? sources : targets).push_back(id);
  }
  if (failed(verifyUnique(op, "sources in source_target_pairs", sources)))
    return failure();
  return verifyUnique(op, "targets in source_target_pairs", targets);
}
