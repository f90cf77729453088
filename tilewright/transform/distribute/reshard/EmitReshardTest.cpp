// Reshards on the ranks of the evaluator: random meshes, shardings and shapes.
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/distribute/reshard/Reshard.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

using namespace tilewright;
using namespace tilewright::distribute;
using interpret::Tensor;
using numerics::AxisRef;
using numerics::MeshCoordinates;

namespace {

/// A tensor of i32 in row-major order.
struct Array {
  std::vector<int64_t> shape;
  std::vector<int32_t> elements;

  explicit Array(std::vector<int64_t> sizes) : shape(std::move(sizes)) {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    elements.resize(static_cast<size_t>(count));
  }
  /// The element at `index`; null outside of the tensor.
  int32_t *at(const std::vector<int64_t> &index) {
    int64_t position = 0;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (index[dim] >= shape[dim])
        return nullptr;
      position = position * shape[dim] + index[dim];
    }
    return &elements[static_cast<size_t>(position)];
  }
};

/// Calls `visit` with the index of each element of a shard, in the shard and in the whole tensor.
template <typename Visit>
void forEachOf(const Sharding &sharding, const std::vector<int64_t> &local, int64_t device,
               Visit visit) {
  int64_t count = 1;
  for (int64_t size : local)
    count *= size;
  for (int64_t position = 0; position < count; ++position) {
    std::vector<int64_t> global(local.size());
    int64_t rest = position;
    for (size_t dim = local.size(); dim-- > 0; rest /= local[dim])
      global[dim] =
          rest % local[dim] +
          local[dim] * (sharding.mesh ? sharding.mesh->along(sharding.along(dim), device) : 0);
    visit(static_cast<size_t>(position), global);
  }
}

std::vector<int64_t> localShape(const Sharding &sharding, const std::vector<int64_t> &shape) {
  std::vector<int64_t> local;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    local.push_back(sharding.padded(dim, shape[dim]) / sharding.count(dim));
  return local;
}

class EmitReshard : public testing::Test {
protected:
  EmitReshard() { context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect>(); }

