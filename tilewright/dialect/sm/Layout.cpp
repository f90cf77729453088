// The definition of a layout: the function, its inverse, and its unique canonical form.
#include "tilewright/dialect/sm/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace tilewright::sm;
using llvm::ArrayRef, llvm::SmallVector, llvm::SmallVectorImpl;

//===- Digits of an axis --------------------------------------------------===//

namespace {
/// A digit, its dimension (-1 for a copy), and its weight: the amount that one step adds to the
/// index.
struct Placed {
  Digit digit;
  int64_t dim;
  int64_t weight;
};
} // namespace

/// All digits on one axis that take more than one value, by decreasing stride.
static SmallVector<Placed> digitsOn(const Layout &layout, Axis axis) {
  SmallVector<Placed> found;
  for (int64_t dim = 0; dim < layout.rank(); ++dim) {
    int64_t weight = 1;
    for (const Digit &digit : llvm::reverse(layout.getDims()[dim])) {
      if (digit.axis == axis && digit.size > 1)
        found.push_back({digit, dim, weight});
      weight *= digit.size;
    }
  }
  for (const Digit &digit : layout.getCopies())
    if (digit.axis == axis && digit.size > 1)
      found.push_back({digit, -1, 0});
  llvm::sort(found,
             [](const Placed &a, const Placed &b) { return a.digit.stride > b.digit.stride; });
  return found;
}

static int64_t padded(Pad pad, int64_t offset) {
  return pad.amount == 0 ? offset : offset + offset / pad.interval * pad.amount;
}

int64_t Layout::cover(int64_t dim) const {
  int64_t product = 1;
  for (const Digit &digit : dims[dim])
    product *= digit.size;
  return product;
}

int64_t Layout::extent(Axis axis) const {
  int64_t highest = 0;
  for (const Placed &placed : digitsOn(*this, axis))
    highest += (placed.digit.size - 1) * placed.digit.stride;
  return (axis == Axis::offset ? padded(pad, highest) : highest) + 1;
}

bool Layout::isDense(Axis axis) const {
  int64_t product = 1;
  for (const Placed &placed : digitsOn(*this, axis))
    product *= placed.digit.size;
  return product == extent(axis);
}

int64_t Layout::copyCount(Axis axis) const {
  int64_t product = 1;
  for (const Digit &digit : copies)
    if (digit.axis == axis)
      product *= digit.size;
  return product;
}

std::optional<int64_t> Layout::ownerOf(Axis axis, int64_t bit) const {
  SmallVector<Placed> digits = digitsOn(*this, axis);
  const Placed *owner = nullptr;
  for (const Placed &placed : digits) {
    const Digit &digit = placed.digit;
    if (!llvm::isPowerOf2_64(digit.stride))
      continue;
    const int64_t low = llvm::Log2_64(digit.stride),
                  count = llvm::countr_zero(uint64_t(digit.size));
    if (low <= bit && bit < low + count)
      owner = &placed;
  }
  if (!owner)
    return std::nullopt;
  // A digit with a larger stride changes the bit too, unless its stride is a multiple of the next
  // higher bit.
  for (const Placed &placed : digits)
    if (placed.digit.stride > owner->digit.stride && placed.digit.stride % (int64_t(2) << bit) != 0)
      return std::nullopt;
  return owner->dim;
}

std::string Layout::problem() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const Digits &digits : dims)
    for (const Digit &digit : digits)
      if (digit.size < 1 || digit.stride < 1)
        return "must have sizes and strides of at least 1";
  for (size_t i = 0; i < axisCount; ++i) {
    const auto axis = static_cast<Axis>(i);
    SmallVector<Placed> digits = digitsOn(*this, axis);
    int64_t below = 0; // the maximum sum of the digits of smaller stride
    for (size_t at = digits.size(); at-- > 0;) {
      const Digit &digit = digits[at].digit;
      // In memory, rows may be any distance apart. Positions on the other axes are decoded by
      // division and remainder, so each stride must be a multiple of the extent of the digits below
      // it.
      const bool apart =
          axis == Axis::offset
              ? digit.stride > below
              : at + 1 == digits.size() ||
                    digit.stride % (digits[at + 1].digit.stride * digits[at + 1].digit.size) == 0;
      if (!apart) {
        const Digit &lower = digits[at + 1].digit;
        out << "maps two indices to the same position: on axis " << nameOf(axis) << " the digit "
            << digit.size << " with stride " << digit.stride << " overlaps the digit " << lower.size
            << " with stride " << lower.stride;
        return text;
      }
      below += (digit.size - 1) * digit.stride;
    }
  }
  for (const Placed &placed : digitsOn(*this, Axis::offset)) {
    const int64_t stride = placed.digit.stride;
    if (pad.amount != 0 && stride % pad.interval != 0 && pad.interval % stride != 0) {
      out << "pads after each " << pad.interval
          << " elements, which is neither a divisor nor a multiple of the stride " << stride;
      return text;
    }
  }
  auto owned = [&](Axis axis, int64_t bit) { return ownerOf(axis, bit).value_or(-1) >= 0; };
  for (const Flip &flip : flips) {
    for (auto [axis, bit] : {std::pair(flip.fromAxis, flip.from), std::pair(flip.toAxis, flip.to)})
      if (!owned(axis, bit)) {
        out << "has a flip that uses bit " << bit << " of axis " << nameOf(axis)
            << ", which is not a bit of a single digit of an index";
        return text;
      }
    if (llvm::any_of(flips, [&](const Flip &other) {
          return other.fromAxis == flip.toAxis && other.from == flip.to;
        })) {
      out << "flips bit " << flip.to << " of axis " << nameOf(flip.toAxis)
          << ", which itself flips other bits";
      return text;
    }
  }
  return "";
}

