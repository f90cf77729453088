// The sdy dialect: shardings, and regions written per device.
#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/interpret/Evaluation.h"
#include "tilewright/interpret/Mesh.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/kernels/Movement.h"
#include "tilewright/interpret/kernels/StridedCopy.h"
#include "tilewright/support/Concat.h"

#include "llvm/ADT/STLExtras.h"

namespace tilewright::interpret {

/// The mesh that a sharding lies on, as the module defines it.
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

static Result<Mesh> meshOf(sdy::MeshAttr attribute) {
  // A mesh without axes is one device, whatever its number.
  if (attribute.getAxes().empty())
    return Mesh::create({}, {});
  std::vector<Mesh::Axis> axes;
  for (sdy::MeshAxisAttr axis : attribute.getAxes())
    axes.push_back({axis.getName().str(), axis.getSize()});
  return Mesh::create(std::move(axes), attribute.getDeviceIds().vec());
}

namespace {
/// How one tensor is cut over the manual axes: for each dimension, the axes
/// that cut it. Axes that are not manual leave the tensor whole.
using Cut = std::vector<std::vector<Mesh::AxisRef>>;

/// A `manual_computation` with its attributes resolved.
struct ManualComputation {
  Mesh mesh;
  std::vector<Cut> inputs, outputs;
};
} // namespace

static Result<Cut> cutOf(sdy::TensorShardingAttr sharding, const Mesh &mesh,
                         llvm::ArrayRef<mlir::StringAttr> manualAxes) {
  auto isManual = [&](llvm::StringRef name) {
    return llvm::any_of(manualAxes, [&](mlir::StringAttr axis) { return axis.getValue() == name; });
  };
  for (sdy::AxisRefAttr axis : sharding.getUnreducedAxes())
    if (isManual(axis.getName()))
      return Status(Error::interpretOp, "a result that is unreduced over a manual axis has no "
                                        "value to join");
  Cut cut;
  for (sdy::DimensionShardingAttr dimension : sharding.getDimShardings()) {
    cut.emplace_back();
    for (sdy::AxisRefAttr axis : dimension.getAxes()) {
      if (!isManual(axis.getName()))
        continue;
      const std::string name = axis.getName().str();
      sdy::SubAxisInfoAttr factor = axis.getSubAxisInfo();
      TILEWRIGHT_ASSIGN(Mesh::AxisRef ref,
                        factor ? mesh.axis(name, factor.getPreSize(), factor.getSize())
                               : mesh.axis(name));
      cut.back().push_back(ref);
    }
  }
  return cut;
}

static Result<ManualComputation> resolve(sdy::ManualComputationOp op, OpCall &call) {
  llvm::SmallVector<sdy::TensorShardingAttr> shardings(op.getInShardings().getShardings());
  llvm::append_range(shardings, op.getOutShardings().getShardings());
  std::optional<sdy::MeshAttr> meshAttr;
  for (sdy::TensorShardingAttr sharding : shardings) {
    TILEWRIGHT_ASSIGN(sdy::MeshAttr here, meshAttrOf(sharding, call));
    // Shardings without axes may name a mesh of their own; one with axes decides.
    if (!meshAttr || meshAttr->getAxes().empty())
      meshAttr = here;
  }
  TILEWRIGHT_ASSIGN(Mesh mesh, meshAttr ? meshOf(*meshAttr) : Mesh::create({}, {}));
  ManualComputation computation{std::move(mesh), {}, {}};
  llvm::ArrayRef<mlir::StringAttr> axes = op.getManualAxes();
  for (sdy::TensorShardingAttr sharding : op.getInShardings().getShardings()) {
    TILEWRIGHT_ASSIGN(Cut cut, cutOf(sharding, computation.mesh, axes));
    computation.inputs.push_back(std::move(cut));
  }
  for (sdy::TensorShardingAttr sharding : op.getOutShardings().getShardings()) {
    TILEWRIGHT_ASSIGN(Cut cut, cutOf(sharding, computation.mesh, axes));
    computation.outputs.push_back(std::move(cut));
  }
  return computation;
}

/// The piece of a tensor that lies on `device`.
static Result<RuntimeValue> pieceOf(const RuntimeValue &value, const Cut &cut, const Mesh &mesh,
                                    int64_t device, Context &context) {
  if (!value.isTensor())
    return value;
  const Tensor &tensor = value.tensor();
  std::vector<int64_t> start, sizes;
  for (int64_t dim = 0; dim < tensor.rank(); ++dim) {
    int64_t pieces = 1, size = tensor.shape()[dim];
    for (const Mesh::AxisRef &ref : cut[static_cast<size_t>(dim)])
      pieces *= ref.size;
    if (size % pieces != 0)
      return Status(Error::interpretShape, concat("dimension ", dim, " of size ", size,
                                                  " cannot be cut into ", pieces, " pieces"));
    sizes.push_back(size / pieces);
    start.push_back(mesh.positionAlong(cut[static_cast<size_t>(dim)], device) * sizes.back());
  }
  TILEWRIGHT_ASSIGN(Tensor piece, dynamicSlice(tensor, start, sizes, context));
  return RuntimeValue(std::move(piece));
}

/// The whole tensor from the pieces of all devices, by device.
static Result<RuntimeValue> joined(const std::vector<RuntimeValues> &pieces, size_t result,
                                   const Cut &cut, const Mesh &mesh, Context &context) {
  if (!pieces.front()[result].isTensor())
    return pieces.front()[result];
  const Tensor &first = pieces.front()[result].tensor();
  std::vector<int64_t> dims(first.shape().dims().begin(), first.shape().dims().end());
  for (size_t dim = 0; dim < dims.size(); ++dim)
    for (const Mesh::AxisRef &ref : cut[dim])
      dims[dim] *= ref.size;
  TILEWRIGHT_ASSIGN(Shape shape, Shape::create(dims));
  TILEWRIGHT_TRY(context.countSteps(shape.elementCount()));
  TILEWRIGHT_ASSIGN(Tensor whole, Tensor::allocate(first.type(), std::move(shape), context));
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    const Tensor &piece = pieces[static_cast<size_t>(device)][result].tensor();
    StridedBox target{0, whole.shape().strides()};
    for (size_t dim = 0; dim < dims.size(); ++dim)
      target.offset += mesh.positionAlong(cut[dim], device) *
                       piece.shape()[static_cast<int64_t>(dim)] * target.strides[dim];
    copyStrided({piece.shape().dims().begin(), piece.shape().dims().end()}, piece.data(),
                {0, piece.shape().strides()}, whole.mutableData(), target, piece.elementBytes());
  }
  return RuntimeValue(std::move(whole));
}

