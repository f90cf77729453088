#include "tilewright/collective/Move.h"
#include "tilewright/collective/Clique.h"
#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace tilewright::collective {

using numerics::Shape;
using numerics::storageBytes;

static size_t elements(std::span<const int64_t> dims) {
  return static_cast<size_t>(
      std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>()));
}
static size_t outerOf(std::span<const int64_t> dims, int64_t dim) {
  return elements(dims.first(static_cast<size_t>(dim)));
}
static size_t innerOf(std::span<const int64_t> dims, int64_t dim) {
  return elements(dims.subspan(static_cast<size_t>(dim)));
}

static Status checkTensor(const Call &call, const Tensor &tensor, int64_t members) {
  TILEWRIGHT_ASSIGN(Shape in, Shape::create(tensor.inDims));
  TILEWRIGHT_ASSIGN(Shape out, Shape::create(tensor.outDims));
  std::vector<int64_t> expected = tensor.inDims;
  auto scale = [&](int64_t dim, bool isUp) {
    if (dim < 0 || dim >= in.rank())
      return false;
    int64_t &size = expected[static_cast<size_t>(dim)];
    if (!isUp && size % members != 0)
      return false;
    if (isUp)
      return !__builtin_mul_overflow(size, members, &size);
    size /= members;
    return true;
  };
  bool isFine = true;
  if (call.kind == Kind::raggedAllToAll) {
    isFine = in.rank() > 0 && out.rank() == in.rank();
    if (isFine)
      expected[0] = tensor.outDims[0];
  } else if (call.kind == Kind::allGather)
    isFine = scale(call.dimension, true);
  else if (call.kind == Kind::reduceScatter)
    isFine = scale(call.dimension, false);
  else if (call.kind == Kind::allToAll)
    isFine = scale(call.splitDimension, false) && scale(call.dimension, true);
  if (!isFine || expected != tensor.outDims)
    return Status(Error::collectiveGroups,
                  concat("'", call.name, "' (", nameOf(call.kind), " of ", members,
                         " ranks) cannot produce a result of shape ", listed(tensor.outDims),
                         " from an operand of shape ", listed(tensor.inDims)));
  const bool reduces = call.kind == Kind::allReduce || call.kind == Kind::reduceScatter;
  if (reduces && !call.reduction.isBody() && !combineFor(call.reduction.operation, tensor.element))
    return Status(Error::collectiveGroups,
                  concat("'", call.name, "' reduces ", numerics::spelling(tensor.element), " by '",
                         nameOf(call.reduction.operation),
                         "', which is not defined for this type"));
  return Status();
}

static Status checkRagged(const Call &call, int64_t members) {
  const size_t entries = call.ragged.size() / 4;
  if (call.tensors.size() != 1 || entries == 0 || call.ragged.size() % 4 != 0 ||
      entries % static_cast<size_t>(members) != 0)
    return Status(Error::collectiveGroups,
                  concat("'", call.name, "' (ragged_all_to_all of ", members, " ranks) has ",
                         call.tensors.size(), " tensors and ", call.ragged.size(),
                         " offsets and sizes; it must have 1 tensor, and four lists whose common "
                         "length is a multiple of the number of ranks"));
  const int64_t rows = call.tensors[0].inDims[0];
  for (size_t e = 0; e < entries; ++e) {
    const int64_t offset = call.ragged[e], size = call.ragged[entries + e];
    if (offset < 0 || size < 0 || offset > rows || size > rows - offset)
      return Status(Error::raggedRows, concat("'", call.name, "' sends ", size, " rows from row ",
                                              offset, " of a tensor with ", rows, " rows"));
  }
  return Status();
}

Status checkReceivedLists(const Call &call, int64_t members, int64_t rank) {
  const int64_t entries = static_cast<int64_t>(call.ragged.size()) / 4;
  if (call.tensors.size() != 1 || call.ragged.size() % 4 != 0 || entries % members != 0)
    return Status(Error::collectiveGroups,
                  concat(describe(call), " has ", call.tensors.size(), " tensors and ",
                         call.ragged.size(),
                         " offsets and sizes; it must have 1 tensor and four "
                         "lists that a group of ",
                         members, " divides"));
  TILEWRIGHT_TRY(checkTensor(call, call.tensors[0], members));
  auto list = [&](int64_t which, int64_t entry) {
    return call.ragged[static_cast<size_t>(which * entries + entry)];
  };
  for (int64_t entry = 0; entry < entries; ++entry)
    for (const bool isSend : {true, false}) {
      const int64_t offset = list(isSend ? 0 : 2, entry), rows = list(isSend ? 1 : 3, entry);
      const int64_t limit = (isSend ? call.tensors[0].inDims : call.tensors[0].outDims)[0];
      if (offset < 0 || rows < 0 || (rows > 0 && (offset > limit || rows > limit - offset)))
        return Status(Error::raggedRows,
                      concat(describe(call), ": rank ", rank, isSend ? " sends" : " receives",
                             " rows ", offset, " to ", offset + rows, " of a tensor with ", limit,
                             " rows"));
    }
  return Status();
}