//===- The function and its inverse ---------------------------------------===//

Coordinates Layout::flipped(Coordinates at) const {
  const Coordinates before = at;
  for (const Flip &flip : flips)
    if (before[flip.fromAxis] >> flip.from & 1)
      at[flip.toAxis] ^= int64_t(1) << flip.to;
  return at;
}

Coordinates Layout::apply(ArrayRef<int64_t> index) const {
  Coordinates at;
  for (int64_t dim = 0; dim < rank(); ++dim) {
    int64_t rest = index[dim];
    for (const Digit &digit : llvm::reverse(dims[dim])) {
      at[digit.axis] += rest % digit.size * digit.stride;
      rest /= digit.size;
    }
  }
  if (!flips.empty())
    at = flipped(at);
  at[Axis::offset] = padded(pad, at[Axis::offset]);
  return at;
}

std::optional<SmallVector<int64_t>> Layout::indexOf(const Coordinates &from) const {
  Coordinates at = from;
  if (pad.amount != 0) {
    const int64_t block = at[Axis::offset] / (pad.interval + pad.amount);
    const int64_t inside = at[Axis::offset] % (pad.interval + pad.amount);
    if (inside >= pad.interval)
      return std::nullopt;
    at[Axis::offset] = block * pad.interval + inside;
  }
  at = flipped(at);
  SmallVector<int64_t> index(dims.size(), 0);
  for (size_t i = 0; i < axisCount; ++i) {
    const auto axis = static_cast<Axis>(i);
    int64_t rest = at[axis];
    for (const Placed &placed : digitsOn(*this, axis)) {
      const int64_t value = rest / placed.digit.stride;
      if (value >= placed.digit.size)
        return std::nullopt;
      rest -= value * placed.digit.stride;
      if (placed.dim >= 0)
        index[placed.dim] += value * placed.weight;
    }
    if (rest != 0)
      return std::nullopt;
  }
  return index;
}

std::optional<SmallVector<int64_t>> Layout::indexOf(int64_t reg, int64_t lane, int64_t warp,
                                                    int64_t group, int64_t cta) const {
  Coordinates at;
  at[Axis::reg] = reg, at[Axis::lane] = lane, at[Axis::warp] = warp;
  at[Axis::group] = group, at[Axis::cta] = cta;
  return indexOf(at);
}

SmallVector<IndexForm> Layout::indexForms() const {
  SmallVector<IndexForm> forms(dims.size());
  const SmallVector<Placed> registers = digitsOn(*this, Axis::reg);
  for (int64_t dim = 0; dim < rank(); ++dim) {
    IndexForm &form = forms[dim];
    for (int64_t reg = 0, count = extent(Axis::reg); reg < count; ++reg) {
      int64_t index = 0;
      for (const Placed &placed : registers)
        if (placed.dim == dim)
          index += reg / placed.digit.stride % placed.digit.size * placed.weight;
      form.registers.push_back(index);
    }
    for (Axis axis : {Axis::lane, Axis::warp, Axis::group, Axis::cta})
      for (const Placed &placed : digitsOn(*this, axis))
        if (placed.dim == dim)
          form.terms.push_back({axis, placed.digit.stride, placed.digit.size, placed.weight});
  }
  return forms;
}

int64_t Layout::vectorLength(int64_t dim, Axis axis) const {
  const Layout simple = canonical();
  if (simple.dims[dim].empty())
    return 1;
  const Digit &last = simple.dims[dim].back();
  if (last.axis != axis || last.stride != 1)
    return 1;
  int64_t length = last.size;
  for (const Flip &flip : simple.flips) {
    if (flip.toAxis == axis)
      length = std::gcd(length, int64_t(1) << flip.to);
    if (flip.fromAxis == axis)
      length = std::gcd(length, int64_t(1) << flip.from);
  }
  if (axis == Axis::offset && simple.pad.amount != 0)
    length = std::gcd(length, simple.pad.interval);
  return length;
}

//===- The canonical form -------------------------------------------------===//

/// Merges adjacent digits that together are one digit; the most significant digit comes first.
static Layout::Digits joined(ArrayRef<Digit> digits) {
  Layout::Digits result;
  for (const Digit &digit : digits) {
    if (digit.size == 1)
      continue;
    if (!result.empty() && result.back().axis == digit.axis &&
        result.back().stride == digit.stride * digit.size) {
      result.back().size *= digit.size;
      result.back().stride = digit.stride;
    } else {
      result.push_back(digit);
    }
  }
  return result;
}