/// Runs the body as one device: cuts its pieces of the operands.
static Result<RuntimeValues> runDevice(sdy::ManualComputationOp op,
                                       const ManualComputation &computation,
                                       const RuntimeValues &operands, Evaluation &evaluation,
                                       Frame &frame) {
  RuntimeValues pieces;
  for (size_t i = 0; i < operands.size(); ++i) {
    TILEWRIGHT_ASSIGN(RuntimeValue piece,
                      pieceOf(operands[i], computation.inputs[i], computation.mesh,
                              evaluation.rank.number, evaluation.context));
    pieces.push_back(std::move(piece));
  }
  return evaluation.run(op.getBody(), std::move(pieces), frame);
}

static Status evaluateManualComputation(sdy::ManualComputationOp op, OpCall &call) {
  TILEWRIGHT_ASSIGN(ManualComputation computation, resolve(op, call));
  const int64_t devices = computation.mesh.deviceCount();
  const Rank &rank = call.evaluation.rank;
  std::vector<RuntimeValues> pieces;
  if (rank.world->grid().count() == devices) {
    // Every device is here already, as in a computation within another one.
    TILEWRIGHT_ASSIGN(RuntimeValues mine,
                      runDevice(op, computation, call.operands, call.evaluation, call.frame));
    std::vector<int64_t> everybody;
    for (int64_t device = 0; device < devices; ++device)
      everybody.push_back(device);
    TILEWRIGHT_ASSIGN(pieces, rank.world->exchange(op, everybody, rank.number, std::move(mine),
                                                   "'sdy.manual_computation'"));
  } else if (rank.world->grid().count() == 1) {
    World world(RankGrid{1, devices});
    TILEWRIGHT_ASSIGN(pieces, world.run([&](int64_t device) {
      Evaluation evaluation(call.evaluation.program, call.context(), Rank{&world, device});
      Frame frame{call.frame.plan, RuntimeValues(call.frame.plan.slotCount())};
      return runDevice(op, computation, call.operands, evaluation, frame);
    }));
  } else {
    return Status(Error::interpretGroups,
                  concat("the mesh has ", devices, " devices, but the program runs on ",
                         rank.world->grid().count(), " ranks; use one or as many as the mesh"));
  }
  for (size_t i = 0; i < op->getNumResults(); ++i) {
    TILEWRIGHT_ASSIGN(RuntimeValue value,
                      joined(pieces, i, computation.outputs[i], computation.mesh, call.context()));
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
}

} // namespace tilewright::interpret
