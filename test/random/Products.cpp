// Rules: products, linear algebra, transforms.
#include "test/random/Generator.h"

#include "tilewright/dialect/stablehlo/StablehloOps.h"
#include "tilewright/interpret/Types.h"

#include "mlir/IR/Verifier.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using tilewright::interpret::Tensor;
using tilewright::numerics::Scalar;

namespace tilewright::random {

/// The types in which products of two elements of this type may be summed.
static llvm::SmallVector<const char *> productsOf(Type element) {
  if (element.isF64())
    return {"f64"};
  if (isa<FloatType>(element))
    return element.isF32() ? llvm::SmallVector<const char *>{"f32"}
                           : llvm::SmallVector<const char *>{"f32", "f32", "f16", "bf16"};
  if (isa<ComplexType>(element))
    return {};
  return {"i32", "i32", "i64"};
}

/// Whether the dialect accepts products of these types. The specification does not allow int8
/// summed in f32, but producers use it.
bool Generator::isProduct(Type operand, Type result) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  auto vector = tensor({1}, operand);
  auto numbers = stablehlo::DotDimensionNumbersAttr::get(&context, {}, {}, {0}, {0});
  Value x = create("stablehlo.constant", vector, {},
                   attribute("value", DenseElementsAttr::get(vector, builder.getZeroAttr(operand))))
                ->getResult(0);
  Operation *product = create("stablehlo.dot_general", tensor({}, result), {x, x},
                              attribute("dot_dimension_numbers", numbers));
  const bool taken = succeeded(verify(product));
  product->erase();
  x.getDefiningOp()->erase();
  return taken;
}

void Generator::dotGeneral() {
  Value x = pick([](Value v) {
    return typeOf(v).getRank() > 0 && !isPred(elementOf(v)) && volume(dimsOf(v)) <= 300;
  });
  if (!x)
    return;
  const int64_t rank = typeOf(x).getRank();
  // Each dimension of the left operand is a batch dimension, contracted, or free.
  Dims leftBatch, leftSum, rightBatch, rightSum, right, shape;
  llvm::SmallVector<int64_t> rightRoles; // dimension of the left operand, or -1 for its own
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t role = draw.below(4);
    if (role == 0 && leftBatch.size() < 2)
      leftBatch.push_back(i);
    else if (role <= 2 && leftSum.size() < 2)
      leftSum.push_back(i);
    if ((llvm::is_contained(leftBatch, i) || llvm::is_contained(leftSum, i)))
      rightRoles.insert(
          rightRoles.begin() + draw.below(static_cast<int64_t>(rightRoles.size()) + 1), i);
  }
  for (int64_t n = draw.below(2) + (rightRoles.empty() ? 1 : 0); n-- > 0;)
    rightRoles.insert(rightRoles.begin() + draw.below(static_cast<int64_t>(rightRoles.size()) + 1),
                      -1);
  for (int64_t role : rightRoles)
    right.push_back(role < 0 ? draw.pick(sizes) : typeOf(x).getDimSize(role));
  auto placeOf = [&](int64_t dim) {
    return static_cast<int64_t>(llvm::find(rightRoles, dim) - rightRoles.begin());
  };
  for (int64_t dim : leftBatch)
    rightBatch.push_back(placeOf(dim)), shape.push_back(typeOf(x).getDimSize(dim));
  for (int64_t dim : leftSum)
    rightSum.push_back(placeOf(dim));
  for (int64_t i = 0; i < rank; ++i)
    if (!llvm::is_contained(leftBatch, i) && !llvm::is_contained(leftSum, i))
      shape.push_back(typeOf(x).getDimSize(i));
  for (size_t i = 0; i < right.size(); ++i)
    if (rightRoles[i] < 0)
      shape.push_back(right[i]);
  if (volume(shape) > 2000 || volume(right) > 1000)
    return;
  Type element = elementOf(x), other = element, result = element;
  // Mixed precision: the operands keep their type, the result has a wider one.
  if (auto wider = productsOf(element); !wider.empty() && draw.oneIn(2))
    result = named(draw.pick(wider));
  if (isUnsigned(element) || (wishes.forJaxlib && isFloat(result) && widthOf(result) < 32))
    result = element;
  if (isFloat(element) && widthOf(element) <= 16 && draw.oneIn(3) && !wishes.forJaxlib)
    other = named(draw.oneOf<const char *>({"f16", "bf16", "f8E5M2", "f32"}));
  else if (isInt(element) && !isUnsigned(element) && widthOf(element) == 8 && draw.oneIn(2) &&
           !wishes.forJaxlib && isProduct(element, builder.getF32Type()))
    result = builder.getF32Type(); // int8 products summed in floats
  Value y = of(tensor(right, other));
  auto numbers =
      stablehlo::DotDimensionNumbersAttr::get(&context, leftBatch, rightBatch, leftSum, rightSum);
  llvm::SmallVector<NamedAttribute> attributes = {attribute("dot_dimension_numbers", numbers)};
  if (draw.oneIn(3)) {
    auto precision = stablehlo::PrecisionAttr::get(&context, stablehlo::Precision::HIGHEST);
    attributes.push_back(
        attribute("precision_config", builder.getArrayAttr({precision, precision})));
  }
  add("stablehlo.dot_general", tensor(shape, result), {x, y}, attributes);
}

