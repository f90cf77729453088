#include "tilewright/transform/distribute/RankMesh.h"

#include "tilewright/dialect/sdy/SdyDialect.h"
#include "tilewright/support/Concat.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright::distribute {

/// The sdy.mesh with as many devices as partitions and the most axes; without axes if there is
/// none.
static Mesh meshOfProgram(ModuleOp module, int64_t partitions) {
  Mesh found;
  for (auto op : module.getOps<sdy::MeshOp>()) {
    sdy::MeshAttr mesh = op.getMesh();
    Mesh one;
    for (sdy::MeshAxisAttr axis : mesh.getAxes())
      one.axes.push_back({axis.getName().str(), axis.getSize()});
    one.order.assign(mesh.getDeviceIds().begin(), mesh.getDeviceIds().end());
    if (one.size() == partitions && one.axes.size() > found.axes.size() && one.axes.size() < 16)
      found = std::move(one);
  }
  return found;
}

Status chooseMesh(ModuleOp module, std::vector<MeshAxis> wanted, int64_t replicas,
                  int64_t partitions) {
  if (wanted.empty() && replicas * partitions == 1)
    return Status();
  Mesh mesh;
  mesh.axes = std::move(wanted);
  if (!mesh.axes.empty()) {
    if (mesh.size() != replicas * partitions) {
      std::string text;
      for (const MeshAxis &axis : mesh.axes)
        text += concat(text.empty() ? "" : ",", axis.name, "=", axis.size);
      return Status(Error::commMesh,
                    concat("the mesh ", text, " has ", mesh.size(), " ranks, but the program has ",
                           replicas, " replicas of ", partitions,
                           " partitions (mhlo.num_replicas, mhlo.num_partitions)"));
    }
  } else {
    mesh = meshOfProgram(module, partitions);
    if (mesh.axes.empty() && partitions > 1)
      mesh.axes = {{"partition", partitions}};
    if (replicas > 1) {
      mesh.axes.insert(mesh.axes.begin(), {"replica", replicas});
      const std::vector<int64_t> one = std::move(mesh.order);
      mesh.order.clear();
      for (int64_t replica = 0; replica < replicas; ++replica)
        for (int64_t partition : one)
          mesh.order.push_back(replica * partitions + partition);
    }
  }
  Builder builder(module.getContext());
  SmallVector<Attribute> names;
  SmallVector<int64_t> sizes;
  for (const MeshAxis &axis : mesh.axes) {
    names.push_back(builder.getStringAttr(axis.name));
    sizes.push_back(axis.size);
  }
  module->setAttr(meshAttr,
                  builder.getDictionaryAttr(
                      {builder.getNamedAttr("names", builder.getArrayAttr(names)),
                       builder.getNamedAttr("order", builder.getDenseI64ArrayAttr(mesh.order)),
                       builder.getNamedAttr("sizes", builder.getDenseI64ArrayAttr(sizes))}));
  return Status();
}

interpret::RankGrid gridOf(ModuleOp module, int64_t replicas, int64_t partitions) {
  const interpret::RankGrid own = interpret::rankGridOf(module);
  return {replicas > 0 ? replicas : own.replicas, partitions > 0 ? partitions : own.partitions};
}

Mesh meshOf(ModuleOp module) {
  Mesh mesh;
  auto attribute = module->getAttrOfType<DictionaryAttr>(meshAttr);
  if (!attribute)
    return mesh;
  auto names = attribute.getAs<ArrayAttr>("names");
  auto sizes = attribute.getAs<DenseI64ArrayAttr>("sizes");
  auto order = attribute.getAs<DenseI64ArrayAttr>("order");
  if (!names || !sizes || names.size() != static_cast<size_t>(sizes.size()))
    return mesh;
  for (auto [name, size] : llvm::zip_equal(names, sizes.asArrayRef()))
    mesh.axes.push_back({cast<StringAttr>(name).str(), size});
  if (order)
    mesh.order.assign(order.asArrayRef().begin(), order.asArrayRef().end());
  return mesh;
}

} // namespace tilewright::distribute
