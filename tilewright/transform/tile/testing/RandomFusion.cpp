#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/testing/Programs.h"

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace tilewright::tile {

namespace {

using Dims = std::vector<int64_t>;

struct Value {
  std::string name;
  Dims shape;
  std::string element;
};

/// Types of indices.
const std::vector<std::string> indexElements = {"i32", "i64",  "ui8",  "i8",
                                                "i16", "ui16", "ui32", "ui64"};

/// Writes one fusion op by op. Each step uses existing values and adds a new one.
class Writer {
public:
  Writer(uint64_t seed) : random(seed) {}

  std::string write(int ops);
  /// Only data movement, with a few elementwise ops in between; some tensors are empty.
  std::string writeMovement(int ops);

private:
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  template <typename List> auto pick(const List &list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(list.size())))];
  }

  static std::string list(const Dims &dims) {
    std::string text;
    for (int64_t dim : dims)
      text += (text.empty() ? "" : ", ") + std::to_string(dim);
    return "[" + text + "]";
  }
  static std::string type(const Dims &shape, const std::string &element) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element + ">";
  }
  static std::string type(const Value &value) { return type(value.shape, value.element); }
  static int64_t volume(const Dims &shape) {
    int64_t product = 1;
    for (int64_t size : shape)
      product *= size;
    return product;
  }

  Value add(const std::string &text, Dims shape, const std::string &element) {
    Value value{concat("%v", count++), std::move(shape), element};
    body += concat("    ", value.name, " = ", text, "\n");
    values.push_back(value);
    return value;
  }
  Value input(Dims shape, const std::string &element) {
    Value value{concat("%a", inputs.size()), std::move(shape), element};
    inputs.push_back(value);
    values.push_back(value);
    return value;
  }
  Value constant(const std::string &text, const std::string &element, Dims shape = {}) {
    return add(concat("stablehlo.constant dense<", text, "> : ", type(shape, element)), shape,
               element);
  }
  bool isFloat(const Value &value) { return value.element[0] == 'f' || value.element[0] == 'b'; }
  bool isComplex(const Value &value) { return value.element[0] == 'c'; }

  /// A value of the same type as `model`, made by broadcasting if there is none.
  Value like(const Value &model);
  Dims randomShape() {
    static const std::array<int64_t, 12> sizes = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 70, 130};
    Dims shape;
    const int64_t rank = below(8) ? 1 + below(3) : 0;
    for (int64_t i = 0; i < rank; ++i)
      shape.push_back(pick(sizes));
    while (volume(shape) > 4000)
      *std::max_element(shape.begin(), shape.end()) = 2;
    return shape;
  }

  void unary(const Value &x);
  void binary(const Value &x);
  void chooseOp(const Value &x);
  void convert(const Value &x);
  void reshape(const Value &x);
  void transpose(const Value &x);
  void broadcast(const Value &x);
  void slice(const Value &x);
  Value update(Value x);
  void dynamicSlice(const Value &x);
  void gather(const Value &x);
  void addStep(const Value &x);
  void addMovement(const Value &x);
  /// A value, late ones more often than early ones, so that chains grow.
  Value pickLate() {
    const auto last = static_cast<int64_t>(values.size()) - 1;
    return values[static_cast<size_t>(last - std::min(below(last + 1), below(last + 1)))];
  }
  /// The module, with the last value and some others as results.
  std::string finish();
  void pad(const Value &x);
  void concatenate(const Value &x);
  void reverse(const Value &x);
  void reduce(const Value &x);
  void iota();
  void dot(const Value &x);

  std::mt19937_64 random;
  std::string body;
  std::vector<Value> values, inputs;
  int count = 0;
  bool mayBeEmpty = false;
};

} // namespace

