// The sdy dialect: shardings, and manual computations, whose bodies run per device.
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/kernels/Movement.h"
#include "tilewright/interpret/kernels/StridedCopy.h"
#include "tilewright/numerics/Mesh.h"
#include "tilewright/support/Concat.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright::interpret {

using numerics::AxisRef;
using numerics::MeshCoordinates;

/// Looks up the mesh that a sharding refers to in the module.
static Result<sdy::MeshAttr> meshAttrOf(sdy::TensorShardingAttr sharding, OpCall &call) {
  if (auto mesh = llvm::dyn_cast<sdy::MeshAttr>(sharding.getMeshOrRef()))
    return mesh;
  auto symbol = llvm::cast<mlir::FlatSymbolRefAttr>(sharding.getMeshOrRef());
  auto op = call.evaluation.program.symbols.lookup<sdy::MeshOp>(symbol.getValue());
  if (!op)
    return Status(Error::interpretGroups,
                  concat("the module has no mesh named '", symbol.getValue().str(), "'"));
  return op.getMesh();
}

static Result<MeshCoordinates> meshOf(sdy::MeshAttr attribute) {
  // A mesh without axes is a single device, whatever its id.
  if (attribute.getAxes().empty())
    return MeshCoordinates::create({}, {});
  std::vector<numerics::MeshAxis> axes;
  for (sdy::MeshAxisAttr axis : attribute.getAxes())
    axes.push_back({axis.getName().str(), axis.getSize()});
  return MeshCoordinates::create(std::move(axes), attribute.getDeviceIds().vec());
}

namespace {
/// The sharding of one tensor over the manual axes: for each dimension, the axes that shard it. All
/// other axes are ignored.
using Sharding = std::vector<std::vector<AxisRef>>;

/// A `manual_computation` with its attributes resolved.
struct ManualComputation {
  MeshCoordinates mesh;
  std::vector<Sharding> inputs, outputs;
};
} // namespace

static Result<Sharding> shardingOf(sdy::TensorShardingAttr attr, const MeshCoordinates &mesh,
                                   llvm::ArrayRef<mlir::StringAttr> manualAxes) {
  auto isManual = [&](llvm::StringRef name) {
    return llvm::any_of(manualAxes, [&](mlir::StringAttr axis) { return axis.getValue() == name; });
  };
  for (sdy::AxisRefAttr axis : attr.getUnreducedAxes())
    if (isManual(axis.getName()))
      return Status(Error::interpretOp,
                    "a result that is unreduced over a manual axis cannot be gathered");
  Sharding sharding;
  for (sdy::DimensionShardingAttr dimension : attr.getDimShardings()) {
    sharding.emplace_back();
    for (sdy::AxisRefAttr axis : dimension.getAxes()) {
      if (!isManual(axis.getName()))
        continue;
      const std::string name = axis.getName().str();
      sdy::SubAxisInfoAttr factor = axis.getSubAxisInfo();
      TILEWRIGHT_ASSIGN(AxisRef ref,
                        factor ? mesh.mesh().axis(name, factor.getPreSize(), factor.getSize())
                               : mesh.mesh().axis(name));
      sharding.back().push_back(ref);
    }
  }
  return sharding;
}

static Result<ManualComputation> resolve(sdy::ManualComputationOp op, OpCall &call) {
  llvm::SmallVector<sdy::TensorShardingAttr> shardings(op.getInShardings().getShardings());
  llvm::append_range(shardings, op.getOutShardings().getShardings());
  std::optional<sdy::MeshAttr> meshAttr;
  for (sdy::TensorShardingAttr attr : shardings) {
    TILEWRIGHT_ASSIGN(sdy::MeshAttr here, meshAttrOf(attr, call));
    // Shardings without axes may refer to a different mesh, so prefer a mesh with axes.
    if (!meshAttr || meshAttr->getAxes().empty())
      meshAttr = here;
  }
  TILEWRIGHT_ASSIGN(MeshCoordinates mesh,
                    meshAttr ? meshOf(*meshAttr) : MeshCoordinates::create({}, {}));
  ManualComputation computation{std::move(mesh), {}, {}};
  llvm::ArrayRef<mlir::StringAttr> axes = op.getManualAxes();
  for (sdy::TensorShardingAttr attr : op.getInShardings().getShardings()) {
    TILEWRIGHT_ASSIGN(Sharding sharding, shardingOf(attr, computation.mesh, axes));
    computation.inputs.push_back(std::move(sharding));
  }
  for (sdy::TensorShardingAttr attr : op.getOutShardings().getShardings()) {
    TILEWRIGHT_ASSIGN(Sharding sharding, shardingOf(attr, computation.mesh, axes));
    computation.outputs.push_back(std::move(sharding));
  }
  return computation;
}