/// Expresses the padding by larger strides. Returns false if that is impossible: the interval does
/// not divide a digit evenly, or a swizzle uses a bit that would no longer be a single bit.
static bool padIntoStrides(SmallVectorImpl<Layout::Digits> &dims, SmallVectorImpl<Digit> &copies,
                           SmallVectorImpl<Flip> &flips, Pad pad) {
  auto wider = [&](int64_t stride) { return stride + stride / pad.interval * pad.amount; };
  SmallVector<Layout::Digits> result;
  int64_t below = 0; // the sum of the digits inside an interval
  auto spread = [&](ArrayRef<Digit> digits, Layout::Digits &out) {
    for (const Digit &digit : digits) {
      if (digit.axis != Axis::offset || digit.size == 1) {
        out.push_back(digit);
      } else if (digit.stride % pad.interval == 0) {
        out.push_back({digit.size, digit.axis, wider(digit.stride)});
      } else if ((digit.size - 1) * digit.stride < pad.interval) {
        below += (digit.size - 1) * digit.stride;
        out.push_back(digit);
      } else {
        const int64_t inside = pad.interval / digit.stride;
        if (pad.interval % digit.stride != 0 || digit.size % inside != 0)
          return false;
        below += (inside - 1) * digit.stride;
        out.push_back({digit.size / inside, digit.axis, wider(pad.interval)});
        out.push_back({inside, digit.axis, digit.stride});
      }
    }
    return true;
  };
  for (const Layout::Digits &digits : dims)
    if (!spread(digits, result.emplace_back()))
      return false;
  Layout::Digits newCopies;
  if (!spread(copies, newCopies) || below >= pad.interval)
    return false;
  SmallVector<Flip> newFlips(flips.begin(), flips.end());
  auto moveBit = [&](Axis axis, int64_t &bit) {
    if (axis != Axis::offset)
      return true;
    const int64_t value = int64_t(1) << bit;
    if (value >= pad.interval && value % pad.interval != 0)
      return false;
    const int64_t moved = wider(value);
    bit = llvm::Log2_64(moved);
    return llvm::isPowerOf2_64(moved);
  };
  for (Flip &flip : newFlips)
    if (!moveBit(flip.fromAxis, flip.from) || !moveBit(flip.toAxis, flip.to))
      return false;
  if (!newFlips.empty() && !Layout(result, newCopies, newFlips).problem().empty())
    return false;
  dims.assign(result.begin(), result.end());
  copies.assign(newCopies.begin(), newCopies.end());
  flips.assign(newFlips.begin(), newFlips.end());
  return true;
}

/// Sorts flips and removes pairs of equal flips, which cancel.
static void normalise(SmallVectorImpl<Flip> &flips) {
  auto key = [](const Flip &flip) {
    return std::tuple(flip.fromAxis, flip.from, flip.toAxis, flip.to);
  };
  llvm::sort(flips, [&](const Flip &a, const Flip &b) { return key(a) < key(b); });
  SmallVector<Flip, 0> odd;
  for (const Flip &flip : flips) {
    if (!odd.empty() && odd.back() == flip)
      odd.pop_back();
    else
      odd.push_back(flip);
  }
  flips.assign(odd.begin(), odd.end());
}

Layout Layout::canonical() const {
  Layout result = *this;
  auto simplify = [&result] {
    for (Digits &digits : result.dims)
      digits = joined(digits);
    llvm::sort(result.copies, [](const Digit &a, const Digit &b) {
      return std::tuple(a.axis, -a.stride, a.size) < std::tuple(b.axis, -b.stride, b.size);
    });
    result.copies = joined(result.copies);
    normalise(result.flips);
  };
  simplify();
  result.pad = {};
  if (pad.amount == 0)
    return result;
  int64_t highest = 0;
  for (const Placed &placed : digitsOn(*this, Axis::offset))
    highest += (placed.digit.size - 1) * placed.digit.stride;
  if (highest < pad.interval)
    return result;
  if (padIntoStrides(result.dims, result.copies, result.flips, pad))
    simplify();
  else
    result.pad = pad;
  return result;
}

llvm::hash_code tilewright::sm::hash_value(const Layout &layout) {
  llvm::hash_code hash =
      llvm::hash_combine(layout.dims.size(), layout.pad.interval, layout.pad.amount);
  auto add = [&](ArrayRef<Digit> digits) {
    hash = llvm::hash_combine(hash, digits.size());
    for (const Digit &digit : digits)
      hash = llvm::hash_combine(hash, digit.size, digit.axis, digit.stride);
  };
  for (const Layout::Digits &digits : layout.dims)
    add(digits);
  add(layout.copies);
  for (const Flip &flip : layout.flips)
    hash = llvm::hash_combine(hash, flip.fromAxis, flip.from, flip.toAxis, flip.to);
  return hash;
}
