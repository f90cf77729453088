// Matrices for the tests of linear algebra: calls of routines, their expansions, and arithmetic.
#ifndef TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TESTING_MATRICES_H
#define TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TESTING_MATRICES_H

#include "tilewright/transform/simplify/expand/testing/Difference.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

namespace tilewright::expansion {

using Complex = std::complex<double>;

/// One matrix of a batch.
struct Matrix {
  int64_t rows, columns;
  std::vector<Complex> data;

  Matrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), data(static_cast<size_t>(rows * columns)) {}
  /// The last two dimensions of a tensor, at place `which` of the others.
  Matrix(const Tensor &tensor, int64_t which)
      : Matrix(tensor.shape()[tensor.rank() - 2], tensor.shape()[tensor.rank() - 1]) {
    for (int64_t i = 0; i < rows * columns; ++i) {
      const Scalar value = tensor.at(which * rows * columns + i);
      data[static_cast<size_t>(i)] = {value.r, value.im};
    }
  }
  /// A square matrix with the last dimension of a tensor on its diagonal.
  static Matrix diagonal(const Tensor &tensor, int64_t which) {
    const int64_t n = tensor.shape()[tensor.rank() - 1];
    Matrix result(n, n);
    for (int64_t i = 0; i < n; ++i) {
      const Scalar value = tensor.at(which * n + i);
      result.at(i, i) = {value.r, value.im};
    }
    return result;
  }
  static Matrix identity(int64_t n) { return Matrix(n, n).plusDiagonal(1); }

  Complex &at(int64_t row, int64_t column) {
    return data[static_cast<size_t>(row * columns + column)];
  }
  const Complex &at(int64_t row, int64_t column) const {
    return data[static_cast<size_t>(row * columns + column)];
  }
  /// The elements where a condition on row and column holds, another one elsewhere.
  Matrix where(const std::function<bool(int64_t, int64_t)> &keeps, Complex other = 0) const {
    Matrix result = *this;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        if (!keeps(i, j))
          result.at(i, j) = other;
    return result;
  }
  Matrix plusDiagonal(Complex value) const {
    Matrix result = *this;
    for (int64_t i = 0; i < std::min(rows, columns); ++i)
      result.at(i, i) += value;
    return result;
  }
  Matrix upperTriangle() const {
    return where([](int64_t i, int64_t j) { return i <= j; });
  }
  Matrix firstColumns(int64_t count) const { return block(rows, count); }
  Matrix firstRows(int64_t count) const { return block(count, columns); }
  Matrix block(int64_t height, int64_t width) const {
    Matrix result(height, width);
    for (int64_t i = 0; i < height; ++i)
      for (int64_t j = 0; j < width; ++j)
        result.at(i, j) = at(i, j);
    return result;
  }
  Matrix adjoint() const {
    Matrix result(columns, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        result.at(j, i) = std::conj(at(i, j));
    return result;
  }
  Matrix transposed() const {
    Matrix result = adjoint();
    for (Complex &value : result.data)
      value = std::conj(value);
    return result;
  }
  Matrix operator*(const Matrix &other) const {
    Matrix product(rows, other.columns);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < columns; ++k)
        for (int64_t j = 0; j < other.columns; ++j)
          product.at(i, j) += at(i, k) * other.at(k, j);
    return product;
  }
  /// The largest difference; NaN differs from everything.
  double distanceTo(const Matrix &other) const {
    double largest = 0;
    for (size_t i = 0; i < data.size(); ++i) {
      const double apart = std::abs(data[i] - other.data[i]);
      if (std::isnan(apart))
        return apart;
      largest = std::max(largest, apart);
    }
    return largest;
  }
  /// How far the columns are from orthonormal ones.
  double distanceToUnitary() const { return (adjoint() * *this).distanceTo(identity(columns)); }
};

inline double roundingOf(const std::string &element) {
  return element.find("64") != std::string::npos ? std::numeric_limits<double>::epsilon()
                                                 : std::numeric_limits<float>::epsilon();
}
/// The type of absolute values.
inline std::string realOf(const std::string &element) {
  return element.find("64") != std::string::npos ? "f64" : "f32";
}