Value Writer::like(const Value &model) {
  std::vector<Value> fitting;
  for (const Value &value : values)
    if (value.shape == model.shape && value.element == model.element)
      fitting.push_back(value);
  if (!fitting.empty() && below(4) != 0)
    return pick(fitting);
  // Broadcast from a random subset of its dimensions.
  Dims shape, dims;
  for (size_t i = 0; i < model.shape.size(); ++i)
    if (below(2)) {
      shape.push_back(below(5) ? model.shape[i] : 1);
      dims.push_back(static_cast<int64_t>(i));
    }
  Value source = input(shape, model.element);
  return add(concat("stablehlo.broadcast_in_dim ", source.name, ", dims = ", list(dims), " : (",
                    type(source), ") -> ", type(model)),
             model.shape, model.element);
}

void Writer::unary(const Value &x) {
  static const std::vector<std::string> reals = {"abs",  "negate",      "floor",  "sign",    "tanh",
                                                 "sqrt", "exponential", "cosine", "logistic"};
  static const std::vector<std::string> integers = {"not", "negate", "sign", "popcnt", "abs"};
  if (x.element == "i1") {
    add(concat("stablehlo.not ", x.name, " : ", type(x)), x.shape, x.element);
    return;
  }
  std::string op = isFloat(x) ? pick(reals) : isComplex(x) ? "negate" : pick(integers);
  if (x.element[0] == 'u' && (op == "abs" || op == "negate" || op == "sign"))
    op = "not";
  add(concat("stablehlo.", op, " ", x.name, " : ", type(x)), x.shape, x.element);
}

void Writer::binary(const Value &x) {
  static const std::vector<std::string> reals = {"add",     "subtract", "multiply",
                                                 "maximum", "minimum",  "divide"};
  static const std::vector<std::string> integers = {
      "add",      "subtract", "multiply", "maximum",    "minimum",
      "and",      "divide",   "xor",      "shift_left", "shift_right_logical",
      "remainder"};
  static const std::vector<std::string> booleans = {"and", "or", "xor", "add", "maximum"};
  static const std::vector<std::string> complexes = {"add", "subtract", "multiply"};
  Value y = like(x);
  std::string op = x.element == "i1" ? pick(booleans)
                   : isFloat(x)      ? pick(reals)
                   : isComplex(x)    ? pick(complexes)
                                     : pick(integers);
  if (below(2))
    add(concat("stablehlo.", op, " ", x.name, ", ", y.name, " : ", type(x)), x.shape, x.element);
  else
    add(concat("stablehlo.", op, " ", y.name, ", ", x.name, " : ", type(x)), x.shape, x.element);
}

void Writer::chooseOp(const Value &x) {
  if (isComplex(x))
    return;
  Value y = like(x);
  static const std::vector<std::string> directions = {"EQ", "NE", "LT", "GE"};
  const char *kind = isFloat(x)                                 ? "FLOAT"
                     : x.element[0] == 'u' || x.element == "i1" ? "UNSIGNED"
                                                                : "SIGNED";
  Value p = add(concat("stablehlo.compare ", pick(directions), ", ", x.name, ", ", y.name, ", ",
                       kind, " : (", type(x), ", ", type(y), ") -> ", type(x.shape, "i1")),
                x.shape, "i1");
  add(concat("stablehlo.select ", p.name, ", ", x.name, ", ", y.name, " : ", type(p), ", ",
             type(x)),
      x.shape, x.element);
}

void Writer::convert(const Value &x) {
  static const std::vector<std::string> elements = {"f32", "f32", "i32", "bf16",
                                                    "i64", "ui8", "i1",  "f16"};
  const std::string to = pick(elements);
  if (isComplex(x))
    return;
  add(concat("stablehlo.convert ", x.name, " : (", type(x), ") -> ", type(x.shape, to)), x.shape,
      to);
}

void Writer::reshape(const Value &x) {
  Dims shape;
  int64_t rest = volume(x.shape);
  while (rest > 1) {
    std::vector<int64_t> divisors;
    for (int64_t d = 2; d <= rest; ++d)
      if (rest % d == 0)
        divisors.push_back(d);
    const int64_t d = pick(divisors);
    shape.push_back(d);
    rest /= d;
    if (below(6) == 0)
      shape.push_back(1);
  }
  if (rest == 0)
    shape = {1 + below(3), 0, 1 + below(3)};
  if (shape.size() > 5)
    return;
  add(concat("stablehlo.reshape ", x.name, " : (", type(x), ") -> ", type(shape, x.element)), shape,
      x.element);
}

