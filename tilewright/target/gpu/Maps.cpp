// Scalars, maps, views and iotas.
#include "tilewright/target/gpu/KernelLowering.h"

#include "tilewright/dialect/elements/Accuracy.h"
#include "tilewright/support/Concat.h"
#include "tilewright/target/gpu/Polynomial.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;

namespace tilewright::gpu {

namespace LLVM = mlir::LLVM;

void MapsLowering::scalar(mlir::Operation *op) {
  if (auto extract = dyn_cast<mlir::tensor::ExtractOp>(op)) {
    if (!extract.getIndices().empty())
      return kernel.refuse(
          op, "extracts an element at an index, but only tiles of rank 0 are supported");
    // Every thread holds a copy of the element.
    Lanes element = kernel.tiles[extract.getTensor()][0];
    element.value = b.machine.uniform(b, element.value);
    kernel.scalars[extract.getResult()] = element;
    return;
  }
  if (auto make = dyn_cast<mlir::tensor::FromElementsOp>(op)) {
    if (make.getElements().size() != 1)
      return kernel.refuse(
          op, "creates a tile from several scalars, but only tiles of one element are supported");
    kernel.tiles[make.getResult()] = Tile(kernel.threadsOf(make.getType()).registers(),
                                          kernel.scalars.lookup(make.getElements().front()));
    return;
  }
  if (auto constant = dyn_cast<mlir::arith::ConstantOp>(op))
    if (auto value = dyn_cast<mlir::IntegerAttr>(constant.getValue())) {
      kernel.scalars[constant.getResult()] = {
          b.integer(b.computeType(constant.getType()), value.getValue())};
      return;
    }
  SmallVector<Lanes> operands;
  for (Value operand : op->getOperands()) {
    if (isa<mlir::TensorType, mlir::MemRefType>(operand.getType()))
      return kernel.refuse(
          op,
          "has a tile or tensor operand, but is not a tile or sm op that the GPU target supports");
    operands.push_back(kernel.scalars.lookup(operand));
  }
  if (auto apply = dyn_cast<mlir::affine::AffineApplyOp>(op)) {
    SmallVector<Value> values;
    for (Lanes operand : operands)
      values.push_back(operand.value);
    mlir::AffineMap map = apply.getAffineMap();
    ArrayRef<Value> all = values;
    kernel.scalars[apply.getResult()] = {b.affine(
        map.getResult(0), all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()))};
    return;
  }
  if (!isa<mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::complex::ComplexDialect>(
          op->getDialect()) ||
      any_of(op->getResultTypes(), [](Type type) { return isa<mlir::ShapedType>(type); }))
    return kernel.refuse(
        op, "is not supported by the GPU target, which supports tile and sm ops, scf.for, "
            "scf.if, affine.apply, tensor.extract, and arith, math and complex on scalars");
  for (auto [result, value] : zip_equal(op->getResults(), b.applyOp(op, operands)))
    kernel.scalars[result] = value;
}

SmallVector<SmallVector<Lanes, 2>>
MapsLowering::scaleRarely(Block &body, ArrayRef<SmallVector<Lanes>> applications) {
  Value scales = nullptr;
  SetVector<Value> factors;
  for (const SmallVector<Lanes> &application : applications)
    factors.insert(application[1].value);
  for (Value factor : factors) {
    Value isOther = b.make<LLVM::FCmpOp>(b.i1Type, LLVM::FCmpPredicate::une, factor,
                                         b.real(factor.getType(), 1));
    scales = scales ? b.bitOr(scales, isOther) : isOther;
  }
  SmallVector<Type> types;
  SmallVector<Value> unscaled;
  for (const SmallVector<Lanes> &application : applications) {
    unscaled.push_back(application[0].value);
    types.push_back(unscaled.back().getType());
  }
  Value any = b.machine.ballot(b, scales);
  Block *scaling = b.newBlock(), *after = b.newBlock(types);
  b.branchIf(b.notEqual(any, b.zero(any.getType())), scaling, after, {}, unscaled);
  b.moveTo(scaling);
  SmallVector<Value> scaled;
  for (const SmallVector<Lanes, 2> &results : b.applyEach(body, applications))
    scaled.push_back(results[0].value);
  b.branch(after, scaled);
  b.moveTo(after);
  SmallVector<SmallVector<Lanes, 2>> made;
  for (Value argument : after->getArguments())
    made.push_back({Lanes{argument}});
  return made;
}

