// Compares scatters of every form with their expansions.
#include "tilewright/transform/simplify/expand/testing/Difference.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace tilewright;
using namespace tilewright::expansion;

namespace {

/// A scatter with random dimension numbers; indices are often out of bounds, and often equal.
std::string randomScatter(Random &random, const std::string &element, const std::string &body,
                          int64_t longest) {
  Dims input, batch, window, windowDims, inserted, batching, indicesBatching, scattered;
  const int64_t rank = between(random, longest ? 1 : 0, 4);
  for (int64_t i = longest ? 2 : between(random, 0, 2); i > 0; --i)
    batch.push_back(longest ? between(random, longest - 50, longest) : between(random, 0, 5));
  for (int64_t dim = 0; dim < rank; ++dim) {
    const int64_t size =
        longest && dim == 0 ? between(random, longest - 50, longest) : between(random, 1, 5);
    input.push_back(size);
    const int64_t kind = random() % 5;
    if (kind == 0 && !longest) { // batching
      batching.push_back(dim);
      indicesBatching.push_back(static_cast<int64_t>(batch.size()));
      batch.push_back(size);
      continue;
    }
    if (kind != 1)
      scattered.push_back(dim);
    if (kind < 4 || (longest && dim == 0))
      inserted.push_back(dim);
    else
      window.push_back(between(random, 1, size));
  }
  std::shuffle(scattered.begin(), scattered.end(), random);
  // The updates have the batch and window dimensions in any order that keeps each of the two.
  Dims updates, windowPositions;
  for (size_t b = 0, w = 0; b < batch.size() || w < window.size();) {
    const bool takesWindow = b == batch.size() || (w < window.size() && random() % 2);
    if (takesWindow)
      windowPositions.push_back(static_cast<int64_t>(updates.size()));
    updates.push_back(takesWindow ? window[w++] : batch[b++]);
  }
  // One index needs no dimension for the index vector.
  const bool isImplicit = scattered.size() == 1 && random() % 2;
  const int64_t vector = isImplicit ? static_cast<int64_t>(batch.size())
                                    : between(random, 0, static_cast<int64_t>(batch.size()));
  Dims indices = batch;
  if (!isImplicit)
    indices.insert(indices.begin() + vector, static_cast<int64_t>(scattered.size()));
  for (int64_t &dim : indicesBatching)
    dim += !isImplicit && dim >= vector ? 1 : 0;
  auto named = [](const char *name, const Dims &dims) {
    std::string text;
    for (int64_t dim : dims)
      text += concat(text.empty() ? "" : ", ", dim);
    return dims.empty() ? "" : concat(name, " = [", text, "], ");
  };
  const std::string index = oneOf<std::string>(random, {"i32", "i64", "ui8", "i8"});
  const std::string types = concat(tensorType(input, element), ", ", tensorType(indices, index),
                                   ", ", tensorType(updates, element));
  return concat(
      "func.func @main(%x: ", tensorType(input, element), ", %i: ", tensorType(indices, index),
      ", %u: ", tensorType(updates, element), ") -> ", tensorType(input, element),
      " {\n  %r = \"stablehlo.scatter\"(%x, %i, %u) <{",
      "scatter_dimension_numbers = #stablehlo.scatter<",
      named("update_window_dims", windowPositions), named("inserted_window_dims", inserted),
      named("input_batching_dims", batching),
      named("scatter_indices_batching_dims", indicesBatching),
      named("scatter_dims_to_operand_dims", scattered), "index_vector_dim = ", vector,
      ">, unique_indices = false}> ({\n  ^bb0(%a: tensor<", element, ">, %b: tensor<", element,
      ">):\n    ", body, "\n  }) : (", types, ") -> ", tensorType(input, element),
      "\n  return %r : ", tensorType(input, element), "\n}\n");
}

std::string scatterBody(Random &random, const std::string &element) {
  std::vector<std::string> names = {"add", "maximum", "minimum", "", ""};
  if (element == "i1")
    names = {"or", "and", "xor", ""};
  if (element == "complex<f32>")
    names = {"add", ""};
  const std::string name = oneOf(random, names);
  const std::string type = concat("tensor<", element, ">");
  // Bodies that are not associative, and one whose updates are computed first.
  if (element == "i32" || element == "i64" || element == "f64")
    switch (random() % 6) {
    case 0:
      return concat("%s = stablehlo.subtract %a, %b : ", type,
                    "\n    stablehlo.return %s : ", type);
    case 1:
      return concat("%s = stablehlo.negate %a : ", type, "\n    stablehlo.return %s : ", type);
    case 2:
      return concat("%t = stablehlo.add %a, %a : ", type,
                    "\n    %s = stablehlo.add %t, %b : ", type,
                    "\n    stablehlo.return %s : ", type);
    case 3:
      return concat("%t = stablehlo.add %b, %b : ", type,
                    "\n    %s = stablehlo.add %t, %a : ", type,
                    "\n    stablehlo.return %s : ", type);
    default:
      break;
    }
  if (name.empty())
    return concat("stablehlo.return %b : tensor<", element, ">");
  return concat("%s = stablehlo.", name, " %a, %b : tensor<", element,
                ">\n    stablehlo.return %s : tensor<", element, ">");
}

} // namespace

TEST(Expand, ScattersOfEveryForm) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const std::string element = oneOf<std::string>(
        random, {"f32", "bf16", "i32", "ui8", "i1", "complex<f32>", "f64", "i64"});
    const std::string text = randomScatter(random, element, scatterBody(random, element), 0);
    ASSERT_EQ(
        difference("stablehlo.scatter", text, seed, seed % 3 ? Inputs::exact : Inputs::special), "")
        << "seed " << seed;
  }
}

/// So many rows and updates that the updates are sorted.
TEST(Expand, ScattersOfManyUpdates) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed);
    const std::string element = oneOf<std::string>(random, {"f32", "i32", "ui8"});
    const std::string text = randomScatter(random, element, scatterBody(random, element), 330);
    ASSERT_EQ(difference("stablehlo.scatter", text, seed, Inputs::exact), "") << "seed " << seed;
  }
}