void Generator::dot() {
  Value x = pick([](Value v) {
    return (typeOf(v).getRank() == 1 || typeOf(v).getRank() == 2) && !isPred(elementOf(v));
  });
  if (!x)
    return;
  Dims left = dimsOf(x), right = {left.back()}, shape(left.begin(), left.end() - 1);
  if (draw.oneIn(2)) {
    right.push_back(draw.pick(sizes));
    shape.push_back(right.back());
  }
  if (volume(shape) <= 2000)
    add("stablehlo.dot", tensor(shape, elementOf(x)), {x, of(tensor(right, elementOf(x)))});
}

void Generator::einsum() {
  // A legacy op that current producers do not emit.
  Value x = pick([](Value v) { return typeOf(v).getRank() == 2 && !isPred(elementOf(v)); });
  if (!x || wishes.forJaxlib)
    return;
  const Dims dims = dimsOf(x);
  if (draw.oneIn(3)) {
    add("stablehlo.unary_einsum", tensor({dims[0]}, elementOf(x)), x,
        attribute("einsum_config", builder.getStringAttr("ab->a")));
    return;
  }
  const int64_t columns = draw.pick(sizes);
  Value y = of(tensor({dims[1], columns}, elementOf(x)));
  add("stablehlo.einsum", tensor({dims[0], columns}, elementOf(x)), {x, y},
      attribute("einsum_config", builder.getStringAttr("ab,bc->ac")));
}

/// Permutes the dimensions at random, in place; returns the new position of each.
Dims Generator::drawLayout(Dims &dims) {
  Dims places(dims.size()), order;
  std::iota(places.begin(), places.end(), 0);
  if (wishes.forJaxlib || draw.oneIn(2))
    return places;
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i)
    order.insert(order.begin() + draw.below(i + 1), i);
  const Dims before = dims;
  for (size_t i = 0; i < order.size(); ++i) {
    dims[i] = before[static_cast<size_t>(order[i])];
    places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  }
  return places;
}