void MapsLowering::map(tile::MapOp map) {
  auto type = cast<mlir::RankedTensorType>(map.getResultTypes().front());
  const ThreadLayout &threads = kernel.threadsOf(type);
  all.beforeMap(map);
  // Registers with identical operands share an application of the body.
  std::map<std::vector<const void *>, size_t> known;
  SmallVector<std::optional<size_t>> applicationOf(threads.registers());
  SmallVector<SmallVector<Lanes>> applications;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    if (threads.isDead(reg, type.getShape()))
      continue;
    SmallVector<Lanes> operands;
    std::vector<const void *> key;
    for (Value input : map.getInputs()) {
      Lanes operand = kernel.tiles[input][reg];
      operands.push_back(operand);
      key.push_back(operand.value.getAsOpaquePointer());
      key.push_back(operand.imag.getAsOpaquePointer());
    }
    auto [found, isNew] = known.try_emplace(key, applications.size());
    if (isNew)
      applications.push_back(std::move(operands));
    applicationOf[reg] = found->second;
  }
  Block &body = map.getBody().front();
  auto made = map->hasAttr(elements::rarelyScalesAttr) ? scaleRarely(body, applications)
                                                       : b.applyEach(body, applications);
  if (const int64_t every = polynomialShare(body)) {
    mlir::Region region;
    Block &other = withPolynomials(body, region);
    SmallVector<SmallVector<Lanes>> some;
    for (size_t i = size_t(every) - 1; i < applications.size(); i += size_t(every))
      some.push_back(applications[i]);
    for (auto [i, results] : enumerate(b.applyEach(other, some)))
      made[(i + 1) * size_t(every) - 1] = std::move(results);
  }
  for (auto [number, value] : enumerate(map.getResults())) {
    Tile tile;
    for (std::optional<size_t> application : applicationOf)
      tile.push_back(application ? made[*application][number]
                                 : b.poison(mlir::getElementTypeOrSelf(value)));
    kernel.tiles[value] = std::move(tile);
  }
  all.afterMap(map);
}

void MapsLowering::view(tile::ViewOp view) {
  auto type = cast<mlir::RankedTensorType>(view.getType()),
       sourceType = cast<mlir::RankedTensorType>(view.getSource().getType());
  const ThreadLayout &to = kernel.threadsOf(type), &from = kernel.threadsOf(sourceType);
  std::optional<sm::ViewMap> map =
      sm::viewMapOf(view.getMap(), type.getShape(), sourceType.getShape());
  if (!map)
    return kernel.refuse(
        view, "has a map that no layout can represent, because it is not a sum of digits");
  // Thread 0 has the smallest index in each register, and the verifier ensures that the register
  // mapping is the same for all threads. So use the mapping of thread 0.
  std::map<std::vector<int64_t>, unsigned> held;
  for (unsigned reg = 0; reg < from.registers(); ++reg)
    held.try_emplace(from.constants(reg), reg);
  const Tile source = kernel.tiles[view.getSource()];
  Tile result;
  for (unsigned reg = 0; reg < to.registers(); ++reg) {
    result.push_back(b.poison(type.getElementType()));
    if (to.isDead(reg, type.getShape()))
      continue;
    SmallVector<int64_t> wanted = map->apply(to.constants(reg));
    auto found = held.find(std::vector<int64_t>(wanted.begin(), wanted.end()));
    if (found == held.end())
      return kernel.refuse(view, concat("moves elements between threads, from ", from.layout.str(),
                                        " to ", to.layout.str(), "; insert an sm.convert"));
    result.back() = source[found->second];
  }
  kernel.tiles[view.getResult()] = std::move(result);
}

void MapsLowering::iota(tile::IotaOp iota) {
  auto type = cast<mlir::RankedTensorType>(iota.getType());
  const ThreadLayout &threads = kernel.threadsOf(type);
  const auto dim = static_cast<size_t>(iota.getDim());
  const auto stride = static_cast<int64_t>(iota.getStride());
  Type element = b.computeType(type.getElementType());
  Value first = b.sextOrTrunc(kernel.scalars.lookup(iota.getOffset()).value, element);
  if (Value base = threads.base[dim])
    first = b.add(first, b.mul(b.zextOrTrunc(base, element), b.integer(element, stride)));
  Tile result;
  for (unsigned reg = 0; reg < threads.registers(); ++reg) {
    result.push_back({b.add(first, b.integer(element, threads.constant(dim, reg) * stride))});
  }
  kernel.tiles[iota.getResult()] = std::move(result);
}

} // namespace tilewright::gpu
