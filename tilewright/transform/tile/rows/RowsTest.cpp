// Radix sorts and scatters of sorted rows keep their meaning as kernels, on a GPU whose blocks hold
// few elements.
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include "gtest/gtest.h"

namespace tilewright::tile {

namespace {

std::string inModule(int64_t elements, std::string_view function) {
  return concat("module attributes {exec.target = #exec.target<units = 64, tile_elements = ",
                elements, ", gpu = <>>} {\n", function, "}");
}

/// A sort of rows of keys with their indices; `less` computes %l from %p and %q.
std::string sortOf(int64_t rows, int64_t length, int64_t kept, std::string_view element,
                   std::string_view less) {
  const std::string keys = concat("tensor<", rows, "x", length, "x", element, ">"),
                    order = concat("tensor<", rows, "x", length, "xi32>"),
                    first = concat("tensor<", rows, "x", kept, "x", element, ">"),
                    places = concat("tensor<", rows, "x", kept, "xi32>"),
                    results = concat("(", first, ", ", places, ")"),
                    slice = concat(" [0:", rows, ", 0:", kept, "] : (");
  return inModule(
      512, concat("func.func @main(%x: ", keys, ") -> ", results,
                  " {\n%r:2 = exec.fusion \"sort\" (%x) : (", keys, ") -> ", results,
                  " {\n^bb0(%a: ", keys, "):\n%i = stablehlo.iota dim = 1 : ", order,
                  "\n%s:2 = \"stablehlo.sort\"(%a, %i) <{dimension = 1 : i64, is_stable = true}> "
                  "({\n^bb0(%p: tensor<",
                  element, ">, %q: tensor<", element, ">, %j: tensor<i32>, %k: tensor<i32>):\n",
                  less, "\nstablehlo.return %l : tensor<i1>\n}) : (", keys, ", ", order, ") -> (",
                  keys, ", ", order, ")\n%0 = stablehlo.slice %s#0", slice, keys, ") -> ", first,
                  "\n%1 = stablehlo.slice %s#1", slice, order, ") -> ", places,
                  "\nexec.yield %0, %1 : ", first, ", ", places, "\n}\nreturn %r#0, %r#1 : ", first,
                  ", ", places, "\n}\n"));
}

std::string comparison(std::string_view element, std::string_view direction,
                       std::string_view operands, std::string_view type) {
  return concat("%l = stablehlo.compare ", direction, ", ", operands, ", ", type, " : (tensor<",
                element, ">, tensor<", element, ">) -> tensor<i1>");
}

/// A scatter of `count` updates, sorted by row, into a table of 7 rows.
std::string scatterOf(int64_t count, int64_t columns, std::string_view element,
                      std::string_view body) {
  const std::string table = concat("tensor<7x", columns, "x", element, ">"),
                    keys = concat("tensor<", count, "xi8>"),
                    order = concat("tensor<", count, "xi32>"),
                    updates = concat("tensor<", count, "x", columns, "x", element, ">");
  return inModule(
      64,
      concat("func.func @main(%t: ", table, ", %k: ", keys, ", %u: ", updates, ") -> ", table,
             " {\n%m = stablehlo.constant dense<15> : ", keys,
             "\n%n = stablehlo.and %k, %m : ", keys, "\n%i = stablehlo.iota dim = 0 : ", order,
             "\n%s:2 = \"stablehlo.sort\"(%n, %i) <{dimension = 0 : i64, is_stable = true}> "
             "({\n^bb0(%p: tensor<i8>, %q: tensor<i8>, %x: tensor<i32>, %y: tensor<i32>):\n",
             comparison("i8", "LT", "%p, %q", "SIGNED"),
             "\nstablehlo.return %l : tensor<i1>\n}) : (", keys, ", ", order, ") -> (", keys, ", ",
             order, ")\n%r = exec.fusion \"scatter\" (%t, %s#0, %u, %s#1) : (", table, ", ", keys,
             ", ", updates, ", ", order, ") -> ", table, " {\n^bb0(%a: ", table, ", %b: ", keys,
             ", %c: ", updates, ", %d: ", order,
             "):\n%g = \"stablehlo.gather\"(%c, %d) <{dimension_numbers = "
             "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = "
             "[0], index_vector_dim = 1>, slice_sizes = array<i64: 1, ",
             columns, ">}> : (", updates, ", ", order, ") -> ", updates,
             "\n%w = \"stablehlo.scatter\"(%a, %b, %g) <{indices_are_sorted = true, "
             "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
             "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = "
             "1>}> ({\n^bb0(%p: tensor<",
             element, ">, %q: tensor<", element, ">):\n", body, "\n}) : (", table, ", ", keys, ", ",
             updates, ") -> ", table, "\nexec.yield %w : ", table, "\n}\nreturn %r : ", table,
             "\n}\n"));
}

} // namespace

TEST(RadixSort, KeysOfAllTypesKeepTheirMeaning) {
  struct Key {
    std::string_view element, direction, operands, type;
  };
  for (const Key &key :
       {Key{"i8", "LT", "%p, %q", "SIGNED"}, Key{"ui8", "GT", "%p, %q", "UNSIGNED"},
        Key{"i16", "LT", "%q, %p", "SIGNED"}, Key{"ui16", "GT", "%q, %p", "UNSIGNED"},
        Key{"f16", "LT", "%p, %q", "TOTALORDER"}, Key{"bf16", "GT", "%p, %q", "TOTALORDER"}})
    for (int64_t length : {5000, 5120}) {
      int kernels = 0;
      EXPECT_EQ(
          compareWithTiled(sortOf(2, length, length, key.element,
                                  comparison(key.element, key.direction, key.operands, key.type)),
                           1, false, &kernels),
          "")
          << key.element << " " << length;
      // Zeros, counts, where digits begin, the state, and two or three passes.
      EXPECT_EQ(kernels, key.element.ends_with("8") ? 6 : 7) << key.element;
    }
}

TEST(RadixSort, WideKeysKeepTheirMeaning) {
  for (std::string_view element : {"i32", "f32"})
    EXPECT_EQ(compareWithTiled(sortOf(1, 20001, 20001, element,
                                      comparison(element, "LT", "%p, %q",
                                                 element == "i32" ? "SIGNED" : "TOTALORDER")),
                               1),
              "")
        << element;
}

TEST(RadixSort, AFunctionOfTheElementIsAKey) {
  // As JAX writes it: equal zeros, equal NaNs behind all numbers.
  std::string less = "%zero = stablehlo.constant dense<0.0> : tensor<f16>\n"
                     "%nan = stablehlo.constant dense<0x7E00> : tensor<f16>\n";
  for (std::string_view side : {"p", "q"})
    less +=
        concat("%z", side, " = stablehlo.compare EQ, %", side,
               ", %zero, FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>\n%a", side,
               " = stablehlo.select %z", side, ", %zero, %", side, " : tensor<i1>, tensor<f16>\n%n",
               side, " = stablehlo.compare NE, %", side, ", %", side,
               ", FLOAT : (tensor<f16>, tensor<f16>) -> tensor<i1>\n%b", side,
               " = stablehlo.select %n", side, ", %nan, %a", side, " : tensor<i1>, tensor<f16>\n");
  less += comparison("f16", "LT", "%bp, %bq", "TOTALORDER");
  int kernels = 0;
  EXPECT_EQ(compareWithTiled(sortOf(1, 5000, 4000, "f16", less), 2, false, &kernels), "");
  EXPECT_EQ(kernels, 7);
}

TEST(RadixSort, OtherComparatorsAreMerged) {
  // Not a comparison itself.
  const std::string less =
      "%m = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i8>, tensor<i8>) -> "
      "tensor<i1>\n%l = stablehlo.and %m, %m : tensor<i1>";
  int kernels = 0;
  EXPECT_EQ(compareWithTiled(sortOf(1, 5000, 5000, "i8", less), 1, false, &kernels), "");
  EXPECT_EQ(kernels, 9); // chunks and four levels of merges
}

TEST(Segments, ScattersOfSortedRowsKeepTheirMeaning) {
  const std::string add =
                        "%v = stablehlo.add %p, %q : tensor<i8>\nstablehlo.return %v : tensor<i8>",
                    last = "stablehlo.return %q : tensor<f32>";
  for (int64_t columns : {1, 3, 70})
    for (int64_t count : {1, 2, 9, 32, 33, 300}) {
      EXPECT_EQ(compareWithTiled(scatterOf(count, columns, "i8", add), 1), "")
          << count << " " << columns;
      EXPECT_EQ(compareWithTiled(scatterOf(count, columns, "f32", last), 2), "")
          << count << " " << columns;
    }
}

} // namespace tilewright::tile