Status checkCall(const Call &call, int64_t members) {
  for (const Tensor &tensor : call.tensors)
    TILEWRIGHT_TRY(checkTensor(call, tensor, members));
  if (call.kind == Kind::raggedAllToAll)
    TILEWRIGHT_TRY(checkRagged(call, members));
  // A reduction function combines one element of each tensor, so all tensors need the same number
  // of elements.
  if (call.reduction.isBody())
    for (const Tensor &tensor : call.tensors)
      if (elements(tensor.inDims) != elements(call.tensors[0].inDims))
        return Status(Error::collectiveGroups,
                      concat("'", call.name,
                             "' reduces tensors with different numbers of elements, but a "
                             "reduction function needs the same number in all of them"));
  return Status();
}

size_t inBytes(const Tensor &tensor) {
  return elements(tensor.inDims) * storageBytes(tensor.element);
}
size_t outBytes(const Tensor &tensor) {
  return elements(tensor.outDims) * storageBytes(tensor.element);
}

/// From this size on a copy uses non-temporal stores: the target would not stay in a cache, so
/// caching it would only evict other data.
static constexpr size_t streamedBytes = size_t(4) << 20;

#ifdef __SSE2__
/// `to` must be 16-byte aligned, and `bytes` a multiple of 16.
static void stream(std::byte *to, const std::byte *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 16)
    _mm_stream_si128(reinterpret_cast<__m128i *>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i)));
}
#endif

static void copyStreaming(std::byte *to, const std::byte *from, size_t bytes) {
#ifdef __SSE2__
  const size_t head = std::min(bytes, -reinterpret_cast<uintptr_t>(to) % 16);
  std::memcpy(to, from, head);
  const size_t body = (bytes - head) / 16 * 16;
  stream(to + head, from + head, body);
  std::memcpy(to + head + body, from + head + body, bytes - head - body);
#else
  std::memcpy(to, from, bytes);
#endif
}
/// Orders the non-temporal stores before all later stores.
static void endStreaming() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