void Generator::convolution() {
  // [batch, spatial…, feature] by [spatial…, in, out]; other layouts by permutation.
  const int64_t spatial =
      !wishes.forJaxlib && draw.oneIn(6) ? 3 : draw.number(has(Flavour::emptyShapes) ? 0 : 1, 2);
  Type element = draw.pick(elements);
  if (isPred(element) || (isComplex(element) && wishes.forJaxlib) ||
      (wishes.forJaxlib && isInt(element) && widthOf(element) < 32))
    element = builder.getF32Type();
  const int64_t groups = draw.oneIn(3) ? 2 : 1, batchGroups = groups == 1 && draw.oneIn(5) ? 2 : 1;
  // Wide ones fill the tiles of matrix instructions.
  const bool isWide = !wishes.forJaxlib && draw.oneIn(4);
  auto features = [&] {
    return isWide ? draw.oneOf<int64_t>({5, 8, 16, 24, 32, 40}) : draw.number(1, 3);
  };
  const int64_t in = features(), out = features() * groups * batchGroups;
  Dims image, kernel, result, strides, lhsDilation, rhsDilation, edges;
  llvm::SmallVector<bool> reversed;
  const int64_t batch = draw.number(1, 3) * batchGroups;
  image.push_back(batch);
  result.push_back(batch / batchGroups);
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t size = draw.number(has(Flavour::emptyShapes) ? 0 : 1, 7),
                  taps = draw.number(1, 3);
    image.push_back(size);
    kernel.push_back(taps);
    strides.push_back(draw.number(1, 2));
    lhsDilation.push_back(draw.oneIn(4) ? 2 : 1);
    rhsDilation.push_back(draw.oneIn(4) ? 2 : 1);
    reversed.push_back(draw.oneIn(4));
    const int64_t low = std::max<int64_t>(draw.number(-1, 2), wishes.forJaxlib ? 0 : -1),
                  high = draw.number(0, 2);
    edges.push_back(low), edges.push_back(high);
    const int64_t spread = size == 0 ? 0 : (size - 1) * lhsDilation.back() + 1;
    const int64_t padded = spread + low + high, reach = (taps - 1) * rhsDilation.back() + 1;
    if (padded < 0)
      return;
    result.push_back(padded < reach ? 0 : (padded - reach) / strides.back() + 1);
  }
  if (volume(result) * volume(kernel) * in * out > 300000)
    return;
  image.push_back(in * groups);
  kernel.push_back(in);
  kernel.push_back(out);
  result.push_back(out);
  Type summed = element;
  if (auto wider = productsOf(element); !wider.empty() && draw.oneIn(2) && !isUnsigned(element))
    summed = named(draw.pick(wider));
  if (wishes.forJaxlib && isFloat(summed) && widthOf(summed) < 32)
    summed = element;
  if (isInt(element) && widthOf(element) == 8 && !isUnsigned(element) && !wishes.forJaxlib &&
      draw.oneIn(3) && isProduct(element, builder.getF32Type()))
    summed = builder.getF32Type();
  const Dims imageDims = drawLayout(image), kernelDims = drawLayout(kernel),
             resultDims = drawLayout(result);
  auto spatialOf = [&](const Dims &places, int64_t first) {
    return ArrayRef<int64_t>(places).slice(static_cast<size_t>(first),
                                           static_cast<size_t>(spatial));
  };
  const size_t last = static_cast<size_t>(spatial) + 1;
  auto numbers = stablehlo::ConvDimensionNumbersAttr::get(
      &context, imageDims[0], imageDims[last], spatialOf(imageDims, 1), kernelDims[last - 1],
      kernelDims[last], spatialOf(kernelDims, 0), resultDims[0], resultDims[last],
      spatialOf(resultDims, 1));
  Value x = of(tensor(image, element)), y = of(tensor(kernel, element));
  llvm::SmallVector<NamedAttribute> attributes = {
      list("window_strides", strides),
      list("lhs_dilation", lhsDilation),
      list("rhs_dilation", rhsDilation),
      attribute("window_reversal", builder.getDenseBoolArrayAttr(reversed)),
      attribute("dimension_numbers", numbers),
      number("feature_group_count", groups),
      number("batch_group_count", batchGroups)};
  if (!wishes.forJaxlib && element.isF32() && draw.oneIn(3)) {
    auto precision = stablehlo::PrecisionAttr::get(
        &context, draw.oneOf({stablehlo::Precision::HIGH, stablehlo::Precision::HIGHEST}));
    attributes.push_back(
        attribute("precision_config", builder.getArrayAttr({precision, precision})));
  }
  if (!wishes.forJaxlib && draw.oneIn(8) && spatial > 0) {
    auto type = RankedTensorType::get({spatial, 2}, builder.getI64Type());
    Value amounts =
        create("stablehlo.constant", type, {},
               attribute("value", DenseIntElementsAttr::get(type, ArrayRef<int64_t>(edges))))
            ->getResult(0);
    add("stablehlo.dynamic_conv", tensor(result, summed), {x, y, amounts}, attributes);
    return;
  }
  attributes.push_back(padding("padding", edges));
  add("stablehlo.convolution", tensor(result, summed), {x, y}, attributes);
}