void Writer::transpose(const Value &x) {
  Dims permutation, shape;
  for (size_t i = 0; i < x.shape.size(); ++i)
    permutation.push_back(static_cast<int64_t>(i));
  std::shuffle(permutation.begin(), permutation.end(), random);
  for (int64_t dim : permutation)
    shape.push_back(x.shape[static_cast<size_t>(dim)]);
  add(concat("stablehlo.transpose ", x.name, ", dims = ", list(permutation), " : (", type(x),
             ") -> ", type(shape, x.element)),
      shape, x.element);
}

void Writer::broadcast(const Value &x) {
  if (volume(x.shape) > 1000)
    return;
  Dims shape, dims;
  for (int64_t size : x.shape) {
    if (below(3) == 0)
      shape.push_back(1 + below(4));
    dims.push_back(static_cast<int64_t>(shape.size()));
    shape.push_back(size == 1 && below(2) ? 3 : size);
  }
  if (below(2))
    shape.push_back(1 + below(4));
  add(concat("stablehlo.broadcast_in_dim ", x.name, ", dims = ", list(dims), " : (", type(x),
             ") -> ", type(shape, x.element)),
      shape, x.element);
}

void Writer::slice(const Value &x) {
  if (x.shape.empty())
    return;
  std::string ranges;
  Dims shape;
  for (int64_t size : x.shape) {
    const int64_t start = below(2) || size == 0 ? 0 : below(size),
                  limit = below(2) || size == 0 ? size : start + 1 + below(size - start);
    const int64_t stride = below(3) ? 1 : 1 + below(3);
    shape.push_back((limit - start + stride - 1) / stride);
    ranges += concat(ranges.empty() ? "" : ", ", start, ":", limit, ":", stride);
  }
  add(concat("stablehlo.slice ", x.name, " [", ranges, "] : (", type(x), ") -> ",
             type(shape, x.element)),
      shape, x.element);
}

void Writer::dynamicSlice(const Value &x) {
  const std::string element = pick(indexElements);
  std::string names, types;
  Dims shape;
  for (int64_t size : x.shape) {
    shape.push_back(below(2) || size == 0 ? size : 1 + below(size));
    Value start = input({}, element);
    names += concat(start.name, ", ");
    types += concat(", ", type(start));
  }
  add(concat("stablehlo.dynamic_slice ", x.name, ", ", names, "sizes = ", list(shape), " : (",
             type(x), types, ") -> ", type(shape, x.element)),
      shape, x.element);
}

/// Writes a value into a window of another input; some positions are out of bounds.
Value Writer::update(Value x) {
  static const std::vector<std::string> elements = {"i32", "i64", "ui8"};
  const std::string element = pick(elements);
  Dims shape;
  for (int64_t size : x.shape)
    shape.push_back(below(2) ? size : size + below(6));
  Value whole = input(shape, x.element);
  std::string names, types;
  for (size_t i = 0; i < shape.size(); ++i) {
    Value start = input({}, element);
    names += concat(", ", start.name);
    types += concat(", ", type(start));
  }
  return add(concat("stablehlo.dynamic_update_slice ", whole.name, ", ", x.name, names, " : (",
                    type(whole), ", ", type(x), types, ") -> ", type(whole)),
             shape, x.element);
}

