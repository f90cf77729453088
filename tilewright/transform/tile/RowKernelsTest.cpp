// Sorts and scans keep their meaning as kernels, on a GPU whose blocks hold few elements.
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include "gtest/gtest.h"

namespace tilewright::tile {

namespace {

std::string inModule(std::string_view target, std::string_view function) {
  return concat("module attributes {exec.target = #exec.target<units = 64, tile_elements = 64, ",
                target, ">} {\n", function, "}");
}

/// A sort of i8 keys, which are often equal, with their indices and a float; the first `kept`
/// elements of all.
std::string sortOf(std::vector<int64_t> shape, size_t dim, int64_t kept) {
  auto tensor = [&](std::string_view element) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += concat(size, "x");
    return concat(text, element, ">");
  };
  const std::string keys = tensor("i8"), values = tensor("f32"), order = tensor("i32");
  std::string slice = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    slice += concat(i ? ", " : "", "0:", i == dim ? kept : shape[i]);
  shape[dim] = kept;
  const std::string firstKeys = tensor("i8"), firstValues = tensor("f32"),
                    firstOrder = tensor("i32");
  const std::string results = concat("(", firstKeys, ", ", firstValues, ", ", firstOrder, ")");
  return inModule(
      "gpu = <>",
      concat("func.func @main(%x: ", keys, ", %y: ", values, ") -> ", results,
             " {\n%r:3 = exec.fusion \"sort\" (%x, %y) : (", keys, ", ", values, ") -> ", results,
             " {\n^bb0(%a: ", keys, ", %b: ", values, "):\n%i = stablehlo.iota dim = ", dim, " : ",
             order, "\n%s:3 = \"stablehlo.sort\"(%a, %b, %i) <{dimension = ", dim,
             " : i64, is_stable = true}> ({\n"
             "^bb0(%p: tensor<i8>, %q: tensor<i8>, %u: tensor<f32>, %v: tensor<f32>, %j: "
             "tensor<i32>, %k: tensor<i32>):\n"
             "%four = stablehlo.constant dense<4> : tensor<i8>\n"
             "%m = stablehlo.remainder %p, %four : tensor<i8>\n"
             "%n = stablehlo.remainder %q, %four : tensor<i8>\n"
             "%l = stablehlo.compare GT, %m, %n, SIGNED : (tensor<i8>, tensor<i8>) -> tensor<i1>\n"
             "stablehlo.return %l : tensor<i1>\n}) : (",
             keys, ", ", values, ", ", order, ") -> (", keys, ", ", values, ", ", order,
             ")\n%0 = stablehlo.slice %s#0 ", slice, "] : (", keys, ") -> ", firstKeys,
             "\n%1 = stablehlo.slice %s#1 ", slice, "] : (", values, ") -> ", firstValues,
             "\n%2 = stablehlo.slice %s#2 ", slice, "] : (", order, ") -> ", firstOrder,
             "\nexec.yield %0, %1, %2 : ", firstKeys, ", ", firstValues, ", ", firstOrder,
             "\n}\nreturn %r#0, %r#1, %r#2 : ", firstKeys, ", ", firstValues, ", ", firstOrder,
             "\n}\n"));
}

std::string scanOf(std::vector<int64_t> shape, size_t dim, bool reverse, std::string_view body,
                   std::string_view init) {
  std::string type = "tensor<", window, padding;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = i == dim ? shape[i] : 1;
    type += concat(shape[i], "x");
    window += concat(i ? ", " : "", size);
    padding += concat(i ? ", [" : "[", reverse ? 0 : size - 1, ", ", reverse ? size - 1 : 0, "]");
  }
  type += "i32>";
  return inModule(
      "gpu = <>",
      concat("func.func @main(%x: ", type, ") -> ", type, " {\n%r = exec.fusion \"scan\" (%x) : (",
             type, ") -> ", type, " {\n^bb0(%a: ", type, "):\n%z = stablehlo.constant dense<", init,
             "> : tensor<i32>\n%s = \"stablehlo.reduce_window\"(%a, %z) <{window_dimensions = "
             "array<i64: ",
             window, ">, padding = dense<[", padding, "]> : tensor<", shape.size(),
             "x2xi64>}> ({\n^bb0(%p: tensor<i32>, %q: tensor<i32>):\n", body,
             "\nstablehlo.return %v : tensor<i32>\n}) : (", type, ", tensor<i32>) -> ", type,
             "\nexec.yield %s : ", type, "\n}\nreturn %r : ", type, "\n}\n"));
}

} // namespace