/// A matrix of small integers with powers of two on its diagonal, and the matrix of which it is the
/// Cholesky factor.
void Generator::linearAlgebra() {
  // Large ones have a band, so that the inverse stays small.
  const bool isLarge = !wishes.forJaxlib && draw.oneIn(5);
  const int64_t n = isLarge ? draw.oneOf<int64_t>({17, 33, 40})
                            : draw.number(has(Flavour::emptyShapes) ? 0 : 1, 5),
                batch = draw.number(1, 2);
  const bool batched = draw.oneIn(2);
  Type element = named(!wishes.forJaxlib && draw.oneIn(8)
                           ? "complex<f64>"
                           : draw.oneOf<const char *>({"f32", "f32", "f64", "complex<f32>"}));
  const interpret::ElementType kind = *interpret::elementTypeOf(element);
  auto dims = [&](int64_t rows, int64_t columns) {
    return batched ? Dims{batch, rows, columns} : Dims{rows, columns};
  };
  interpret::Context spending;
  Tensor factor = *Tensor::allocate(kind, *numerics::Shape::create(dims(n, n)), spending);
  std::vector<std::complex<double>> l(static_cast<size_t>(factor.elementCount()));
  for (size_t at = 0; at < l.size(); ++at) {
    const auto i = static_cast<int64_t>(at) / n % n, j = static_cast<int64_t>(at) % n;
    l[at] =
        i == j ? std::complex<double>(static_cast<double>(int64_t(1) << draw.below(3)))
        : i > j && (!isLarge || i - j < 3)
            ? std::complex<double>(static_cast<double>(draw.number(-2, 2)),
                                   isComplex(element) ? static_cast<double>(draw.number(-1, 1)) : 0)
            : 0;
    factor.set(static_cast<int64_t>(at), Scalar::ofComplex(l[at]));
  }
  auto type = tensor(dims(n, n), element);
  const bool lower = draw.oneIn(2);
  if (draw.oneIn(2)) {
    Tensor square = *Tensor::allocate(kind, factor.shape(), spending);
    for (size_t at = 0; at < l.size(); ++at) {
      const size_t m = static_cast<size_t>(n), first = at / (m * m) * m * m, i = at / m % m,
                   j = at % m;
      std::complex<double> sum = 0;
      for (size_t k = 0; k < m; ++k)
        sum += l[first + i * m + k] * std::conj(l[first + j * m + k]);
      square.set(static_cast<int64_t>(at), Scalar::ofComplex(sum));
    }
    add("stablehlo.cholesky", type, fresh(type, square), flag("lower", lower));
    return;
  }
  const int64_t others = draw.number(has(Flavour::emptyShapes) ? 0 : 1, 3);
  const bool left = draw.oneIn(2);
  auto right = tensor(left ? dims(n, others) : dims(others, n), element);
  Value b = fresh(right, Numbers::small);
  // An upper triangle, and in both cases the other triangle, which must not be read.
  const bool isUpper = !wishes.forJaxlib && draw.oneIn(2), hasOther = isUpper || !wishes.forJaxlib;
  const int64_t square = std::max<int64_t>(n * n, 1);
  for (size_t at = 0; hasOther && at < l.size(); ++at) {
    const int64_t block = static_cast<int64_t>(at) / square * square,
                  i = static_cast<int64_t>(at) / n % n, j = static_cast<int64_t>(at) % n;
    const int64_t from = isUpper ? block + j * n + i : static_cast<int64_t>(at);
    factor.set(static_cast<int64_t>(at), (isUpper ? i > j : i < j)
                                             ? Scalar::ofComplex(draw.oneIn(2) ? 3 : NAN)
                                             : Scalar::ofComplex(l[static_cast<size_t>(from)]));
  }
  auto turned = draw.oneOf({stablehlo::Transpose::NO_TRANSPOSE, stablehlo::Transpose::TRANSPOSE,
                            stablehlo::Transpose::ADJOINT});
  add("stablehlo.triangular_solve", right, {fresh(type, factor), b},
      {flag("left_side", left), flag("lower", !isUpper), flag("unit_diagonal", draw.oneIn(3)),
       attribute("transpose_a", stablehlo::TransposeAttr::get(&context, turned))});
}

