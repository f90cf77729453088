#include "tilewright/collective/conformance/Reference.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilewright::collective::conformance {

using numerics::storageBytes;

std::string Case::text() const {
  std::string text = concat(nameOf(kind), " ", nameOf(operation), " of ", tensors, " x ",
                            numerics::spelling(element), listed(dims), ", dimensions ", dimension,
                            " and ", splitDimension, isInPlace ? ", in place" : "", ", groups");
  for (const auto &group : groups)
    text += " " + listed(group);
  return text;
}

int64_t elements(const Dims &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

/// Hashes three numbers to pseudo-random bits.
static uint64_t noise(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t x = a * 0x9E3779B97F4A7C15U + b * 0xBF58476D1CE4E5B9U + c * 0x94D049BB133111EBU + 1;
  x ^= x >> 31;
  x *= 0xD6E8FEB86659FD93U;
  return x ^ (x >> 32);
}

static void put(std::byte *to, ElementType type, uint64_t bits) {
  std::memcpy(to, &bits, storageBytes(type));
}
static uint64_t take(const std::byte *from, ElementType type) {
  uint64_t bits = 0;
  std::memcpy(&bits, from, storageBytes(type));
  return bits;
}

/// Random numbers of magnitude 2^-4 to 2^4, with either sign: their sums lose bits in every format,
/// and their products do not overflow in the wide formats.
static uint64_t randomReal(ElementType type, uint64_t seed) {
  const double fraction = 1 + static_cast<double>(seed >> 12) * 0x1p-52;
  const int exponent = static_cast<int>(seed & 7) - 4;
  const bool isNegative = (seed & 8) && type != ElementType::f8E8M0FNU;
  return numerics::encode(type, std::ldexp(isNegative ? -fraction : fraction, exponent));
}

Bytes operandOf(const Case &test, int64_t rank, size_t tensor) {
  const size_t width = storageBytes(test.element);
  Bytes bytes(static_cast<size_t>(elements(test.dims)) * width);
  for (size_t i = 0; i * width < bytes.size(); ++i) {
    const uint64_t seed = noise(static_cast<uint64_t>(rank), tensor, i);
    std::byte *to = &bytes[i * width];
    if (test.element == ElementType::pred)
      put(to, test.element, seed & 1);
    else if (numerics::isInteger(test.element))
      put(to, test.element, seed & (~uint64_t(0) >> (64 - numerics::bitWidth(test.element))));
    else if (numerics::isComplex(test.element)) {
      const ElementType part = numerics::componentOf(test.element);
      put(to, part, randomReal(part, seed));
      put(to + storageBytes(part), part, randomReal(part, noise(seed, 1, 2)));
    } else
      put(to, test.element, randomReal(test.element, seed));
  }
  return bytes;
}

std::vector<int64_t> groupOf(const Case &test, int64_t rank, int64_t ranks) {
  if (test.groups.empty()) {
    std::vector<int64_t> all;
    for (int64_t member = 0; test.kind != Kind::permute && member < ranks; ++member)
      all.push_back(member);
    return all;
  }
  for (const auto &group : test.groups)
    if (std::find(group.begin(), group.end(), rank) != group.end())
      return group;
  return {};
}

Dims resultDims(const Case &test, int64_t members) {
  Dims dims = test.dims;
  if (test.kind == Kind::allGather || test.kind == Kind::allToAll)
    dims[static_cast<size_t>(test.dimension)] *= members;
  if (test.kind == Kind::reduceScatter)
    dims[static_cast<size_t>(test.dimension)] /= members;
  if (test.kind == Kind::allToAll)
    dims[static_cast<size_t>(test.splitDimension)] /= members;
  return dims;
}

static double combineReal(ReductionKind operation, double a, double b) {
  if (operation == ReductionKind::add)
    return a + b;
  if (operation == ReductionKind::multiply)
    return a * b;
  if (a == b) // -0 is less than +0
    return std::signbit(a) == (operation == ReductionKind::minimum) ? a : b;
  return operation == ReductionKind::maximum ? std::max(a, b) : std::min(a, b);
}

/// For formats narrower than double, computing in double and then rounding gives the correctly
/// rounded sum or product.
static uint64_t combineBits(ReductionKind operation, ElementType type, uint64_t a, uint64_t b) {
  if (type == ElementType::f64) {
    double x, y;
    std::memcpy(&x, &a, 8);
    std::memcpy(&y, &b, 8);
    const double z = combineReal(operation, x, y);
    std::memcpy(&a, &z, 8);
    return a;
  }
  if (numerics::isReal(type))
    return numerics::encode(
        type, combineReal(operation, numerics::decode(type, a), numerics::decode(type, b)));
  const uint64_t mask = ~uint64_t(0) >> (64 - numerics::bitWidth(type));
  if (operation == ReductionKind::bitAnd ||
      (type == ElementType::pred && operation == ReductionKind::multiply))
    return a & b;
  if (operation == ReductionKind::bitOr ||
      (type == ElementType::pred && operation == ReductionKind::add))
    return a | b;
  if (operation == ReductionKind::bitXor)
    return a ^ b;
  if (operation == ReductionKind::add)
    return (a + b) & mask;
  if (operation == ReductionKind::multiply)
    return (a * b) & mask;
  // Flipping the sign bit makes unsigned comparison order negative numbers first.
  const uint64_t flip = numerics::isSigned(type) ? (mask >> 1) + 1 : 0;
  const bool isLess = (a ^ flip) < (b ^ flip);
  return (operation == ReductionKind::minimum) == isLess ? a : b;
}

static void combine(const Case &test, std::byte *into, const std::byte *from) {
  if (!numerics::isComplex(test.element))
    return put(into, test.element,
               combineBits(test.operation, test.element, take(into, test.element),
                           take(from, test.element)));
  const ElementType part = numerics::componentOf(test.element);
  const size_t width = storageBytes(part);
  const uint64_t a = take(into, part), b = take(into + width, part);
  const uint64_t c = take(from, part), d = take(from + width, part);
  auto bits = [&](ReductionKind operation, uint64_t x, uint64_t y) {
    return combineBits(operation, part, x, y);
  };
  const uint64_t negative = uint64_t(1) << (8 * width - 1);
  if (test.operation == ReductionKind::add) {
    put(into, part, bits(ReductionKind::add, a, c));
    put(into + width, part, bits(ReductionKind::add, b, d));
  } else {
    put(into, part,
        bits(ReductionKind::add, bits(ReductionKind::multiply, a, c),
             bits(ReductionKind::multiply, b, d) ^ negative));
    put(into + width, part,
        bits(ReductionKind::add, bits(ReductionKind::multiply, a, d),
             bits(ReductionKind::multiply, b, c)));
  }
}

Bytes expected(const Case &test, int64_t rank, int64_t ranks, size_t tensor) {
  const size_t width = storageBytes(test.element);
  std::vector<int64_t> group = groupOf(test, rank, ranks);
  if (test.kind == Kind::permute) {
    group.clear();
    for (const auto &pair : test.groups)
      if (pair[1] == rank)
        group = {pair[0]};
  }
  const auto members = static_cast<int64_t>(std::max<size_t>(group.size(), 1));
  const Dims outDims = resultDims(test, members);
  Bytes out(static_cast<size_t>(elements(outDims)) * width);
  if (group.empty())
    return out;
  const int64_t mine = std::find(group.begin(), group.end(), rank) - group.begin();
  std::vector<Bytes> operands;
  for (int64_t member : group)
    operands.push_back(operandOf(test, member, tensor));

  const size_t n = outDims.size();
  for (int64_t o = 0; o < elements(outDims); ++o) {
    Dims at(n); // index in the result, then in the operand
    int64_t rest = o;
    for (size_t d = n; d-- > 0; rest /= outDims[d])
      at[d] = rest % outDims[d];
    size_t member = 0;
    const auto dim = static_cast<size_t>(test.dimension);
    const auto split = static_cast<size_t>(test.splitDimension);
    if (test.kind == Kind::allGather) {
      member = static_cast<size_t>(at[dim] / test.dims[dim]);
      at[dim] %= test.dims[dim];
    } else if (test.kind == Kind::reduceScatter) {
      at[dim] += mine * outDims[dim];
    } else if (test.kind == Kind::allToAll) {
      const int64_t piece = outDims[dim] / members;
      member = static_cast<size_t>(at[dim] / piece);
      at[dim] %= piece;
      at[split] += mine * (test.dims[split] / members);
    }
    int64_t from = 0;
    for (size_t d = 0; d < n; ++d)
      from = from * test.dims[d] + at[d];
    std::byte *to = &out[static_cast<size_t>(o) * width];
    std::memcpy(to, &operands[member][static_cast<size_t>(from) * width], width);
    if (test.kind == Kind::allReduce || test.kind == Kind::reduceScatter)
      for (size_t other = 1; other < operands.size(); ++other)
        combine(test, to, &operands[other][static_cast<size_t>(from) * width]);
  }
  return out;
}

Trial::Trial(const Case &test, int64_t rank, int64_t ranks) : test(test), rank(rank), ranks(ranks) {
  for (size_t t = 0; t < test.tensors; ++t) {
    operands.push_back(operandOf(test, rank, t));
    results.push_back(expected(test, rank, ranks, t));
  }
}

Status Trial::run(Communicator &communicator,
                  const std::function<std::byte *(size_t)> &allocate) const {
  const auto members =
      test.kind == Kind::permute
          ? 1
          : static_cast<int64_t>(std::max<size_t>(groupOf(test, rank, ranks).size(), 1));
  std::vector<Bytes> heap;
  auto memory = [&](size_t bytes) -> std::byte * {
    if (allocate)
      if (std::byte *shared = allocate(bytes))
        return shared;
    return heap.emplace_back(bytes + 1).data(); // never null
  };
  Call call;
  call.kind = test.kind;
  call.groups = &test.groups;
  call.reduction.operation = test.operation;
  call.dimension = test.dimension;
  call.splitDimension = test.splitDimension;
  call.name = nameOf(test.kind);
  call.place = "train.py:41";
  for (size_t t = 0; t < test.tensors; ++t) {
    Tensor tensor{test.element, test.dims, resultDims(test, members), nullptr, nullptr};
    std::byte *in = memory(operands[t].size());
    std::copy(operands[t].begin(), operands[t].end(), in);
    const size_t bytes = static_cast<size_t>(elements(tensor.outDims)) * storageBytes(test.element);
    tensor.in = in;
    tensor.out = test.isInPlace ? in : memory(bytes);
    if (!test.isInPlace)
      std::fill_n(tensor.out, bytes, std::byte(0xa5));
    call.tensors.push_back(std::move(tensor));
  }
  TILEWRIGHT_TRY(communicator.run(call));
  for (size_t t = 0; t < test.tensors; ++t) {
    const Bytes &right = results[t];
    const Tensor &tensor = call.tensors[t];
    for (size_t i = 0; i < right.size(); ++i)
      if (tensor.out[i] != right[i])
        return Status(Code::internal,
                      concat("rank ", rank, " of ", ranks, ", ", test.text(), ": byte ", i,
                             " of result ", t, " is ", static_cast<int>(tensor.out[i]),
                             ", expected ", static_cast<int>(right[i])));
    if (!test.isInPlace && !std::equal(operands[t].begin(), operands[t].end(), tensor.in))
      return Status(Code::internal,
                    concat("rank ", rank, ", ", test.text(), ": operand ", t, " was modified"));
  }
  return Status();
}

Status tryRaggedRows(const Groups &groups, int64_t width, int64_t scale, Communicator &rank) {
  const Case test{Kind::raggedAllToAll, ElementType::i32, {}, groups};
  const std::vector<int64_t> group = groupOf(test, rank.rank(), rank.size());
  const auto members = static_cast<int64_t>(group.size());
  const int64_t me = std::find(group.begin(), group.end(), rank.rank()) - group.begin();
  std::vector<int64_t> starts, sizes, targets, comes, ragged;
  int64_t next = 0, rows = 0;
  for (int64_t to = 0; to < members; ++to) {
    starts.push_back(next);
    sizes.push_back((me + to) * scale);
    next += sizes.back();
    int64_t target = 1; // the first row stays as it was
    for (int64_t before = 0; before < me; ++before)
      target += (before + to) * scale;
    targets.push_back(target);
    comes.push_back((to + me) * scale);
    rows += comes.back();
  }
  for (const auto *list : {&starts, &sizes, &targets, &comes})
    ragged.insert(ragged.end(), list->begin(), list->end());
  auto valueAt = [](int64_t of, int64_t i) { return static_cast<int32_t>(100'000 * of + i); };
  std::vector<int32_t> in(static_cast<size_t>(next * width));
  std::vector<int32_t> out(static_cast<size_t>((rows + 2) * width), -1);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = valueAt(rank.rank(), static_cast<int64_t>(i));
  Call call;
  call.kind = Kind::raggedAllToAll;
  call.groups = &groups;
  call.ragged = ragged;
  call.name = "ragged";
  call.tensors = {{ElementType::i32,
                   {next, width},
                   {rows + 2, width},
                   reinterpret_cast<const std::byte *>(in.data()),
                   reinterpret_cast<std::byte *>(out.data())}};
  TILEWRIGHT_TRY(rank.run(call));
  auto at = static_cast<size_t>(width);
  for (int64_t from = 0; from < members; ++from) {
    int64_t first = 0;
    for (int64_t to = 0; to < me; ++to)
      first += (from + to) * scale;
    for (int64_t i = 0; i < (from + me) * scale * width; ++i, ++at)
      if (out[at] != valueAt(group[static_cast<size_t>(from)], first * width + i))
        return Status(Code::internal,
                      concat("rank ", rank.rank(), ": element ", i, " of the rows from rank ",
                             group[static_cast<size_t>(from)], " is ", out[at]));
  }
  for (size_t i = 0; i < static_cast<size_t>(width); ++i)
    if (out[i] != -1 || out[at + i] != -1)
      return Status(Code::internal, "a row that no rank sent was overwritten");
  return Status();
}

} // namespace tilewright::collective::conformance