inline ElementType elementTypeOf(const std::string &element) {
  return element == "f32"            ? ElementType::f32
         : element == "f64"          ? ElementType::f64
         : element == "i32"          ? ElementType::i32
         : element == "complex<f32>" ? ElementType::c64
                                     : ElementType::c128;
}

inline Tensor zeroTensor(const Dims &shape, const std::string &element) {
  interpret::Context limits;
  Tensor tensor =
      *Tensor::allocate(elementTypeOf(element), *numerics::Shape::create(shape), limits);
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    tensor.set(i, element == "i32"    ? Scalar::ofSigned(0)
                  : element[0] == 'c' ? Scalar::ofComplex({0, 0})
                                      : Scalar::ofReal(0));
  return tensor;
}

/// Numbers between -1 and 1, times a factor.
inline Tensor randomMatrices(const Dims &shape, const std::string &element, uint64_t seed,
                             double factor = 1) {
  Random random(seed);
  Tensor tensor = zeroTensor(shape, element);
  for (int64_t i = 0; i < tensor.elementCount(); ++i) {
    Scalar value = randomScalar(tensor.type(), random, Inputs::dense);
    tensor.set(i, element[0] == 'c' ? Scalar::ofComplex({value.r * factor, value.im * factor})
                                    : Scalar::ofReal(value.r * factor));
  }
  return tensor;
}

/// Writes a matrix into a batch.
inline void store(Tensor &tensor, int64_t which, const Matrix &matrix) {
  const bool isComplex = numerics::isComplex(tensor.type());
  const auto count = static_cast<int64_t>(matrix.data.size());
  for (int64_t i = 0; i < count; ++i) {
    const Complex value = matrix.data[static_cast<size_t>(i)];
    tensor.set(which * count + i, isComplex ? Scalar::ofComplex({value.real(), value.imag()})
                                            : Scalar::ofReal(value.real()));
  }
}

/// Expands and evaluates a program of custom calls.
inline RuntimeValues evaluateExpansion(const std::string &function, const RuntimeValues &inputs) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, stablehlo::StablehloDialect, exec::ExecDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      concat("module attributes {exec.target = #exec.target<gpu = <>>} {\n", function, "}\n"),
      &context);
  EXPECT_TRUE(module) << function;
  EXPECT_EQ(expand(*module, "stablehlo.custom_call", /*simplifies=*/true), "");
  auto results = interpret::evaluate(*module, "main", inputs);
  EXPECT_TRUE(results.isOk()) << std::move(results).takeStatus().message() << function;
  return *results;
}

/// A function that consists of one call.
inline std::string callOf(const std::string &name, const std::string &config,
                          const std::vector<std::string> &operands,
                          const std::vector<std::string> &results) {
  std::string arguments, names, values;
  for (size_t i = 0; i < operands.size(); ++i) {
    arguments += concat(i ? ", " : "", "%a", i, ": ", operands[i]);
    names += concat(i ? ", " : "", "%a", i);
  }
  for (size_t i = 0; i < results.size(); ++i)
    values += concat(i ? ", " : "", results.size() == 1 ? "%r" : concat("%r#", i));
  const std::string types = llvm::join(results, ", ");
  return concat(
      "func.func @main(", arguments, ") -> (", types, ") {\n  %r",
      results.size() == 1 ? "" : concat(":", results.size()), " = stablehlo.custom_call @", name,
      "(", names, ") {api_version = 4 : i32, backend_config = {", config, "}} : (",
      llvm::join(operands, ", "), ") -> (", types, ")\n  return ", values, " : ", types, "\n}\n");
}

/// Calls one routine on tensors.
inline RuntimeValues call(const std::string &name, const std::string &config,
                          const RuntimeValues &inputs, const std::vector<std::string> &results) {
  std::vector<std::string> operands;
  for (const auto &input : inputs)
    operands.push_back(concat("tensor<", input.tensor().typeString(), ">"));
  return evaluateExpansion(callOf(name, config, operands, results), inputs);
}

} // namespace tilewright::expansion

#endif // TILEWRIGHT_TRANSFORM_SIMPLIFY_EXPAND_TESTING_MATRICES_H