/// Gathers of every form; some indices are out of bounds.
void Writer::gather(const Value &x) {
  if (x.shape.empty() || volume(x.shape) == 0)
    return;
  const Value table = below(2) ? input(x.shape, x.element) : x;
  const std::string element = pick(indexElements);
  Dims slices = x.shape, collapsed, batching, map, window, batchSizes;
  for (size_t dim = 0; dim < x.shape.size(); ++dim) {
    const auto number = static_cast<int64_t>(dim);
    const int64_t role = below(4);
    if (role == 0) {
      batching.push_back(number);
      batchSizes.push_back(x.shape[dim]);
      slices[dim] = 1;
      continue;
    }
    if (role == 1) {
      collapsed.push_back(number);
      slices[dim] = 1;
    } else {
      slices[dim] = below(2) ? x.shape[dim] : 1 + below(x.shape[dim]);
      window.push_back(slices[dim]);
    }
    if (below(3))
      map.push_back(number);
  }
  std::shuffle(map.begin(), map.end(), random);
  // The indices: batching dimensions and others in any order, with the index vectors in between.
  Dims indices = batchSizes, places;
  for (int64_t more = below(3); more > 0; --more)
    indices.push_back(1 + below(9));
  for (size_t i = 0; i < indices.size(); ++i)
    places.push_back(static_cast<int64_t>(i));
  std::shuffle(places.begin(), places.end(), random);
  Dims sizes(indices.size()), indicesBatching;
  for (size_t i = 0; i < indices.size(); ++i)
    sizes[static_cast<size_t>(places[i])] = indices[i];
  const bool isImplicit = map.size() == 1 && below(2);
  const int64_t vector = isImplicit ? static_cast<int64_t>(sizes.size())
                                    : below(static_cast<int64_t>(sizes.size()) + 1);
  for (size_t i = 0; i < batching.size(); ++i)
    indicesBatching.push_back(places[i] + (!isImplicit && places[i] >= vector));
  // The result: batch dimensions with the window's dimensions in between.
  Dims shape = sizes, offsets;
  for (int64_t size : window) {
    const int64_t first = offsets.empty() ? 0 : offsets.back() + 1;
    offsets.push_back(first + below(static_cast<int64_t>(shape.size()) - first + 1));
    shape.insert(shape.begin() + offsets.back(), size);
  }
  if (volume(shape) > 20000)
    return;
  if (!isImplicit)
    sizes.insert(sizes.begin() + vector, static_cast<int64_t>(map.size()));
  const Value at = input(sizes, element);
  const std::string sliceList = list(slices);
  add(concat("\"stablehlo.gather\"(", table.name, ", ", at.name,
             ") <{dimension_numbers = #stablehlo.gather<offset_dims = ", list(offsets),
             ", collapsed_slice_dims = ", list(collapsed), ", operand_batching_dims = ",
             list(batching), ", start_indices_batching_dims = ", list(indicesBatching),
             ", start_index_map = ", list(map), ", index_vector_dim = ", vector,
             ">, slice_sizes = array<i64: ", sliceList.substr(1, sliceList.size() - 2),
             ">, indices_are_sorted = false}> : (", type(table), ", ", type(at), ") -> ",
             type(shape, x.element)),
      shape, x.element);
}

void Writer::pad(const Value &x) {
  if (isComplex(x))
    return;
  Dims low, high, interior, shape;
  for (int64_t size : x.shape) {
    low.push_back(below(2) ? 0 : below(4) - 1);
    high.push_back(below(2) ? 0 : below(4) - 1);
    interior.push_back(below(4) ? 0 : 1 + below(3));
    shape.push_back(size + low.back() + high.back() +
                    std::max<int64_t>(size - 1, 0) * interior.back());
    // Few tensors are empty, because everything that follows them is.
    if (shape.back() < 0 || (shape.back() == 0 && (!mayBeEmpty || below(4))) ||
        volume(shape) > 20000)
      return;
  }
  Value value = below(2) ? input({}, x.element)
                         : constant(x.element == "i1" ? "true"
                                    : isFloat(x)      ? "1.5"
                                                      : "3",
                                    x.element);
  add(concat("stablehlo.pad ", x.name, ", ", value.name, ", low = ", list(low),
             ", high = ", list(high), ", interior = ", list(interior), " : (", type(x), ", ",
             type(value), ") -> ", type(shape, x.element)),
      shape, x.element);
}

