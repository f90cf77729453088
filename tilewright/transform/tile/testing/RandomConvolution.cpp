#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace tilewright::tile {

namespace {

using Dims = std::vector<int64_t>;

/// The element types of the operands and of the result.
struct Types {
  const char *operands, *result;
};
constexpr std::array<Types, 14> types = {{{"f32", "f32"},
                                          {"f32", "f32"},
                                          {"f16", "f32"},
                                          {"f16", "f16"},
                                          {"bf16", "bf16"},
                                          {"bf16", "f32"},
                                          {"f64", "f64"},
                                          {"i8", "i32"},
                                          {"i32", "i32"},
                                          {"i64", "i64"},
                                          {"ui8", "ui8"},
                                          {"ui32", "ui32"},
                                          {"f8E4M3FN", "f32"},
                                          {"complex<f32>", "complex<f32>"}}};

/// One operand or the result: its dimensions in an order of its own.
struct Side {
  std::vector<std::string> roles; // "b", "0", "f" and so on
  Dims shape;

  std::string layout() const {
    std::string text;
    for (const std::string &role : roles)
      text += (text.empty() ? "" : ", ") + role;
    return "[" + text + "]";
  }
  std::string type(const std::string &element) const {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element + ">";
  }
};

class ConvolutionWriter {
public:
  explicit ConvolutionWriter(uint64_t seed) : random(seed) {}

  std::string write(bool dilatesInput, bool inFusion);

private:
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  void addSpatial(int64_t number, int64_t rank, bool dilatesInput);
  Side side(const std::string &first, int64_t firstSize, const std::string &second,
            int64_t secondSize, const Dims &spatial, const std::string &last);
  static std::string list(const Dims &dims) {
    std::string text;
    for (int64_t dim : dims)
      text += (text.empty() ? "" : ", ") + std::to_string(dim);
    return "[" + text + "]";
  }