  int64_t below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random);
  }

  std::shared_ptr<const MeshCoordinates> randomMesh() {
    static const std::vector<std::vector<int64_t>> meshes = {
        {2}, {4}, {6}, {8}, {2, 2}, {2, 3}, {4, 2}, {2, 4}, {2, 2, 2}, {12}, {3, 4}};
    std::vector<numerics::MeshAxis> axes;
    int64_t count = 1;
    for (int64_t size : meshes[static_cast<size_t>(below(std::ssize(meshes)))]) {
      axes.push_back({concat("a", axes.size()), size});
      count *= size;
    }
    std::vector<int64_t> order;
    if (below(2) == 0) {
      for (int64_t i = 0; i < count; ++i)
        order.push_back(i);
      std::shuffle(order.begin(), order.end(), random);
    }
    return std::make_shared<const MeshCoordinates>(*MeshCoordinates::create(axes, order));
  }

  /// Factors of the mesh's axes, each at a random place.
  Sharding randomSharding(std::shared_ptr<const MeshCoordinates> mesh, size_t rank) {
    Axes factors;
    for (size_t axis = 0; axis < mesh->mesh().axes.size(); ++axis)
      for (int64_t pre = 1, rest = mesh->mesh().axes[axis].size; rest > 1;) {
        std::vector<int64_t> divisors;
        for (int64_t size = 2; size <= rest; ++size)
          if (rest % size == 0)
            divisors.push_back(size);
        const int64_t size = divisors[static_cast<size_t>(below(std::ssize(divisors)))];
        factors.push_back({axis, pre, size});
        pre *= size;
        rest /= size;
      }
    std::shuffle(factors.begin(), factors.end(), random);
    Sharding sharding{mesh, std::vector<Axes>(rank), {}};
    for (const AxisRef &factor : factors) {
      const int64_t place = below(static_cast<int64_t>(rank) + 2);
      if (place < static_cast<int64_t>(rank))
        sharding.dims[static_cast<size_t>(place)].push_back(factor);
      else if (place == static_cast<int64_t>(rank))
        sharding.unreduced.push_back(factor);
    }
    for (Axes &dim : sharding.dims)
      dim = merged(dim);
    sharding.unreduced = ordered(sharding.unreduced);
    if (below(3) == 0)
      sharding.combine = "stablehlo.maximum";
    return sharding;
  }

  int32_t combine(const Sharding &sharding, int32_t a, int32_t b) {
    return sharding.combine == "stablehlo.add" ? a + b : std::max(a, b);
  }

  /// The devices that hold the terms of the same shard as `device`.
  static std::vector<int64_t> termsOf(const Sharding &sharding, int64_t device) {
    for (std::vector<int64_t> &group : sharding.mesh->groupsAlong(sharding.unreduced))
      if (std::find(group.begin(), group.end(), device) != group.end())
        return group;
    return {device};
  }

  /// Shards and terms of `whole`, with arbitrary values in the padding.
  std::vector<Array> divide(Array &whole, const Sharding &sharding) {
    std::vector<Array> shards;
    const std::vector<int64_t> local = localShape(sharding, whole.shape);
    // Devices along axes that the sharding does not use hold copies: the same terms.
    std::map<std::vector<int64_t>, int32_t> terms;
    for (int64_t device = 0; device < sharding.mesh->ranks(); ++device) {
      Array &shard = shards.emplace_back(local);
      const int64_t term = sharding.mesh->along(sharding.unreduced, device);
      const int64_t count = countOf(sharding.unreduced);
      forEachOf(sharding, local, device, [&](size_t position, std::vector<int64_t> global) {
        const int32_t *value = whole.at(global);
        global.push_back(term);
        const auto noise = static_cast<int32_t>((position * 7 + static_cast<size_t>(term) * 13) %
                                                1000); // the same for all copies
        int32_t &mine = shard.elements[position];
        if (!value)
          mine = static_cast<int32_t>(below(1000000));
        else if (sharding.combine == "stablehlo.maximum")
          mine = term == *value % count ? *value : *value - noise;
        else if (term == 0) // the other terms and this one add up to the value
          mine = *value - static_cast<int32_t>(sumOfNoise(position, count));
        else
          mine = noise;
      });
    }
    return shards;
  }
  static int64_t sumOfNoise(size_t position, int64_t terms) {
    int64_t sum = 0;
    for (int64_t term = 1; term < terms; ++term)
      sum += static_cast<int64_t>((position * 7 + static_cast<size_t>(term) * 13) % 1000);
    return sum;
  }

  /// The program of one device that reshards its argument.
  mlir::OwningOpRef<mlir::ModuleOp> program(const Sharding &from, const Sharding &to,
                                            const std::vector<int64_t> &shape) {
    mlir::OpBuilder builder(&context);
    const mlir::Location location = builder.getUnknownLoc();
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(location);
    const int64_t devices = from.mesh->ranks();
    module.get()->setAttr("mhlo.num_partitions",
                          builder.getI32IntegerAttr(static_cast<int32_t>(devices)));
    builder.setInsertionPointToStart(module->getBody());
    auto type = mlir::RankedTensorType::get(localShape(from, shape), builder.getI32Type());
    auto result = mlir::RankedTensorType::get(localShape(to, shape), builder.getI32Type());
    auto main = mlir::func::FuncOp::create(builder, location, "main",
                                           builder.getFunctionType({type}, {result}));
    builder.setInsertionPointToStart(main.addEntryBlock());
    ShardBuilder shards(*module, devices);
    mlir::Value made = *shards.reshard(builder, location, main.getArgument(0), from, to, shape);
    mlir::func::ReturnOp::create(builder, location, made);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    return module;
  }

  void check(const Sharding &from, const Sharding &to, const std::vector<int64_t> &shape) {
    SCOPED_TRACE(concat(from.toString(), " to ", to.toString(), " of ", listed(shape), ": ",
                        toString(planReshard(from, to, shape, 4))));
    Array whole(shape);
    for (int32_t &element : whole.elements)
      element = static_cast<int32_t>(below(1000000));
    std::vector<interpret::RuntimeValues> inputs;
    std::vector<Array> shards = divide(whole, from);
    for (const Array &shard : shards)
      inputs.push_back(
          {Tensor::view(interpret::ElementType::i32, *interpret::Shape::create(shard.shape),
                        reinterpret_cast<const std::byte *>(shard.elements.data()), nullptr)});
    mlir::OwningOpRef<mlir::ModuleOp> module = program(from, to, shape);
    Result<std::vector<interpret::RuntimeValues>> outputs =
        interpret::evaluateRanks(*module, "main", {1, from.mesh->ranks()}, std::move(inputs));
    ASSERT_TRUE(outputs.isOk()) << std::move(outputs).takeStatus().message();
    const std::vector<int64_t> local = localShape(to, shape);
    auto elementOf = [&](int64_t device, size_t position) {
      int32_t element;
      const auto &tensor = (*outputs)[static_cast<size_t>(device)][0].tensor();
      std::memcpy(&element, tensor.data() + position * sizeof(element), sizeof(element));
      return element;
    };
    for (int64_t device = 0; device < to.mesh->ranks(); ++device) {
      const std::vector<int64_t> terms = termsOf(to, device);
      forEachOf(to, local, device, [&](size_t position, const std::vector<int64_t> &global) {
        const int32_t *wanted = whole.at(global);
        if (!wanted || HasFailure())
          return;
        int32_t got = elementOf(terms.front(), position);
        for (size_t i = 1; i < terms.size(); ++i)
          got = combine(to, got, elementOf(terms[i], position));
        EXPECT_EQ(got, *wanted) << "on device " << device << " at " << listed(global);
      });
    }
  }

  std::mt19937 random{20261117};
  mlir::MLIRContext context;
};

TEST_F(EmitReshard, ComputesTheTargetShardsOnRandomMeshes) {
  std::map<std::string, int> kinds;
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    std::shared_ptr<const MeshCoordinates> mesh = randomMesh();
    const auto rank = static_cast<size_t>(below(4));
    const Sharding from = randomSharding(mesh, rank), to = randomSharding(mesh, rank);
    std::vector<int64_t> shape;
    const bool isEven = below(3) > 0;
    for (size_t dim = 0; dim < rank; ++dim)
      shape.push_back(isEven ? std::lcm(from.count(dim), to.count(dim)) * (1 + below(2))
                             : 1 + below(13));
    for (const Exchange &exchange : planReshard(from, to, shape, 4))
      ++kinds[toString(exchange.kind).str()];
    check(from, to, shape);
  }
  EXPECT_EQ(kinds.size(), 7U); // every kind of exchange was executed
}

} // namespace
