#include "tilewright/target/cpu/emit/IndexForm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::cpu {

bool IndexForm::dependsOn(unsigned loop) const {
  return coefficients[loop] != 0 ||
         llvm::any_of(rest, [&](const auto &term) { return term.first.isFunctionOfDim(loop); });
}

std::pair<int64_t, int64_t> IndexForm::range(ArrayRef<int64_t> sizes) const {
  int64_t low = constant, high = constant;
  auto widen = [&](int64_t factor, int64_t least, int64_t most) {
    low += factor > 0 ? factor * least : factor * most;
    high += factor > 0 ? factor * most : factor * least;
  };
  for (auto [coefficient, size] : llvm::zip_equal(coefficients, sizes))
    widen(coefficient, 0, size - 1);
  for (auto [expr, factor] : rest) {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    int64_t divisor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    if (expr.getKind() == AffineExprKind::Mod) {
      widen(factor, 0, divisor - 1);
    } else {
      auto [least, most] = IndexForm::of(binary.getLHS(), sizes).range(sizes);
      widen(factor, llvm::divideFloorSigned(least, divisor),
            llvm::divideFloorSigned(most, divisor));
    }
  }
  return {low, high};
}

AffineExpr IndexForm::toExpr(MLIRContext *context) const {
  AffineExpr sum = getAffineConstantExpr(constant, context);
  for (auto [loop, coefficient] : llvm::enumerate(coefficients))
    if (coefficient)
      sum = sum + getAffineDimExpr(loop, context) * coefficient;
  for (auto [expr, factor] : rest)
    sum = sum + expr * factor;
  return sum;
}

void IndexForm::add(const IndexForm &other, int64_t factor, ArrayRef<int64_t> sizes) {
  constant += factor * other.constant;
  for (auto [mine, theirs] : llvm::zip_equal(coefficients, other.coefficients))
    mine += factor * theirs;
  for (auto [expr, own] : other.rest) {
    auto found = llvm::find_if(rest, [&, e = expr](const auto &term) { return term.first == e; });
    if (found != rest.end())
      found->second += factor * own;
    else
      rest.emplace_back(expr, factor * own);
  }
  llvm::erase_if(rest, [](const auto &term) { return term.second == 0; });
  // c · (x floordiv c) + (x mod c) is x.
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i].first.getKind() != AffineExprKind::Mod)
      continue;
    auto mod = cast<AffineBinaryOpExpr>(rest[i].first);
    int64_t divisor = cast<AffineConstantExpr>(mod.getRHS()).getValue();
    AffineExpr partner = mod.getLHS().floorDiv(divisor);
    auto found = llvm::find_if(rest, [&](const auto &term) {
      return term.first == partner && term.second == rest[i].second * divisor;
    });
    if (found == rest.end())
      continue;
    int64_t times = rest[i].second;
    AffineExpr whole = mod.getLHS();
    size_t j = found - rest.begin();
    rest.erase(rest.begin() + std::max(i, j));
    rest.erase(rest.begin() + std::min(i, j));
    add(IndexForm::of(whole, sizes), times, sizes);
    return;
  }
}

IndexForm IndexForm::of(AffineExpr expr, ArrayRef<int64_t> sizes) {
  IndexForm form(sizes.size());
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    form.constant = cast<AffineConstantExpr>(expr).getValue();
    return form;
  case AffineExprKind::DimId: {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (sizes[loop] != 1) // the induction variable of a loop that runs once is 0
      form.coefficients[loop] = 1;
    return form;
  }
  case AffineExprKind::SymbolId:
    llvm_unreachable("tile maps have no symbols");
  case AffineExprKind::Add: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    form.add(IndexForm::of(binary.getLHS(), sizes), 1, sizes);
    form.add(IndexForm::of(binary.getRHS(), sizes), 1, sizes);
    return form;
  }
  case AffineExprKind::Mul: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    AffineExpr left = binary.getLHS(), right = binary.getRHS();
    if (!isa<AffineConstantExpr>(right))
      std::swap(left, right);
    form.add(IndexForm::of(left, sizes), cast<AffineConstantExpr>(right).getValue(), sizes);
    return form;
  }
  case AffineExprKind::CeilDiv: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    int64_t divisor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
    return IndexForm::of((binary.getLHS() + (divisor - 1)).floorDiv(divisor), sizes);
  }
  case AffineExprKind::FloorDiv:
  case AffineExprKind::Mod:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t divisor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
  IndexForm whole = IndexForm::of(binary.getLHS(), sizes);
  // Split the dividend into a provable multiple of the divisor and a remainder.
  IndexForm quotient(sizes.size()), remainder(sizes.size());
  quotient.constant = llvm::divideFloorSigned(whole.constant, divisor);
  remainder.constant = whole.constant - quotient.constant * divisor;
  for (size_t loop = 0; loop < sizes.size(); ++loop) {
    if (whole.coefficients[loop] % divisor == 0)
      quotient.coefficients[loop] = whole.coefficients[loop] / divisor;
    else
      remainder.coefficients[loop] = whole.coefficients[loop];
  }
  for (auto [term, factor] : whole.rest) {
    if (factor % divisor == 0)
      quotient.rest.emplace_back(term, factor / divisor);
    else
      remainder.rest.emplace_back(term, factor);
  }
  auto [low, high] = remainder.range(sizes);
  int64_t lowQuotient = llvm::divideFloorSigned(low, divisor);
  bool isSettled = lowQuotient == llvm::divideFloorSigned(high, divisor);
  MLIRContext *context = expr.getContext();
  // Building an expression may simplify it to another kind.
  auto addTerm = [&](IndexForm &to, AffineExpr term) {
    if (term.getKind() == expr.getKind())
      to.rest.emplace_back(term, 1);
    else
      to.add(IndexForm::of(term, sizes), 1, sizes);
  };
  if (expr.getKind() == AffineExprKind::FloorDiv) {
    if (isSettled)
      quotient.constant += lowQuotient;
    else
      addTerm(quotient, remainder.toExpr(context).floorDiv(divisor));
    return quotient;
  }
  if (isSettled) {
    remainder.constant -= lowQuotient * divisor;
    return remainder;
  }
  addTerm(form, remainder.toExpr(context) % divisor);
  return form;
}

AffineMap simplifyMap(AffineMap map, ArrayRef<int64_t> sizes) {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(IndexForm::of(expr, sizes).toExpr(map.getContext()));
  return AffineMap::get(sizes.size(), 0, results, map.getContext());
}

} // namespace tilewright::cpu