void copyBytes(std::byte *to, const std::byte *from, size_t bytes) {
  if (bytes == 0)
    return;
  if (bytes < streamedBytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  copyStreaming(to, from, bytes);
  endStreaming();
}

namespace {
/// Elements of one operand that are reduced to elements of one result.
struct Range {
  size_t in, out, count; // in elements
};
} // namespace

/// Accumulates in a separate block, because the result may alias an operand.
static void reduceOperation(const Party &party, size_t index, const Range &range, std::byte *into) {
  const Tensor &own = party.own.tensors[index];
  const size_t bytes = storageBytes(own.element);
  const Combine combine = combineFor(party.own.reduction.operation, own.element);
  constexpr size_t blockBytes = 16 * 1024;
  alignas(64) std::byte block[blockBytes];
  const size_t step = blockBytes / bytes;
  const bool isStreamed = range.count * bytes >= streamedBytes;
  for (size_t first = 0; first < range.count; first += step) {
    const size_t count = std::min(step, range.count - first);
    const size_t at = (range.in + first) * bytes;
    std::memcpy(block, party.inOf(0, index) + at, count * bytes);
    for (size_t member = 1; member < party.members; ++member)
      combine(block, party.inOf(member, index) + at, count);
    std::byte *to = into + (range.out + first) * bytes;
    if (isStreamed)
      copyStreaming(to, block, count * bytes);
    else
      std::memcpy(to, block, count * bytes);
  }
  if (isStreamed)
    endStreaming();
}

static void reduceBody(const Party &party, const Range &range, std::span<std::byte *const> into) {
  const Call &own = party.own;
  const size_t tensors = own.tensors.size();
  constexpr size_t widest = 16;
  std::vector<std::byte> sums(tensors * widest), next(tensors * widest);
  std::vector<const void *> args(2 * tensors);
  std::vector<void *> results(tensors);
  for (size_t i = 0; i < range.count; ++i) {
    auto at = [&](size_t member, size_t t) {
      return party.inOf(member, t) + (range.in + i) * storageBytes(own.tensors[t].element);
    };
    for (size_t t = 0; t < tensors; ++t)
      std::memcpy(&sums[t * widest], at(0, t), storageBytes(own.tensors[t].element));
    for (size_t member = 1; member < party.members; ++member) {
      for (size_t t = 0; t < tensors; ++t) {
        args[t] = &sums[t * widest];
        args[tensors + t] = at(member, t);
        results[t] = &next[t * widest];
      }
      own.reduction.body(args.data(), results.data());
      sums.swap(next);
    }
    for (size_t t = 0; t < tensors; ++t) {
      const size_t bytes = storageBytes(own.tensors[t].element);
      std::memcpy(into[t] + (range.out + i) * bytes, &sums[t * widest], bytes);
    }
  }
}

/// The elements of an all_reduce that member `member` reduces.
static Range partOf(size_t count, size_t member, size_t members) {
  const size_t begin = count * member / members, end = count * (member + 1) / members;
  return {begin, begin, end - begin};
}

Share shareOf(const Tensor &tensor, size_t member, size_t members) {
  const Range part = partOf(elements(tensor.inDims), member, members);
  const size_t bytes = storageBytes(tensor.element);
  return {part.in * bytes, part.count * bytes};
}

static void reducePart(const Party &party, size_t part, size_t parts,
                       std::span<std::byte *const> into) {
  const Call &own = party.own;
  if (own.reduction.isBody() && !own.tensors.empty())
    return reduceBody(party, partOf(elements(own.tensors[0].inDims), part, parts), into);
  for (size_t t = 0; t < own.tensors.size(); ++t)
    reduceOperation(party, t, partOf(elements(own.tensors[t].inDims), part, parts), into[t]);
}

void reduceShare(const Party &party, std::span<std::byte *const> into) {
  reducePart(party, party.mine, party.members, into);
}

/// Pointers to all results; on the stack for up to eight tensors.
namespace {
class Results {
public:
  explicit Results(const Call &call)
      : pointers(few, std::min(call.tensors.size(), std::size(few))) {
    if (call.tensors.size() > std::size(few)) {
      many.resize(call.tensors.size());
      pointers = many;
    }
    for (size_t t = 0; t < pointers.size(); ++t)
      pointers[t] = call.tensors[t].out;
  }
  operator std::span<std::byte *const>() const { return pointers; }

private:
  std::byte *few[8];
  std::vector<std::byte *> many;
  std::span<std::byte *> pointers;
};
} // namespace

void reduceAll(const Party &party) { reducePart(party, 0, 1, Results(party.own)); }

void collectShares(const Party &party) {
  const Call &own = party.own;
  for (size_t t = 0; t < own.tensors.size(); ++t)
    for (size_t member = 0; member < party.members; ++member) {
      const Share share = shareOf(own.tensors[t], member, party.members);
      std::byte *to = own.tensors[t].out + share.begin;
      const std::byte *from = party.outOf(member, t) + share.begin;
      if (to != from)
        copyBytes(to, from, share.bytes);
    }
}

void gather(const Party &party) {
  const Call &own = party.own;
  for (size_t t = 0; t < own.tensors.size(); ++t) {
    const Tensor &tensor = own.tensors[t];
    const size_t outer = outerOf(tensor.inDims, own.dimension);
    const size_t chunk = innerOf(tensor.inDims, own.dimension) * storageBytes(tensor.element);
    std::byte *out = tensor.out;
    for (size_t o = 0; chunk > 0 && o < outer; ++o)
      for (size_t member = 0; member < party.members; ++member, out += chunk)
        copyBytes(out, party.inOf(member, t) + o * chunk, chunk);
  }
}

void reduceScatter(const Party &party) {
  const Call &own = party.own;
  const size_t members = party.members;
  const Results results(own);
  for (size_t t = 0; t < own.tensors.size(); ++t) {
    const Tensor &tensor = own.tensors[t];
    const size_t outer = outerOf(tensor.outDims, own.dimension);
    const size_t chunk = innerOf(tensor.outDims, own.dimension);
    for (size_t o = 0; o < outer; ++o) {
      const Range range = {(o * members + party.mine) * chunk, o * chunk, chunk};
      if (!own.reduction.isBody())
        reduceOperation(party, t, range, tensor.out);
      else if (t == 0)
        reduceBody(party, range, results);
    }
  }
}

void allToAll(const Party &party) {
  const Call &own = party.own;
  const auto members = static_cast<int64_t>(party.members);
  for (size_t t = 0; t < own.tensors.size(); ++t) {
    const Tensor &tensor = own.tensors[t];
    const auto bytes = static_cast<int64_t>(storageBytes(tensor.element));
    std::vector<int64_t> piece = tensor.inDims;
    piece[static_cast<size_t>(own.splitDimension)] /= members;
    const size_t rank = piece.size();
    std::vector<int64_t> inStrides(rank), outStrides(rank);
    int64_t inStride = bytes, outStride = bytes;
    for (size_t d = rank; d-- > 0;) {
      inStrides[d] = inStride, outStrides[d] = outStride;
      inStride *= tensor.inDims[d], outStride *= tensor.outDims[d];
    }
    // Dimensions after both the split and the join dimension are complete in operand and result, so
    // they are copied as one row.
    const auto last = static_cast<size_t>(std::max(own.splitDimension, own.dimension));
    const auto row = static_cast<size_t>(piece[last] * inStrides[last]);
    const size_t rows = elements(std::span(piece).first(last));
    const auto split = static_cast<size_t>(own.splitDimension);
    const auto join = static_cast<size_t>(own.dimension);
    for (size_t member = 0; row > 0 && member < party.members; ++member) {
      const std::byte *in = party.inOf(member, t) +
                            static_cast<int64_t>(party.mine) * piece[split] * inStrides[split];
      std::byte *out = tensor.out + static_cast<int64_t>(member) * piece[join] * outStrides[join];
      for (size_t r = 0; r < rows; ++r) {
        auto rest = static_cast<int64_t>(r);
        int64_t from = 0, to = 0;
        for (size_t d = last; d-- > 0;) {
          from += rest % piece[d] * inStrides[d];
          to += rest % piece[d] * outStrides[d];
          rest /= piece[d];
        }
        copyBytes(out + to, in + from, row);
      }
    }
  }
}

Status raggedAllToAll(const Party &party) {
  const Call &own = party.own;
  const Tensor &tensor = own.tensors[0];
  const size_t entries = own.ragged.size() / 4, each = entries / party.members;
  const size_t row = elements(std::span(tensor.inDims).subspan(1)) * storageBytes(tensor.element);
  // The first pass only validates, so that an invalid entry leaves the result unchanged.
  for (const bool isCopying : {false, true})
    for (size_t member = 0; member < party.members; ++member)
      for (size_t i = 0; i < each; ++i) {
        const int64_t *theirs = party.ragged[member] + party.mine * each + i;
        const int64_t from = theirs[0], rows = theirs[entries], to = theirs[2 * entries];
        const int64_t expected = own.ragged[3 * entries + member * each + i];
        if (rows != expected)
          return Status(Error::raggedRows,
                        concat("member ", member, " of '", own.name, "' sends ", rows,
                               " rows to member ", party.mine, ", which expects ", expected));
        if (to < 0 || to > tensor.outDims[0] || rows > tensor.outDims[0] - to)
          return Status(Error::raggedRows,
                        concat("member ", member, " of '", own.name, "' sends ", rows,
                               " rows to row ", to, " of the result of member ", party.mine,
                               ", which has ", tensor.outDims[0], " rows"));
        if (isCopying)
          copyBytes(tensor.out + static_cast<size_t>(to) * row,
                    party.inOf(member, 0) + static_cast<size_t>(from) * row,
                    static_cast<size_t>(rows) * row);
      }
  return Status();
}

void receive(const Party &party, std::optional<size_t> from) {
  for (size_t t = 0; t < party.own.tensors.size(); ++t) {
    const Tensor &tensor = party.own.tensors[t];
    const size_t bytes = outBytes(tensor);
    if (bytes == 0 || !tensor.out)
      continue;
    if (from)
      copyBytes(tensor.out, party.inOf(*from, t), bytes);
    else
      std::memset(tensor.out, 0, bytes);
  }
}

/// Finds the pair of a permute whose source (`end` 0) or target (`end` 1) is member `mine`, and
/// returns the member at its other end.
static std::optional<size_t> partner(const Call &call, std::span<const int64_t> clique, size_t mine,
                                     size_t end) {
  for (const std::vector<int64_t> &pair : *call.groups)
    if (pair[end] == clique[mine])
      return static_cast<size_t>(std::find(clique.begin(), clique.end(), pair[1 - end]) -
                                 clique.begin());
  return std::nullopt;
}
Status exchange(const Party &party, std::optional<size_t> source) {
  switch (party.own.kind) {
  case Kind::allReduce:
    reduceAll(party);
    return Status();
  case Kind::allGather:
    gather(party);
    return Status();
  case Kind::reduceScatter:
    reduceScatter(party);
    return Status();
  case Kind::allToAll:
    allToAll(party);
    return Status();
  case Kind::raggedAllToAll:
    return raggedAllToAll(party);
  case Kind::broadcast:
    receive(party, 0);
    return Status();
  case Kind::permute:
    receive(party, source);
    return Status();
  case Kind::barrier:
    return Status();
  }
  return Status();
}

std::optional<size_t> sourceOf(const Call &call, std::span<const int64_t> clique, size_t mine) {
  return partner(call, clique, mine, 1);
}
std::optional<size_t> targetOf(const Call &call, std::span<const int64_t> clique, size_t mine) {
  return partner(call, clique, mine, 0);
}

} // namespace tilewright::collective