/// The shard of a tensor on `device`.
static Result<RuntimeValue> shardOf(const RuntimeValue &value, const Sharding &sharding,
                                    const MeshCoordinates &mesh, int64_t device, Context &context) {
  if (!value.isTensor())
    return value;
  const Tensor &tensor = value.tensor();
  std::vector<int64_t> start, sizes;
  for (int64_t dim = 0; dim < tensor.rank(); ++dim) {
    int64_t shards = 1, size = tensor.shape()[dim];
    for (const AxisRef &ref : sharding[static_cast<size_t>(dim)])
      shards *= ref.size;
    if (size % shards != 0)
      return Status(Error::interpretShape,
                    concat("dimension ", dim, " of size ", size, " is not divisible by ", shards,
                           ", its number of shards"));
    sizes.push_back(size / shards);
    start.push_back(mesh.along(sharding[static_cast<size_t>(dim)], device) * sizes.back());
  }
  TILEWRIGHT_ASSIGN(Tensor shard, dynamicSlice(tensor, start, sizes, context));
  return RuntimeValue(std::move(shard));
}

/// Gathers the global tensor from the shards of all devices, by device.
static Result<RuntimeValue> gatherShards(const std::vector<RuntimeValues> &shards, size_t result,
                                         const Sharding &sharding, const MeshCoordinates &mesh,
                                         Context &context) {
  if (!shards.front()[result].isTensor())
    return shards.front()[result];
  const Tensor &first = shards.front()[result].tensor();
  std::vector<int64_t> dims(first.shape().dims().begin(), first.shape().dims().end());
  for (size_t dim = 0; dim < dims.size(); ++dim)
    for (const AxisRef &ref : sharding[dim])
      dims[dim] *= ref.size;
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor global, Tensor::allocate(first.type(), std::move(shape), context));
  for (int64_t device = 0; device < mesh.ranks(); ++device) {
    const Tensor &shard = shards[static_cast<size_t>(device)][result].tensor();
    StridedBox target{0, global.shape().strides()};
    for (size_t dim = 0; dim < dims.size(); ++dim)
      target.offset += mesh.along(sharding[dim], device) *
                       shard.shape()[static_cast<int64_t>(dim)] * target.strides[dim];
    copyStrided({shard.shape().dims().begin(), shard.shape().dims().end()}, shard.data(),
                {0, shard.shape().strides()}, global.mutableData(), target, shard.elementBytes());
  }
  return RuntimeValue(std::move(global));
}

/// Runs the body as one device, on its shards of the operands.
static Result<RuntimeValues> runDevice(sdy::ManualComputationOp op,
                                       const ManualComputation &computation,
                                       const RuntimeValues &operands, Evaluation &evaluation,
                                       Frame &frame) {
  RuntimeValues shards;
  for (size_t i = 0; i < operands.size(); ++i) {
    TILEWRIGHT_ASSIGN(RuntimeValue shard,
                      shardOf(operands[i], computation.inputs[i], computation.mesh,
                              evaluation.rank.number, evaluation.context));
    shards.push_back(std::move(shard));
  }
  return evaluation.run(op.getBody(), std::move(shards), frame);
}

static Status evaluateManualComputation(sdy::ManualComputationOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(ManualComputation computation, resolve(op, call));
  const int64_t devices = computation.mesh.ranks();
  const Rank &rank = call.evaluation.rank;
  std::vector<RuntimeValues> shards;
  if (rank.world->grid().count() == devices) {
    // In a nested manual computation, all devices are already running.
    TILEWRIGHT_ASSIGN(RuntimeValues mine,
                      runDevice(op, computation, call.operands, call.evaluation, call.frame));
    std::vector<int64_t> allDevices;
    for (int64_t device = 0; device < devices; ++device)
      allDevices.push_back(device);
    TILEWRIGHT_ASSIGN(shards, rank.world->exchange(op, allDevices, rank.number, std::move(mine),
                                                   "'sdy.manual_computation'"));
  } else if (rank.world->grid().count() == 1) {
    World world(RankGrid{1, devices});
    TILEWRIGHT_ASSIGN(shards, world.run([&](int64_t device) {
      Evaluation evaluation(call.evaluation.program, call.context(), Rank{&world, device});
      Frame frame{call.frame.plan, RuntimeValues(call.frame.plan.slotCount())};
      return runDevice(op, computation, call.operands, evaluation, frame);
    }));
  } else {
    return Status(Error::interpretGroups,
                  concat("the mesh has ", devices, " devices, but the program runs on ",
                         rank.world->grid().count(),
                         " ranks; use 1 rank, or as many as the mesh has devices"));
  }
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    TILEWRIGHT_ASSIGN(RuntimeValue value, gatherShards(shards, i, computation.outputs[i],
                                                       computation.mesh, call.context()));
    call.results.push_back(std::move(value));
  }
  return Status();
}

void addShardingHandlers(HandlerTable &table) {
  add<sdy::ManualComputationOp, evaluateManualComputation>(table);
  add<sdy::ShardingConstraintOp>(table, [](sdy::ShardingConstraintOp op, OpCall &call) {
    call.results = std::move(call.operands);
    return Status();
  });
  add<sdy::ShardingGroupOp>(table, [](sdy::ShardingGroupOp, OpCall &) { return Status(); });
}

} // namespace tilewright::interpret
