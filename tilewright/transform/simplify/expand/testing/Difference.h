// Compares a function with its expansion on random inputs, both in the reference interpreter.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TESTING_DIFFERENCE_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TESTING_DIFFERENCE_H

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/indexing/IndexingRelation.h"
#include "tilewright/dialect/stablehlo/StablehloDialect.h"
#include "tilewright/interpret/Evaluator.h"
#include "tilewright/interpret/Types.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/simplify/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <functional>
#include <random>

namespace tilewright::expansion {

using interpret::ElementType;
using interpret::RuntimeValues;
using interpret::Tensor;
using numerics::Scalar;

using Random = std::mt19937_64;
using Dims = std::vector<int64_t>;

inline int64_t between(Random &random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}
template <typename T> const T &oneOf(Random &random, const std::vector<T> &list) {
  return list[random() % list.size()];
}

/// The kinds of elements that inputs have.
enum class Inputs { exact, special, dense };

/// Numbers of which sums are exact in any order; with `special`, also NaN and infinities; with
/// `dense`, all bits of integers and mantissas are random.
inline Scalar randomScalar(ElementType type, Random &random, Inputs inputs) {
  const int64_t number = between(random, -20, 20);
  auto real = [&]() -> double {
    if (inputs == Inputs::dense)
      return std::ldexp(static_cast<double>(random()), -63) - 1;
    if (inputs == Inputs::special && random() % 4 == 0)
      return oneOf<double>(random, {std::nan(""), HUGE_VAL, -HUGE_VAL, -0.0});
    return static_cast<double>(between(random, -20, 20)) / 4;
  };
  if (numerics::isReal(type))
    return Scalar::ofReal(real());
  if (numerics::isComplex(type))
    return Scalar::ofComplex({real(), real()});
  if (inputs == Inputs::dense && numerics::bitWidth(type) == 64)
    return Scalar::ofUnsigned(random() % 4 == 0 ? ~uint64_t(0) - random() % 3 : random());
  if (type == ElementType::pred)
    return Scalar::ofUnsigned(number & 1);
  return numerics::isSigned(type) ? Scalar::ofSigned(number % 8)
                                  : Scalar::ofUnsigned(static_cast<uint64_t>(number + 20) % 16);
}

/// By how much an element may differ from the reference, given the reference.
using Allowed = std::function<double(const Tensor &expected)>;

inline bool isSame(ElementType type, const Scalar &a, const Scalar &b, double allowed) {
  auto isClose = [&](double x, double y) {
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) && std::isnan(y);
    return x == y || std::fabs(x - y) <= allowed;
  };
  if (numerics::isComplex(type))
    return isClose(a.r, b.r) && isClose(a.im, b.im);
  return numerics::isReal(type) ? isClose(a.r, b.r) : a.u == b.u;
}

inline std::string compare(const Tensor &expected, const Tensor &actual, const Allowed &allowed) {
  if (expected.typeString() != actual.typeString())
    return concat(expected.typeString(), " became ", actual.typeString());
  const double bound = allowed ? allowed(expected) : 0;
  for (int64_t i = 0; i < expected.elementCount(); ++i)
    if (!isSame(expected.type(), expected.at(i), actual.at(i), bound))
      return concat("element ", i, ": ", interpret::toString(expected.type(), expected.at(i)),
                    " became ", interpret::toString(actual.type(), actual.at(i)), ", allowed ",
                    bound);
  return "";
}

/// Runs the pass, or the whole phase if `simplifies`. The module must not keep an op of `name`
/// that no kernel can compute.
inline std::string expand(mlir::ModuleOp module, llvm::StringRef name, bool simplifies) {
  mlir::PassManager passes(module.getContext());
  if (simplifies)
    simplify::buildSimplifyPipeline(passes);
  else
    passes.nest<mlir::func::FuncOp>().addPass(simplify::createExpandPass());
  if (mlir::failed(passes.run(module)))
    return "the pass failed";
  std::string left;
  module.walk([&](mlir::Operation *op) {
    if (op->getName().getStringRef() == name && !indexing::canTile(op))
      left = "the op is not expanded";
  });
  return left;
}

/// Evaluates a function and its expansion on random inputs. Returns the difference, or "".
inline std::string difference(llvm::StringRef name, const std::string &function, uint64_t seed,
                              Inputs kind, const Allowed &allowed = {},
                              const std::function<void(RuntimeValues &)> &prepare = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, exec::ExecDialect>();
  std::string complaints;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &found) {
    complaints += found.str() + "\n";
    return mlir::success();
  });
  const std::string text =
      concat("module attributes {exec.target = #exec.target<gpu = <>>} {\n", function, "}\n");
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return concat("does not parse: ", complaints, text);
  Random random(seed);
  interpret::Context limits;
  RuntimeValues inputs;
  for (mlir::Type type : module->lookupSymbol<mlir::func::FuncOp>("main").getArgumentTypes()) {
    auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
    const ElementType element = *interpret::elementTypeOf(tensorType.getElementType());
    Tensor tensor =
        *Tensor::allocate(element, *numerics::Shape::create(tensorType.getShape()), limits);
    for (int64_t i = 0; i < tensor.elementCount(); ++i)
      tensor.set(i, randomScalar(element, random, kind));
    inputs.emplace_back(std::move(tensor));
  }
  if (prepare)
    prepare(inputs);
  auto expected = interpret::evaluate(*module, "main", inputs, limits);
  if (!expected.isOk())
    return concat("before: ", std::move(expected).takeStatus().message(), "\n", text);
  if (std::string problem = expand(*module, name, seed % 2 == 0); !problem.empty())
    return concat(problem, "\n", complaints, text);
  auto actual = interpret::evaluate(*module, "main", inputs, limits);
  if (!actual.isOk())
    return concat("after: ", std::move(actual).takeStatus().message(), "\n", text);
  for (size_t i = 0; i < expected->size(); ++i)
    if (std::string wrong = compare((*expected)[i].tensor(), (*actual)[i].tensor(), allowed);
        !wrong.empty())
      return concat("result ", i, ", ", wrong, "\n", text);
  return "";
}

inline std::string list(const Dims &numbers) {
  if (numbers.empty())
    return "array<i64>";
  return concat(
      "array<i64: ",
      llvm::join(llvm::map_range(numbers, [](int64_t number) { return std::to_string(number); }),
                 ", "),
      ">");
}

inline std::string tensorType(const Dims &dims, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t dim : dims)
    text += concat(dim, "x");
  return concat(text, element, ">");
}

} // namespace tilewright::expansion

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TESTING_DIFFERENCE_H