  std::mt19937_64 random;
  Dims input, window, result, strides, inputDilation, windowDilation;
  std::string padding, reversal;
};

void ConvolutionWriter::addSpatial(int64_t number, int64_t rank, bool dilatesInput) {
  // Every third window is about as large as the input, as in the gradient of the weights.
  const int64_t most = rank <= 2 ? 9 : 5;
  const int64_t size = 1 + below(most), stride = below(2) ? 1 : 1 + below(3),
                dilation = below(2) ? 1 : 1 + below(3),
                inside = dilatesInput ? 1 + below(below(4) ? 3 : 6) : 1;
  const int64_t taps = below(3) ? 1 + below(4) : std::max<int64_t>(1, size - below(3));
  const int64_t extent = (size - 1) * inside + 1, reach = (taps - 1) * dilation + 1;
  int64_t low = below(2) ? 0 : below(6) - 2, high = below(2) ? 0 : below(6) - 2;
  // The window seldom has no position at all.
  if (extent + low + high < reach && below(20))
    high = reach - extent - low + below(3);
  const int64_t padded = extent + low + high;
  input.push_back(size);
  window.push_back(taps);
  result.push_back(padded < reach ? 0 : (padded - reach) / stride + 1);
  strides.push_back(stride);
  inputDilation.push_back(inside);
  windowDilation.push_back(dilation);
  padding += concat(number ? ", " : "", "[", low, ", ", high, "]");
  reversal += concat(number ? ", " : "", below(4) ? "false" : "true");
}

/// Dimensions in any order, but `last` last unless it is empty.
Side ConvolutionWriter::side(const std::string &first, int64_t firstSize, const std::string &second,
                             int64_t secondSize, const Dims &spatial, const std::string &last) {
  std::vector<std::pair<std::string, int64_t>> dims = {{first, firstSize}, {second, secondSize}};
  for (size_t i = 0; i < spatial.size(); ++i)
    dims.emplace_back(std::to_string(i), spatial[i]);
  for (size_t i = dims.size(); i > 1; --i)
    std::swap(dims[i - 1], dims[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  std::stable_partition(dims.begin(), dims.end(),
                        [&](const auto &dim) { return dim.first != last; });
  Side made;
  for (const auto &[role, size] : dims) {
    made.roles.push_back(role);
    made.shape.push_back(size);
  }
  return made;
}

std::string ConvolutionWriter::write(bool dilatesInput, bool inFusion) {
  const int64_t rank = below(12) ? 1 + below(2) : below(5);
  for (int64_t i = 0; i < rank; ++i)
    addSpatial(i, rank, dilatesInput);
  int64_t featureGroups = 1, batchGroups = 1;
  if (below(3) == 0)
    (below(2) ? featureGroups : batchGroups) = 1 + below(4);
  const bool isWide = below(8) == 0;
  int64_t batch = batchGroups * (1 + below(3));
  int64_t inputs = below(3) ? 1 + below(isWide ? 40 : 6) : 1;
  int64_t outputs = featureGroups * batchGroups * (below(3) ? 1 + below(isWide ? 40 : 6) : 1);
  const Types *used = &types[static_cast<size_t>(below(types.size()))];
  // Every fourth can be loaded by copies: contiguous along a dimension of the product, in multiples
  // of 16 bytes.
  const char *lastOfInput = "", *lastOfWindow = "", *lastOfResult = "";
  if (rank <= 2 && below(4) == 0) {
    used = &types[static_cast<size_t>(2 + below(4))];
    inputs = 8 * (1 + below(9));
    outputs = featureGroups * batchGroups * 8 * (1 + below(9));
    lastOfInput = "f";
    lastOfWindow = below(3) ? "o" : "i";
    lastOfResult = below(4) ? "f" : "";
    if (below(3) == 0) {
      // The gradient of the weights contracts the batch.
      std::swap(batch, inputs);
      batch *= batchGroups;
      lastOfInput = "b";
      lastOfWindow = "o";
    }
  }
  const Side lhs = side("b", batch, "f", inputs * featureGroups, input, lastOfInput);
  const Side rhs = side("i", inputs, "o", outputs, window, lastOfWindow);
  const Side out = side("b", batch / batchGroups, "f", outputs, result, lastOfResult);

  const std::string left = lhs.type(used->operands), right = rhs.type(used->operands),
                    made = out.type(used->result);
  std::string attributes;
  if (rank > 0) {
    attributes = concat("stride = ", list(strides), ", pad = [", padding,
                        "], rhs_dilate = ", list(windowDilation), ", reverse = [", reversal, "]");
    if (dilatesInput)
      attributes += concat(", lhs_dilate = ", list(inputDilation));
  }
  // A producer that maps zero to another number must not be seen in the padding.
  const bool hasPrologue = inFusion && below(4) == 0, hasEpilogue = inFusion && below(3) == 0;
  std::string body;
  if (hasPrologue)
    body += concat("%one = stablehlo.constant dense<",
                   used->operands[0] == 'c'                     ? "(1.0, 0.0)"
                   : std::string(used->operands).find('i') <= 1 ? "1"
                                                                : "1.0",
                   "> : ", left, "\n%moved = stablehlo.add %0, %one : ", left, "\n");
  body += concat("%c = stablehlo.convolution(", hasPrologue ? "%moved" : "%0",
                 ", %1) dim_numbers = ", lhs.layout(), "x", rhs.layout(), "->", out.layout(),
                 ", window = {", attributes, "} {batch_group_count = ", batchGroups,
                 " : i64, feature_group_count = ", featureGroups, " : i64",
                 below(4) ? ""
                          : ", precision_config = [#stablehlo<precision HIGHEST>, "
                            "#stablehlo<precision HIGHEST>]",
                 "} : (", left, ", ", right, ") -> ", made, "\n");
  if (hasEpilogue)
    body += concat("%e = stablehlo.negate %c : ", made, "\n");
  const std::string last = hasEpilogue ? "%e" : "%c";
  // Blocks that hold few elements, so that small sums are loops too.
  std::string text =
      concat("module attributes {exec.target = #exec.target<units = ", 1 + below(7),
             ", tile_elements = ", int64_t(1) << (4 + below(9)), ", gpu = <>, matrix = <types = [",
             below(3) ? "f16, bf16, i8, f8E4M3FN" : "", "]>>} {\n");
  if (!inFusion)
    return text + concat("func.func @main(%0: ", left, ", %1: ", right, ") -> ", made, " {\n", body,
                         "return ", last, " : ", made, "\n}\n}\n");
  return text + concat("func.func @main(%a: ", left, ", %b: ", right, ") -> ", made,
                       " {\n%r = exec.fusion \"convolution\" (%a, %b) : (", left, ", ", right,
                       ") -> ", made, " {\n^bb0(%0: ", left, ", %1: ", right, "):\n", body,
                       "exec.yield ", last, " : ", made, "\n}\nreturn %r : ", made, "\n}\n}\n");
}

} // namespace

std::string randomConvolution(uint64_t seed) {
  return ConvolutionWriter(seed).write(/*dilatesInput=*/false, /*inFusion=*/true);
}

std::string randomDilatedConvolution(uint64_t seed) {
  return ConvolutionWriter(seed).write(/*dilatesInput=*/true, /*inFusion=*/false);
}

} // namespace tilewright::tile
