// Operations on layouts (products, quotients and reductions), and the construction of blocked and
// packed layouts.
#include "tilewright/dialect/sm/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tilewright::sm;
using llvm::ArrayRef, llvm::SmallVector, llvm::SmallVectorImpl;

Layout tilewright::sm::compactRegisters(const Layout &layout) {
  SmallVector<Layout::Digits> dims(layout.getDims());
  SmallVector<Digit *> registers;
  for (Layout::Digits &digits : dims)
    for (Digit &digit : digits)
      if (digit.axis == Axis::reg && digit.size > 1)
        registers.push_back(&digit);
  llvm::sort(registers, [](Digit *a, Digit *b) { return a->stride < b->stride; });
  SmallVector<Flip> flips(layout.getFlips());
  int64_t next = 1;
  for (Digit *digit : registers) {
    for (Flip &flip : flips)
      for (auto [axis, bit] :
           {std::pair(flip.fromAxis, &flip.from), std::pair(flip.toAxis, &flip.to)})
        if (axis == Axis::reg && llvm::isPowerOf2_64(digit->stride) &&
            (int64_t(1) << *bit) >= digit->stride &&
            (int64_t(1) << *bit) < digit->stride * digit->size) {
          if (!llvm::isPowerOf2_64(next))
            return layout; // the bit would no longer be a single bit
          *bit += static_cast<int64_t>(llvm::Log2_64(next)) -
                  static_cast<int64_t>(llvm::Log2_64(digit->stride));
        }
    digit->stride = next;
    next *= digit->size;
  }
  Layout::Digits copies(llvm::make_filter_range(
      layout.getCopies(), [](const Digit &digit) { return digit.axis != Axis::reg; }));
  return Layout(dims, copies, flips, layout.getPad());
}

std::optional<Layout> Layout::reduce(ArrayRef<int64_t> reduced) const {
  SmallVector<Digits> kept;
  Digits newCopies = copies;
  for (int64_t dim = 0; dim < rank(); ++dim) {
    if (llvm::is_contained(reduced, dim))
      llvm::append_range(newCopies, dims[dim]);
    else
      kept.push_back(dims[dim]);
  }
  SmallVector<Flip> newFlips;
  for (const Flip &flip : flips) {
    const bool fromGoes = llvm::is_contained(reduced, *ownerOf(flip.fromAxis, flip.from));
    const bool toGoes = llvm::is_contained(reduced, *ownerOf(flip.toAxis, flip.to));
    if (fromGoes && !toGoes)
      return std::nullopt;
    if (!toGoes)
      newFlips.push_back(flip);
  }
  return compactRegisters(Layout(kept, newCopies, newFlips, pad)).canonical();
}

//===- Products and quotients ---------------------------------------------===//

Layout Layout::times(const Layout &atom) const {
  SmallVector<Digits> result(getDims());
  auto scale = [&](Digit digit) {
    digit.stride *= atom.extent(digit.axis);
    return digit;
  };
  for (int64_t dim = 0; dim < rank(); ++dim) {
    for (Digit &digit : result[dim])
      digit = scale(digit);
    llvm::append_range(result[dim], atom.dims[dim]);
  }
  Digits newCopies(llvm::map_range(copies, scale));
  llvm::append_range(newCopies, atom.copies);
  SmallVector<Flip> newFlips(atom.getFlips());
  for (Flip flip : flips) {
    flip.from += llvm::Log2_64(atom.extent(flip.fromAxis));
    flip.to += llvm::Log2_64(atom.extent(flip.toAxis));
    newFlips.push_back(flip);
  }
  const int64_t elements = atom.extent(Axis::offset);
  return Layout(result, newCopies, newFlips, {pad.interval * elements, pad.amount * elements});
}

/// Splits off the least significant digits that together take `size` values.
static bool cutLow(Layout::Digits &digits, int64_t size, Layout::Digits &low) {
  while (size > 1) {
    if (digits.empty())
      return false;
    Digit &last = digits.back();
    if (size % last.size == 0) {
      low.insert(low.begin(), last);
      size /= last.size;
      digits.pop_back();
    } else if (last.size % size == 0) {
      low.insert(low.begin(), {size, last.axis, last.stride});
      last = {last.size / size, last.axis, last.stride * size};
      size = 1;
    } else {
      return false;
    }
  }
  return true;
}