void Writer::concatenate(const Value &x) {
  if (x.shape.empty())
    return;
  const int64_t dim = below(static_cast<int64_t>(x.shape.size()));
  std::vector<Value> pieces = {x, like(x)};
  for (int64_t more = below(3) ? 0 : 1 + below(below(4) ? 1 : 10); more > 0; --more)
    pieces.push_back(like(x));
  if (volume(x.shape) * static_cast<int64_t>(pieces.size()) > 20000)
    return;
  std::string names, types;
  Dims shape = x.shape;
  shape[static_cast<size_t>(dim)] *= static_cast<int64_t>(pieces.size());
  for (const Value &piece : pieces) {
    names += (names.empty() ? "" : ", ") + piece.name;
    types += (types.empty() ? "" : ", ") + type(piece);
  }
  add(concat("stablehlo.concatenate ", names, ", dim = ", dim, " : (", types, ") -> ",
             type(shape, x.element)),
      shape, x.element);
}

void Writer::reverse(const Value &x) {
  Dims dims;
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (below(2))
      dims.push_back(static_cast<int64_t>(i));
  add(concat("stablehlo.reverse ", x.name, ", dims = ", list(dims), " : ", type(x)), x.shape,
      x.element);
}

void Writer::reduce(const Value &x) {
  Dims dims, shape;
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (below(2))
      dims.push_back(static_cast<int64_t>(i));
    else
      shape.push_back(x.shape[i]);
  if (isComplex(x))
    return;
  // A long sum in a narrow type is meaningless: a large partial sum absorbs further terms.
  const bool isShort = volume(x.shape) / std::max<int64_t>(volume(shape), 1) > 32 &&
                       (x.element == "bf16" || x.element == "f16");
  const bool isMaximum = below(2) || isShort;
  Value init = below(3) == 0 ? input({}, x.element)
                             : constant(x.element == "i1" ? "false"
                                        : isFloat(x)      ? "0.0"
                                                          : "0",
                                        x.element);
  add(concat("stablehlo.reduce(", x.name, " init: ", init.name, ") applies stablehlo.",
             isMaximum ? "maximum" : "add", " across dimensions = ", list(dims), " : (", type(x),
             ", ", type(init), ") -> ", type(shape, x.element)),
      shape, x.element);
}

void Writer::iota() {
  Dims shape = randomShape();
  if (shape.empty())
    return;
  static const std::vector<std::string> elements = {"f32", "i32", "ui8", "bf16"};
  const std::string element = pick(elements);
  add(concat("stablehlo.iota dim = ", below(static_cast<int64_t>(shape.size())), " : ",
             type(shape, element)),
      shape, element);
}

void Writer::dot(const Value &x) {
  if (x.element == "i1" || x.shape.empty() || volume(x.shape) > 2000)
    return;
  // Every dimension of x is batch, contracted or kept; y has additional dimensions.
  Dims batch, yBatch, contracted, yContracted, yShape, shape, rows, columns;
  for (size_t i = 0; i < x.shape.size(); ++i) {
    const int64_t role = below(3);
    if (role == 2) {
      rows.push_back(x.shape[i]);
      continue;
    }
    (role == 0 ? batch : contracted).push_back(static_cast<int64_t>(i));
    (role == 0 ? yBatch : yContracted).push_back(static_cast<int64_t>(yShape.size()));
    yShape.push_back(x.shape[i]);
    if (role == 0)
      shape.push_back(x.shape[i]);
    if (below(3) == 0 && volume(yShape) < 500) {
      columns.push_back(2 + below(3));
      yShape.push_back(columns.back());
    }
  }
  shape.insert(shape.end(), rows.begin(), rows.end());
  shape.insert(shape.end(), columns.begin(), columns.end());
  if (volume(shape) > 5000)
    return;
  Value y = input(yShape, x.element);
  add(concat("stablehlo.dot_general ", x.name, ", ", y.name, ", batching_dims = ", list(batch),
             " x ", list(yBatch), ", contracting_dims = ", list(contracted), " x ",
             list(yContracted), " : (", type(x), ", ", type(y), ") -> ", type(shape, x.element)),
      shape, x.element);
}

