#include "tilewright/transform/tile/LinearForm.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tilewright::tile {

LinearForm LinearForm::operator+(const LinearForm &other) const {
  LinearForm sum = *this;
  sum.constant += other.constant;
  for (size_t i = 0; i < coefficients.size(); ++i)
    sum.coefficients[i] += other.coefficients[i];
  return sum;
}

LinearForm LinearForm::operator*(int64_t factor) const {
  LinearForm product = *this;
  product.constant *= factor;
  for (int64_t &coefficient : product.coefficients)
    coefficient *= factor;
  return product;
}

static int64_t floorDivide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

std::optional<std::pair<LinearForm, LinearForm>> LinearForm::divide(int64_t divisor,
                                                                    ArrayRef<int64_t> sizes) const {
  LinearForm quotient(coefficients.size()), rest(coefficients.size());
  quotient.constant = floorDivide(constant, divisor);
  rest.constant = constant - quotient.constant * divisor;
  int64_t lowest = rest.constant, highest = rest.constant;
  for (size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i] % divisor == 0) {
      quotient.coefficients[i] = coefficients[i] / divisor;
      continue;
    }
    rest.coefficients[i] = coefficients[i];
    const int64_t reach = coefficients[i] * (sizes[i] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  if (lowest < 0 || highest >= divisor)
    return std::nullopt;
  return std::make_pair(quotient, rest);
}

bool LinearForm::isWithin(int64_t size, ArrayRef<int64_t> sizes) const {
  int64_t lowest = constant, highest = constant;
  for (auto [coefficient, extent] : llvm::zip_equal(coefficients, sizes))
    (coefficient < 0 ? lowest : highest) += coefficient * (extent - 1);
  return lowest >= 0 && highest < size;
}

AffineExpr LinearForm::toExpr(MLIRContext *context) const {
  AffineExpr expr = getAffineConstantExpr(0, context);
  for (size_t i = 0; i < coefficients.size(); ++i)
    if (coefficients[i] != 0)
      expr = expr + getAffineDimExpr(static_cast<unsigned>(i), context) * coefficients[i];
  return expr + constant;
}

std::optional<LinearForm> linearForm(AffineExpr expr, ArrayRef<LinearForm> dims,
                                     ArrayRef<int64_t> sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    LinearForm form(sizes.size());
    form.constant = constant.getValue();
    return form;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<LinearForm> left = linearForm(binary.getLHS(), dims, sizes);
  if (!left)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add) {
    std::optional<LinearForm> right = linearForm(binary.getRHS(), dims, sizes);
    if (!right)
      return std::nullopt;
    return *left + *right;
  }
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (!factor)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Mul)
    return *left * factor.getValue();
  if (factor.getValue() <= 0)
    return std::nullopt;
  auto parts = left->divide(factor.getValue(), sizes);
  if (!parts)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::FloorDiv)
    return parts->first;
  if (binary.getKind() == AffineExprKind::Mod)
    return parts->second;
  return std::nullopt;
}

} // namespace tilewright::tile