std::optional<Layout> Layout::divide(const Layout &atom) const {
  if (rank() != atom.rank() || atom.pad.amount != 0)
    return std::nullopt;
  Layout high = canonical(), low;
  low.dims.resize(rank());
  for (int64_t dim = 0; dim < rank(); ++dim)
    if (!cutLow(high.dims[dim], atom.cover(dim), low.dims[dim]))
      return std::nullopt;
  auto shrink = [&](Digit &digit) {
    const int64_t extent = atom.extent(digit.axis);
    const bool whole = digit.stride % extent == 0;
    digit.stride /= extent;
    return whole;
  };
  for (Digits &digits : high.dims)
    for (Digit &digit : digits)
      if (!shrink(digit))
        return std::nullopt;
  Digits outer;
  for (Digit digit : high.copies) {
    const int64_t extent = atom.extent(digit.axis);
    if (digit.stride < extent) {
      const int64_t inside = std::min<int64_t>(digit.size, llvm::divideCeil(extent, digit.stride));
      if (digit.size % inside != 0)
        return std::nullopt;
      low.copies.push_back({inside, digit.axis, digit.stride});
      digit = {digit.size / inside, digit.axis, digit.stride * inside};
    }
    if (digit.size == 1)
      continue;
    if (!shrink(digit))
      return std::nullopt;
    outer.push_back(digit);
  }
  high.copies = outer;
  SmallVector<Flip, 0> outerFlips;
  for (Flip flip : high.flips) {
    const int64_t from = atom.extent(flip.fromAxis), to = atom.extent(flip.toAxis);
    const bool fromLow = (int64_t(1) << flip.from) < from, toLow = (int64_t(1) << flip.to) < to;
    if (fromLow != toLow)
      return std::nullopt;
    if (fromLow) {
      low.flips.push_back(flip);
    } else {
      if (!llvm::isPowerOf2_64(from) || !llvm::isPowerOf2_64(to))
        return std::nullopt;
      flip.from -= llvm::Log2_64(from), flip.to -= llvm::Log2_64(to);
      outerFlips.push_back(flip);
    }
  }
  high.flips = std::move(outerFlips);
  const int64_t elements = atom.extent(Axis::offset);
  if (high.pad.interval % elements != 0 || high.pad.amount % elements != 0)
    return std::nullopt;
  high.pad = {high.pad.interval / elements, high.pad.amount / elements};
  if (!low.sameAs(atom))
    return std::nullopt;
  return high.canonical();
}

//===- Blocked and packed layouts -----------------------------------------===//

/// How many of `available` lanes (or warps) to assign to a dimension with `units` elements left: as
/// many as it can use, unless fewer waste less and the other dimensions, with `others` elements,
/// can use the remaining lanes.
static int64_t share(int64_t units, int64_t available, int64_t others) {
  int64_t most = 1;
  while (most < units && available % (most * 2) == 0)
    most *= 2;
  for (int64_t count = most; count >= 1; count /= 2) {
    const int64_t waste = llvm::divideCeil(units, count) * count - units;
    if (waste * 8 <= units)
      return count;
    if (count > 1 && others < available / (count / 2))
      break;
  }
  return most;
}

Layout Layout::blocked(ArrayRef<int64_t> shape, ArrayRef<int64_t> order, int64_t vector,
                       int64_t lanes, int64_t warps, ArrayRef<int64_t> warpOrder) {
  const size_t rank = shape.size();
  if (warpOrder.empty())
    warpOrder = order;
  SmallVector<int64_t> units(shape), laneSizes(rank, 1), warpSizes(rank, 1);
  for (int64_t &count : units)
    count = std::max<int64_t>(count, 1);
  if (rank != 0)
    units[order[0]] = llvm::divideCeil(units[order[0]], vector);
  auto distribute = [&](ArrayRef<int64_t> among, int64_t available,
                        SmallVectorImpl<int64_t> &sizes) {
    for (size_t i = 0; i < rank; ++i) {
      int64_t others = 1;
      for (size_t later = i + 1; later < rank; ++later)
        others *= units[among[later]];
      const int64_t dim = among[i], count = share(units[dim], available, others);
      sizes[dim] = count;
      units[dim] = llvm::divideCeil(units[dim], count);
      available /= count;
    }
    return available;
  };
  const int64_t lanesLeft = distribute(order, lanes, laneSizes);
  const int64_t warpsLeft = distribute(warpOrder, warps, warpSizes);
  SmallVector<Digits> dims(rank);
  int64_t lane = 1, warp = 1, reg = rank == 0 ? 1 : vector;
  SmallVector<int64_t> laneStrides(rank), warpStrides(rank), regStrides(rank);
  for (int64_t dim : order) {
    laneStrides[dim] = lane, regStrides[dim] = reg;
    lane *= laneSizes[dim], reg *= units[dim];
  }
  for (int64_t dim : warpOrder) {
    warpStrides[dim] = warp;
    warp *= warpSizes[dim];
  }
  for (size_t dim = 0; dim < rank; ++dim) {
    dims[dim] = {{units[dim], Axis::reg, regStrides[dim]},
                 {warpSizes[dim], Axis::warp, warpStrides[dim]},
                 {laneSizes[dim], Axis::lane, laneStrides[dim]}};
    if (static_cast<int64_t>(dim) == order[0])
      dims[dim].push_back({vector, Axis::reg, 1});
  }
  return Layout(dims, {{lanesLeft, Axis::lane, lane}, {warpsLeft, Axis::warp, warp}}).canonical();
}

Layout Layout::packed(ArrayRef<int64_t> shape, ArrayRef<int64_t> order) {
  SmallVector<Digits> dims(shape.size());
  int64_t stride = 1;
  for (int64_t dim : order) {
    dims[dim] = {{std::max<int64_t>(shape[dim], 1), Axis::offset, stride}};
    stride *= std::max<int64_t>(shape[dim], 1);
  }
  return Layout(dims).canonical();
}