void Writer::addStep(const Value &x) {
  switch (below(16)) {
  case 0:
  case 1:
    return unary(x);
  case 2:
  case 3:
  case 4:
    return binary(x);
  case 5:
    return chooseOp(x);
  case 6:
    return convert(x);
  case 7:
  case 8:
    return reshape(x);
  case 9:
    return transpose(x);
  case 10:
    return broadcast(x);
  case 11:
    return below(3) ? slice(x) : dynamicSlice(x);
  case 12:
    return pad(x);
  case 13:
    return below(2) ? concatenate(x) : below(2) ? reverse(x) : gather(x);
  case 14:
    return reduce(x);
  case 15:
    return below(2) ? iota() : dot(x);
  }
}

void Writer::addMovement(const Value &x) {
  switch (below(16)) {
  case 0:
    return below(2) ? unary(x) : binary(x);
  case 1:
    return below(2) ? convert(x) : broadcast(x);
  case 2:
  case 3:
  case 4:
    return reshape(x);
  case 5:
  case 6:
    return transpose(x);
  case 7:
    return slice(x);
  case 8:
  case 9:
    return dynamicSlice(x);
  case 10:
  case 11:
    return pad(x);
  case 12:
    return concatenate(x);
  case 13:
  case 14:
    return reverse(x);
  case 15:
    return gather(x);
  }
}

std::string Writer::write(int ops) {
  static const std::vector<std::string> elements = {"f32",  "f32",  "f32", "i32", "i64",
                                                    "ui64", "bf16", "ui8", "i1",  "complex<f32>"};
  input(randomShape(), pick(elements));
  for (int i = 0; i < ops; ++i)
    addStep(pickLate());
  return finish();
}

std::string Writer::writeMovement(int ops) {
  static const std::vector<std::string> elements = {"f32", "i32", "f64", "bf16",
                                                    "i8",  "i1",  "ui16"};
  mayBeEmpty = true;
  Dims shape = randomShape();
  // Some tensors of high rank.
  while (below(8) == 0 && shape.size() < 9)
    shape.push_back(1 + below(3));
  input(volume(shape) > 4000 ? Dims{5, 7, 3} : shape, pick(elements));
  for (int i = 0; i < ops; ++i)
    addMovement(pickLate());
  return finish();
}

std::string Writer::finish() {
  std::vector<Value> results = {values.back()};
  while (below(3) == 0)
    results.push_back(pick(values));
  // The whole that is written into is an input that nothing else reads, so it comes last.
  if (below(6) == 0)
    results.push_back(update(values.back()));

  std::string arguments, outer, names, types, resultNames, resultTypes;
  for (const Value &value : inputs) {
    const char *comma = names.empty() ? "" : ", ";
    names += concat(comma, "%m", value.name.substr(1));
    outer += concat(comma, "%m", value.name.substr(1), ": ", type(value));
    types += concat(comma, type(value));
    arguments += concat(comma, value.name, ": ", type(value));
  }
  for (const Value &value : results) {
    const char *comma = resultNames.empty() ? "" : ", ";
    resultNames += concat(comma, value.name);
    resultTypes += concat(comma, type(value));
  }
  // Many cores and short vectors, so that even small tensors have many tiles, some of them ragged.
  std::string text =
      concat("module attributes {exec.target = #exec.target<units = ", 1 + below(8),
             ", min_parallel_items = 1, cpu = <vector_bytes = ", int64_t(1) << below(4),
             ">>} {\nfunc.func @main(", outer, ") -> (", resultTypes, ") {\n");
  text += concat("  %r", results.size() > 1 ? concat(":", results.size()) : "",
                 " = exec.fusion \"random\" (", names, ") : (", types, ") -> (", resultTypes,
                 ") {\n  ^bb0(", arguments, "):\n", body, "    exec.yield ", resultNames, " : ",
                 resultTypes, "\n  }\n  return ");
  for (size_t i = 0; i < results.size(); ++i)
    text += concat(i ? ", " : "", "%r", results.size() > 1 ? concat("#", i) : "");
  return text + concat(" : ", resultTypes, "\n}\n}\n");
}

std::string randomFusion(uint64_t seed, int ops) { return Writer(seed).write(ops); }

std::string randomMovement(uint64_t seed, int ops) { return Writer(seed).writeMovement(ops); }

} // namespace tilewright::tile