void Generator::fourier() {
  Dims length = {draw.oneOf<int64_t>({1, 2, 3, 4, 5, 8, 7, 16})};
  const bool wide = draw.oneIn(3);
  Type real = wide ? builder.getF64Type() : static_cast<Type>(builder.getF32Type()),
       twofold = ComplexType::get(real);
  const int64_t rows = draw.number(has(Flavour::emptyShapes) ? 0 : 1, 3);
  auto how = draw.oneOf({stablehlo::FftType::FFT, stablehlo::FftType::IFFT,
                         stablehlo::FftType::RFFT, stablehlo::FftType::IRFFT});
  const bool fromReal = how == stablehlo::FftType::RFFT, toReal = how == stablehlo::FftType::IRFFT;
  if (!wishes.forJaxlib && draw.oneIn(4))
    length = {draw.oneOf<int64_t>({13, 17, 32, 60, 97})};
  else if (!wishes.forJaxlib)
    for (int64_t more = draw.below(3); more-- > 0;)
      length.push_back(draw.number(1, 6));
  Dims in = {rows}, out = {rows};
  in.append(length), out.append(length);
  if (toReal || fromReal)
    (toReal ? in : out).back() = length.back() / 2 + 1;
  Value x = fresh(tensor(in, fromReal ? real : twofold), Numbers::small);
  add("stablehlo.fft", tensor(out, toReal ? real : twofold), x,
      {attribute("fft_type", stablehlo::FftTypeAttr::get(&context, how)),
       list("fft_length", length)});
}

void Generator::batchNorm() {
  const int64_t features = draw.number(1, 4);
  Dims dims = {draw.number(1, 4), draw.number(1, 4), draw.number(1, 4)};
  const int64_t place = draw.below(3);
  dims[static_cast<size_t>(place)] = features;
  Type element = draw.oneIn(3) ? builder.getF64Type() : static_cast<Type>(builder.getF32Type());
  auto type = tensor(dims, element), vector = tensor({features}, element);
  const Named epsilon = attribute("epsilon", builder.getF32FloatAttr(0.125f)),
              index = number("feature_index", place);
  Value x = fresh(type, Numbers::small), scale = fresh(vector, Numbers::small);
  switch (draw.below(3)) {
  case 0:
    add("stablehlo.batch_norm_inference", type,
        {x, scale, fresh(vector, Numbers::small), fresh(vector, Numbers::small),
         fresh(vector, Numbers::positive)},
        {epsilon, index});
    break;
  case 1:
    keep(create("stablehlo.batch_norm_training", {type, vector, vector},
                {x, scale, fresh(vector, Numbers::small)}, {epsilon, index})
             ->getResults());
    break;
  default:
    keep(create("stablehlo.batch_norm_grad", {type, vector, vector},
                {x, scale, fresh(vector, Numbers::small), fresh(vector, Numbers::positive),
                 fresh(type, Numbers::small)},
                {epsilon, index})
             ->getResults());
  }
}

} // namespace tilewright::random
