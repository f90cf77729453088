#include "tilewright/collective/local/Move.h"
#include "tilewright/numerics/Shape.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

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
  if (call.kind == Kind::allGather)
    isFine = scale(call.dimension, true);
  else if (call.kind == Kind::reduceScatter)
    isFine = scale(call.dimension, false);
  else if (call.kind == Kind::allToAll)
    isFine = scale(call.splitDimension, false) && scale(call.dimension, true);
  if (!isFine || expected != tensor.outDims)
    return Status(Error::collectiveGroups,
                  concat("'", call.name, "', a ", nameOf(call.kind), " of ", members,
                         " ranks, cannot make ", listed(tensor.outDims), " of ",
                         listed(tensor.inDims)));
  const bool reduces = call.kind == Kind::allReduce || call.kind == Kind::reduceScatter;
  if (reduces && !call.reduction.isBody() && !combineFor(call.reduction.operation, tensor.element))
    return Status(Error::collectiveGroups,
                  concat("'", call.name, "' reduces ", numerics::spelling(tensor.element), " by '",
                         call.reduction.operation, "', which has no meaning"));
  return Status();
}

Status checkCall(const Call &call, int64_t members) {
  for (const Tensor &tensor : call.tensors)
    TILEWRIGHT_TRY(checkTensor(call, tensor, members));
  // A function of all tensors together needs them to have as many elements.
  if (call.reduction.isBody())
    for (const Tensor &tensor : call.tensors)
      if (elements(tensor.inDims) != elements(call.tensors[0].inDims))
        return Status(Error::collectiveGroups,
                      concat("'", call.name, "' reduces tensors of different sizes together"));
  return Status();
}

namespace {
/// Elements of one operand that are reduced to elements of one result.
struct Range {
  size_t in, out, count; // in elements
};
} // namespace

/// Accumulates beside the results, because a result may be the operand.
static void reduceOperation(const Party &party, size_t index, const Range &range) {
  const Tensor &own = party.own().tensors[index];
  const size_t bytes = storageBytes(own.element);
  const Combine combine = combineFor(party.own().reduction.operation, own.element);
  constexpr size_t blockBytes = 16 * 1024;
  alignas(64) std::byte block[blockBytes];
  const size_t step = blockBytes / bytes;
  for (size_t first = 0; first < range.count; first += step) {
    const size_t count = std::min(step, range.count - first);
    const size_t at = (range.in + first) * bytes;
    std::memcpy(block, party.calls[0]->tensors[index].in + at, count * bytes);
    for (size_t member = 1; member < party.calls.size(); ++member)
      combine(block, party.calls[member]->tensors[index].in + at, count);
    std::memcpy(own.out + (range.out + first) * bytes, block, count * bytes);
  }
}

static void reduceBody(const Party &party, const Range &range) {
  const Call &own = party.own();
  const size_t tensors = own.tensors.size();
  constexpr size_t widest = 16;
  std::vector<std::byte> sums(tensors * widest), next(tensors * widest);
  std::vector<const void *> args(2 * tensors);
  std::vector<void *> results(tensors);
  for (size_t i = 0; i < range.count; ++i) {
    auto at = [&](size_t member, size_t t) {
      return party.calls[member]->tensors[t].in +
             (range.in + i) * storageBytes(own.tensors[t].element);
    };
    for (size_t t = 0; t < tensors; ++t)
      std::memcpy(&sums[t * widest], at(0, t), storageBytes(own.tensors[t].element));
    for (size_t member = 1; member < party.calls.size(); ++member) {
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
      std::memcpy(own.tensors[t].out + (range.out + i) * bytes, &sums[t * widest], bytes);
    }
  }
}

/// The elements of an all_reduce that member `member` reduces.
static Range shareOf(size_t count, size_t member, size_t members) {
  const size_t begin = count * member / members, end = count * (member + 1) / members;
  return {begin, begin, end - begin};
}

void reduceShare(const Party &party) {
  const Call &own = party.own();
  const size_t members = party.calls.size();
  if (own.reduction.isBody() && !own.tensors.empty())
    return reduceBody(party, shareOf(elements(own.tensors[0].inDims), party.mine, members));
  for (size_t t = 0; t < own.tensors.size(); ++t)
    reduceOperation(party, t, shareOf(elements(own.tensors[t].inDims), party.mine, members));
}

void collectShares(const Party &party) {
  const Call &own = party.own();
  for (size_t t = 0; t < own.tensors.size(); ++t) {
    const Tensor &tensor = own.tensors[t];
    const size_t bytes = storageBytes(tensor.element), count = elements(tensor.inDims);
    for (size_t member = 0; member < party.calls.size(); ++member) {
      const Range share = shareOf(count, member, party.calls.size());
      if (member != party.mine && share.count > 0)
        std::memcpy(tensor.out + share.out * bytes,
                    party.calls[member]->tensors[t].out + share.out * bytes, share.count * bytes);
    }
  }
}

void gather(const Party &party) {
  const Call &own = party.own();
  for (size_t t = 0; t < own.tensors.size(); ++t) {
    const Tensor &tensor = own.tensors[t];
    const size_t outer = outerOf(tensor.inDims, own.dimension);
    const size_t chunk = innerOf(tensor.inDims, own.dimension) * storageBytes(tensor.element);
    std::byte *out = tensor.out;
    for (size_t o = 0; chunk > 0 && o < outer; ++o)
      for (const Call *call : party.calls) {
        std::memcpy(out, call->tensors[t].in + o * chunk, chunk);
        out += chunk;
      }
  }
}

void reduceScatter(const Party &party) {
  const Call &own = party.own();
  const size_t members = party.calls.size();
  for (size_t t = 0; t < own.tensors.size(); ++t) {
    const Tensor &tensor = own.tensors[t];
    const size_t outer = outerOf(tensor.outDims, own.dimension);
    const size_t chunk = innerOf(tensor.outDims, own.dimension);
    for (size_t o = 0; o < outer; ++o) {
      const Range range = {(o * members + party.mine) * chunk, o * chunk, chunk};
      if (!own.reduction.isBody())
        reduceOperation(party, t, range);
      else if (t == 0)
        reduceBody(party, range);
    }
  }
}

void allToAll(const Party &party) {
  const Call &own = party.own();
  const auto members = static_cast<int64_t>(party.calls.size());
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
    // Dimensions after both are whole in operand and result, so they move together.
    const auto last = static_cast<size_t>(std::max(own.splitDimension, own.dimension));
    const auto row = static_cast<size_t>(piece[last] * inStrides[last]);
    const size_t rows = elements(std::span(piece).first(last));
    const auto split = static_cast<size_t>(own.splitDimension);
    const auto join = static_cast<size_t>(own.dimension);
    for (size_t member = 0; row > 0 && member < party.calls.size(); ++member) {
      const std::byte *in = party.calls[member]->tensors[t].in +
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
        std::memcpy(out + to, in + from, row);
      }
    }
  }
}

void receive(const Call &own, const Call *from) {
  for (size_t t = 0; t < own.tensors.size(); ++t) {
    const Tensor &tensor = own.tensors[t];
    const size_t bytes = elements(tensor.outDims) * storageBytes(tensor.element);
    if (bytes == 0)
      continue;
    if (from)
      std::memcpy(tensor.out, from->tensors[t].in, bytes);
    else
      std::memset(tensor.out, 0, bytes);
  }
}

} // namespace tilewright::collective
