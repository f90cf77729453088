// Verifiers of sdy attributes that need no symbol table, and queries on these attributes.
#include "tilewright/dialect/sdy/FactorNames.h"
#include "tilewright/dialect/sdy/SdyDialect.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tilewright::sdy;

using EmitError = function_ref<InFlightDiagnostic()>;

//===----------------------------------------------------------------------===//
// Meshes and axes
//===----------------------------------------------------------------------===//

/// Product of the axis sizes, or nullopt on overflow.
static std::optional<int64_t> countDevices(ArrayRef<MeshAxisAttr> axes) {
  int64_t devices = 1;
  for (MeshAxisAttr axis : axes) {
    std::optional<int64_t> product = llvm::checkedMul(devices, axis.getSize());
    if (!product)
      return std::nullopt;
    devices = *product;
  }
  return devices;
}

LogicalResult MeshAxisAttr::verify(EmitError emitError, StringRef name, int64_t size) {
  if (size < 1)
    return emitError() << "the size of mesh axis \"" << name << "\" must be at least 1, got "
                       << size;
  return success();
}

/// Checks that explicit device ids are the numbers 0 to n-1 in some order.
static LogicalResult verifyDeviceIds(EmitError emitError, int64_t devices,
                                     ArrayRef<int64_t> deviceIds) {
  if (static_cast<int64_t>(deviceIds.size()) != devices)
    return emitError() << "mesh must have one device id for each device, got " << deviceIds.size()
                       << " ids for " << devices << " devices";
  llvm::BitVector seen(deviceIds.size());
  for (int64_t id : deviceIds) {
    if (id < 0 || id >= devices)
      return emitError() << "device ids of a mesh of " << devices << " devices must be in [0, "
                         << devices << "), got " << id;
    if (seen.test(id))
      return emitError() << "each device id must occur once in a mesh, got " << id << " twice";
    seen.set(id);
  }
  return success();
}

LogicalResult MeshAttr::verify(EmitError emitError, ArrayRef<MeshAxisAttr> axes,
                               ArrayRef<int64_t> deviceIds) {
  if (axes.empty()) {
    if (deviceIds.size() > 1)
      return emitError() << "a mesh without axes must have at most one device id, got "
                         << deviceIds.size();
    if (!deviceIds.empty() && deviceIds.front() < 0)
      return emitError() << "a device id must not be negative, got " << deviceIds.front();
    return success();
  }
  if (axes.size() > maxAxes)
    return emitError() << "a mesh must have at most " << maxAxes << " axes, got " << axes.size();
  llvm::StringSet<> names;
  for (MeshAxisAttr axis : axes)
    if (!names.insert(axis.getName()).second)
      return emitError() << "the axes of a mesh must have unique names, got \"" << axis.getName()
                         << "\" twice";
  std::optional<int64_t> devices = countDevices(axes);
  if (!devices)
    return emitError() << "the number of devices of a mesh must fit in 63 bits";
  if (deviceIds.empty())
    return success();
  return verifyDeviceIds(emitError, *devices, deviceIds);
}

bool MeshAttr::isInOrder(ArrayRef<MeshAxisAttr> axes, ArrayRef<int64_t> deviceIds) {
  if (axes.empty() || countDevices(axes) != static_cast<int64_t>(deviceIds.size()))
    return false;
  return llvm::all_of(llvm::enumerate(deviceIds), [](auto entry) {
    return entry.value() == static_cast<int64_t>(entry.index());
  });
}

std::optional<size_t> MeshAttr::findAxis(StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(getAxes()))
    if (axis.getName() == name)
      return index;
  return std::nullopt;
}

LogicalResult SubAxisInfoAttr::verify(EmitError emitError, int64_t preSize, int64_t size) {
  if (preSize < 1)
    return emitError() << "the pre-size of a sub-axis must be at least 1, got (" << preSize << ")"
                       << size;
  if (size < 2)
    return emitError() << "the size of a sub-axis must be at least 2, got (" << preSize << ")"
                       << size;
  return success();
}