TEST(RowKernels, SortsOfAllLengthsKeepTheirMeaning) {
  for (int64_t length : {1, 2, 3, 63, 64, 65, 127, 128, 129, 200, 1000})
    EXPECT_EQ(compareWithTiled(sortOf({3, length}, 1, length), 1), "") << length;
}

TEST(RowKernels, SortsOfAllDimensionsKeepTheirMeaning) {
  for (int64_t length : {5, 64, 150})
    for (size_t dim : {0, 1, 2}) {
      std::vector<int64_t> shape = {3, 3, 5};
      shape[dim] = length;
      EXPECT_EQ(compareWithTiled(sortOf(shape, dim, length), 2), "") << length << " " << dim;
    }
}

TEST(RowKernels, FirstElementsOfSortsKeepTheirMeaning) {
  for (int64_t length : {7, 64, 65, 129, 1000, 2100})
    for (int64_t kept : {1, 5, 32, 33, 64, 100})
      if (kept <= length)
        EXPECT_EQ(compareWithTiled(sortOf({2, length}, 1, kept), 3), "") << length << " " << kept;
}

TEST(RowKernels, KernelsOfSorts) {
  int kernels = 0;
  auto count = [&](int64_t length, int64_t kept) {
    EXPECT_EQ(compareWithTiled(sortOf({2, length}, 1, kept), 1, false, &kernels), "");
    return kernels;
  };
  EXPECT_EQ(count(64, 64), 1);
  EXPECT_EQ(count(65, 65), 3);   // chunks, where to merge, and one merge
  EXPECT_EQ(count(256, 256), 5); // two levels of merges
  EXPECT_EQ(count(2000, 1), 2);  // the first of each of 32 chunks, and of these
}

TEST(RowKernels, ScansKeepTheirMeaning) {
  struct Body {
    const char *text, *init;
  };
  // The last body is not a single op, so chunks cannot repeat its initial value.
  for (const Body &body :
       {Body{"%v = stablehlo.add %p, %q : tensor<i32>", "0"},
        Body{"%v = stablehlo.maximum %p, %q : tensor<i32>", "-2147483648"},
        Body{"%w = stablehlo.xor %p, %q : tensor<i32>\n%n = stablehlo.not %w : tensor<i32>\n"
             "%v = stablehlo.not %n : tensor<i32>",
             "0"}})
    for (bool reverse : {false, true}) {
      for (int64_t length : {1, 2, 31, 32, 33, 100, 1100})
        EXPECT_EQ(compareWithTiled(scanOf({3, length}, 1, reverse, body.text, body.init), 1), "")
            << length << body.text;
      for (const std::vector<int64_t> &shape : {std::vector<int64_t>{100, 3}, {33, 70}, {5, 40}})
        EXPECT_EQ(compareWithTiled(scanOf(shape, 0, reverse, body.text, body.init), 1), "")
            << shape[0] << body.text;
    }
}

TEST(RowKernels, KernelsOfScans) {
  int kernels = 0;
  auto count = [&](std::vector<int64_t> shape, size_t dim) {
    EXPECT_EQ(
        compareWithTiled(scanOf(shape, dim, false, "%v = stablehlo.add %p, %q : tensor<i32>", "0"),
                         1, false, &kernels),
        "");
    return kernels;
  };
  EXPECT_EQ(count({3, 32}, 1), 1);
  EXPECT_EQ(count({3, 1024}, 1), 1); // in a loop
  // Few rows of more than 32 chunks: zeros, and chunks that wait for each other.
  EXPECT_EQ(count({3, 1025}, 1), 2);
  EXPECT_EQ(count({5, 1025}, 1), 1); // enough rows
  EXPECT_EQ(count({1025, 3}, 0), 1);
}

} // namespace tilewright::tile