int64_t AxisRefAttr::getSize(MeshAttr mesh) const {
  if (SubAxisInfoAttr sub = getSubAxisInfo())
    return sub.getSize();
  std::optional<size_t> axis = mesh.findAxis(getName());
  assert(axis && "the axis is not in the mesh");
  return mesh.getAxes()[*axis].getSize();
}

LogicalResult ManualAxesAttr::verify(EmitError emitError, ArrayRef<StringAttr> axes) {
  if (axes.size() > MeshAttr::maxAxes)
    return emitError() << "at most " << MeshAttr::maxAxes << " axes can be manual, got "
                       << axes.size();
  llvm::StringSet<> names;
  for (StringAttr axis : axes)
    if (!names.insert(axis.getValue()).second)
      return emitError() << "manual axes must be unique, got \"" << axis.getValue() << "\" twice";
  return success();
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

LogicalResult DimensionShardingAttr::verify(EmitError emitError, ArrayRef<AxisRefAttr> axes,
                                            bool isClosed, std::optional<int64_t> priority) {
  if (priority && *priority < 0)
    return emitError() << "the priority of a dimension sharding must not be negative, got "
                       << *priority;
  if (priority && isClosed && axes.empty())
    return emitError() << "a closed dimension sharding without axes must not have a priority, got p"
                       << *priority;
  return success();
}

LogicalResult TensorShardingAttr::verify(EmitError emitError, Attribute meshOrRef,
                                         ArrayRef<DimensionShardingAttr> dims,
                                         ArrayRef<AxisRefAttr> replicated,
                                         ArrayRef<AxisRefAttr> unreduced, Reduction reduction) {
  if (!isa_and_nonnull<MeshAttr, FlatSymbolRefAttr>(meshOrRef))
    return emitError() << "sharding must refer to a mesh or to the name of a mesh, got "
                       << meshOrRef;
  // A number read from a file is not necessarily a value of the enum.
  if (!symbolizeReduction(static_cast<uint32_t>(reduction)))
    return emitError() << "reduction must be 0 (sum), 1 (max) or 2 (min), got "
                       << static_cast<uint32_t>(reduction);
  if (unreduced.empty() && reduction != Reduction::Sum)
    return emitError() << "only a sharding with unreduced axes can have a reduction, got '"
                       << stringifyReduction(reduction) << "' and no unreduced axes";
  return success();
}

bool TensorShardingAttr::hasNoAxes() const {
  return getReplicatedAxes().empty() && getUnreducedAxes().empty() &&
         llvm::all_of(getDimShardings(),
                      [](DimensionShardingAttr dim) { return dim.getAxes().empty(); });
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

LogicalResult DimMappingAttr::verify(EmitError emitError, ArrayRef<int64_t> factors) {
  if (factors.empty())
    return emitError() << "a dimension must be mapped to at least one factor, got none";
  return success();
}

namespace {
/// Checks the parts of a sharding rule against its list of factors.
class RuleChecker {
public:
  RuleChecker(EmitError emitError, ArrayRef<int64_t> factorSizes)
      : emitError(emitError), sizes(factorSizes) {}

  /// Checks the mappings of all operands or all results (`kind`), and adds their factors to `used`.
  LogicalResult verifyMappings(StringRef kind, ArrayRef<TensorMappingAttr> mappings,
                               llvm::BitVector &used) const {
    if (mappings.empty())
      return emitError() << "a sharding rule must have at least one " << kind
                         << " mapping, got none";
    for (auto [index, mapping] : llvm::enumerate(mappings)) {
      llvm::DenseSet<int64_t> usedHere;
      for (DimMappingAttr dim : mapping.getDimMappings())
        for (int64_t factor : dim.getFactorIndices()) {
          if (failed(verifyInRange(factor)))
            return failure();
          if (!usedHere.insert(factor).second)
            return emitError() << kind << " mapping " << index
                               << " must use each factor once, got '" << factorName(factor)
                               << "' twice";
          if (sizes[factor] == 1 && dim.getFactorIndices().size() > 1)
            return emitError()
                   << "a dimension with several factors must not have a factor of size 1, got '"
                   << factorName(factor) << "' in " << kind << " mapping " << index;
          used.set(factor);
        }
    }
    return success();
  }

  /// Checks that `group` is strictly increasing and in range.
  LogicalResult verifyGroup(StringRef name, ArrayRef<int64_t> group) const {
    for (size_t i = 0; i < group.size(); ++i) {
      if (failed(verifyInRange(group[i])))
        return failure();
      if (i > 0 && group[i - 1] >= group[i])
        return emitError() << name << " factors must be strictly increasing, got '"
                           << factorName(group[i]) << "' after '" << factorName(group[i - 1])
                           << "'";
    }
    return success();
  }

private:
  LogicalResult verifyInRange(int64_t factor) const {
    if (factor < 0 || factor >= static_cast<int64_t>(sizes.size()))
      return emitError() << "factor '" << factorName(factor) << "' has no size; the rule has "
                         << sizes.size() << " factor sizes";
    return success();
  }

  EmitError emitError;
  ArrayRef<int64_t> sizes;
};
} // namespace

LogicalResult OpShardingRuleAttr::verify(EmitError emitError, ArrayRef<int64_t> factorSizes,
                                         ArrayRef<TensorMappingAttr> operandMappings,
                                         ArrayRef<TensorMappingAttr> resultMappings,
                                         ArrayRef<int64_t> reductionFactors,
                                         ArrayRef<int64_t> needReplicationFactors,
                                         ArrayRef<int64_t> permutationFactors,
                                         ArrayRef<int64_t> blockedPropagationFactors, bool) {
  RuleChecker checker(emitError, factorSizes);
  llvm::BitVector used(factorSizes.size()), inResults(factorSizes.size());
  if (failed(checker.verifyMappings("operand", operandMappings, used)) ||
      failed(checker.verifyMappings("result", resultMappings, inResults)))
    return failure();
  used |= inResults;
  for (auto [factor, size] : llvm::enumerate(factorSizes)) {
    // JAX writes a factor of size 0 for a dimension of size 0, as in a matrix without rows.
    if (size < 0)
      return emitError() << "the size of a factor must not be negative, got " << factorName(factor)
                         << "=" << size;
    if (!used.test(factor))
      return emitError() << "each factor must be used in a mapping, but " << factorName(factor)
                         << "=" << size << " is unused";
  }

  llvm::BitVector grouped(factorSizes.size());
  std::pair<StringRef, ArrayRef<int64_t>> exclusive[] = {
      {"reduction", reductionFactors},
      {"need_replication", needReplicationFactors},
      {"permutation", permutationFactors}};
  for (auto [name, group] : exclusive) {
    if (failed(checker.verifyGroup(name, group)))
      return failure();
    for (int64_t factor : group) {
      if (grouped.test(factor))
        return emitError() << "a factor must be in at most one of reduction, need_replication and "
                              "permutation, got '"
                           << factorName(factor) << "' again in " << name;
      grouped.set(factor);
    }
  }
  if (failed(checker.verifyGroup("blocked_propagation", blockedPropagationFactors)))
    return failure();
  for (int64_t factor : reductionFactors)
    if (inResults.test(factor))
      return emitError() << "a reduction factor must not be in a result mapping, got '"
                         << factorName(factor) << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// Parameters of collectives
//===----------------------------------------------------------------------===//

LogicalResult AllToAllParamAttr::verify(EmitError emitError, ArrayRef<AxisRefAttr> axes,
                                        int64_t source, int64_t target) {
  if (axes.empty())
    return emitError() << "an all-to-all parameter must move at least one axis, got none";
  if (source < 0 || target < 0 || source == target)
    return emitError() << "an all-to-all parameter must move axes between two different "
                          "non-negative dimensions, got "
                       << source << " and " << target;
  return success();
}
