#include "tilewright/transform/tile/solve/Costs.h"

#include "tilewright/dialect/sm/BankConflicts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>
#include <set>

using namespace tilewright;
using namespace tilewright::solve;
using llvm::ArrayRef, llvm::SmallVector;
using sm::Axis, sm::Layout;

/// Each of four schedulers issues one warp instruction per cycle.
static constexpr double issuedPerCycle = 4;
/// The latency of writing shared memory, a barrier, and reading shared memory.
static constexpr double barrierCycles = 60;
/// Bytes per cycle from L2 or memory.
static constexpr double fetchedBytes = 64;
static constexpr double sharedBytesPerCycle = 128;

static double bytesOf(int64_t bits) { return std::max<double>(1, static_cast<double>(bits) / 8); }

//===- Conversions --------------------------------------------------------===//

namespace {
/// One prime factor of a hardware digit. Layouts whose digits are split into prime factors can be
/// compared digit by digit.
struct PrimeDigit {
  Axis axis;
  int64_t stride, size, dim, weight;
  auto operator<=>(const PrimeDigit &) const = default;
};
} // namespace

static SmallVector<PrimeDigit> primeDigits(const Layout &layout, Axis only) {
  SmallVector<PrimeDigit> found;
  auto add = [&](const sm::Digit &digit, int64_t dim, int64_t weight) {
    if (digit.axis != only)
      return;
    int64_t rest = digit.size, stride = digit.stride;
    for (int64_t prime = 2; rest > 1; ++prime)
      while (rest % prime == 0) {
        found.push_back({digit.axis, stride, prime, dim, weight});
        rest /= prime, stride *= prime;
        weight *= dim < 0 ? 1 : prime;
      }
  };
  for (int64_t dim = 0; dim < layout.rank(); ++dim) {
    int64_t weight = 1;
    for (const sm::Digit &digit : llvm::reverse(layout.getDims()[dim])) {
      add(digit, dim, weight);
      weight *= digit.size;
    }
  }
  for (const sm::Digit &digit : layout.getCopies())
    add(digit, -1, 0);
  llvm::sort(found);
  return found;
}

/// Whether each lane (or warp, depending on `axis`) holds the same part of the tile in both
/// layouts.
static bool sameAlong(Axis axis, const Layout &from, const Layout &to) {
  return primeDigits(from, axis) == primeDigits(to, axis);
}

ConvertCost solve::convertCost(const Layout &from, const Layout &to, ArrayRef<int64_t> shape,
                               int64_t elementBits, const Machine &machine) {
  if (from == to)
    return {};
  const bool sameWarps = sameAlong(Axis::warp, from, to) && sameAlong(Axis::group, from, to) &&
                         sameAlong(Axis::cta, from, to);
  if (sameWarps && sameAlong(Axis::lane, from, to))
    return {ConvertMethod::registers, 0};
  const auto warps = static_cast<double>(machine.warps);
  const double words = std::max<double>(1, bytesOf(elementBits) / 4);
  // A shuffle serves 32 lanes per cycle. Each result register needs one shuffle for each source
  // register that its lanes may read; assume two source registers.
  const double shuffles = static_cast<double>(to.extent(Axis::reg)) * warps * words * 2;
  double bytes = bytesOf(elementBits);
  double elements = 1;
  for (int64_t dim = 0; dim < to.rank(); ++dim)
    elements *= static_cast<double>(std::max<int64_t>(shape[dim], 1));
  const bool fits = elements * bytes <= static_cast<double>(machine.sharedBytes);
  const double read = static_cast<double>(to.extent(Axis::reg) * machine.lanes) * warps * bytes;
  // If all sizes are powers of two, a swizzle avoids bank conflicts of both writes and reads.
  const double degree = sm::isLinear(from) && sm::isLinear(to) ? 1 : 2;
  const double shared =
      fits ? degree * (elements * bytes + read) / sharedBytesPerCycle + barrierCycles +
                 static_cast<double>(from.extent(Axis::reg) + to.extent(Axis::reg)) * warps /
                     issuedPerCycle
           : std::numeric_limits<double>::infinity();
  if (sameWarps && shuffles <= shared)
    return {ConvertMethod::shuffles, shuffles};
  return {ConvertMethod::sharedMemory, shared};
}

double solve::moveCost(const Layout &result, int64_t elements, int64_t elementBits,
                       const Machine &machine) {
  const double written = static_cast<double>(elements) * bytesOf(elementBits);
  if (written > static_cast<double>(machine.sharedBytes))
    return std::numeric_limits<double>::infinity();
  const auto reads = static_cast<double>(result.extent(Axis::reg) * machine.warps);
  // The read order is unknown, so assume two-way bank conflicts.
  return barrierCycles + written / sharedBytesPerCycle +
         reads * 2 * static_cast<double>(machine.lanes) * bytesOf(elementBits) /
             sharedBytesPerCycle;
}

//===- Accesses -----------------------------------------------------------===//

double solve::accessCost(const Layout &layout, ArrayRef<int64_t> shape, ArrayRef<int64_t> whole,
                         ArrayRef<int64_t> strides, int64_t elementBits, bool isStore,
                         const Machine &machine) {
  const int64_t rank = layout.rank();
  const double bytes = bytesOf(elementBits);
  // The distance in bytes between adjacent indices of each dimension.
  SmallVector<double> steps(rank);
  double step = bytes;
  int64_t fastest = -1;
  for (int64_t dim = rank; dim-- > 0;) {
    steps[dim] = step * static_cast<double>(strides.empty() ? 1 : strides[dim]);
    if (fastest < 0 && shape[dim] > 1)
      fastest = dim;
    step *= static_cast<double>(whole[dim]);
  }
  const int64_t registers = layout.extent(Axis::reg);
  int64_t vector = 1;
  if (fastest >= 0 && steps[fastest] == bytes) {
    const int64_t length = layout.vectorLength(fastest);
    // The row size must be a multiple of the vector size, so that vectors are aligned.
    while (vector * 2 <= length && length % (vector * 2) == 0 &&
           static_cast<double>(vector * 2) * bytes <= 16 && whole[fastest] % (vector * 2) == 0)
      vector *= 2;
  }
  // Use the first access of one warp as representative.
  const SmallVector<sm::IndexForm> forms = layout.indexForms();
  std::set<double> sectors; // strides may be so large that an address exceeds 64 bits
  for (int64_t lane = 0; lane < layout.extent(Axis::lane); ++lane) {
    double address = 0;
    bool inside = true;
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t index = forms[dim].registers[0];
      for (const sm::IndexTerm &term : forms[dim].terms)
        if (term.axis == Axis::lane)
          index += lane / term.stride % term.size * term.weight;
      inside &= index < shape[dim];
      address += static_cast<double>(index) * steps[dim];
    }
    if (!inside)
      continue;
    auto sectorOf = [&](double byte) {
      return std::trunc(byte / static_cast<double>(machine.sectorBytes));
    };
    const double first = sectorOf(std::trunc(address));
    const double last = sectorOf(std::trunc(address + bytes * static_cast<double>(vector)) - 1);
    for (double sector = 0; sector <= last - first; ++sector)
      sectors.insert(first + sector);
  }
  const auto copies =
      static_cast<double>(layout.copyCount(Axis::warp) * layout.copyCount(Axis::group));
  const auto touched = static_cast<double>(sectors.size());
  // Each warp loads its own copy, but copies after the first hit the cache. Only one copy is
  // stored.
  const double accesses = static_cast<double>(llvm::divideCeil(registers, vector)) *
                          static_cast<double>(machine.warps) / (isStore ? copies : 1);
  const auto bytesTouched = touched * static_cast<double>(machine.sectorBytes);
  return accesses * (1 + bytesTouched / static_cast<double>(machine.cachedBytes)) +
         accesses / (isStore ? 1 : copies) * bytesTouched / fetchedBytes;
}

//===- Computation --------------------------------------------------------===//

double solve::computeCost(const Layout &layout, double ops, int64_t elementBits,
                          const Machine &machine) {
  const auto registers = static_cast<double>(layout.extent(Axis::reg));
  const double pressure = registers * std::max<double>(1, bytesOf(elementBits) / 4);
  double cycles = registers * ops * static_cast<double>(machine.warps) / issuedPerCycle;
  // Values that do not fit in registers spill to local memory; the penalty rules out such layouts.
  if (pressure > 0.6 * static_cast<double>(machine.maxRegisters))
    cycles += 50 * pressure * static_cast<double>(machine.warps);
  return cycles;
}

double solve::reduceCost(const Layout &input, ArrayRef<int64_t> dims, double ops,
                         int64_t elementBits, const Machine &machine) {
  double cycles = computeCost(input, ops, elementBits, machine);
  std::optional<Layout> result = input.reduce(dims);
  if (!result)
    return std::numeric_limits<double>::infinity();
  double lanes = 1, warps = 1;
  for (int64_t dim : dims)
    for (const sm::Digit &digit : input.getDims()[dim]) {
      if (digit.axis == Axis::lane)
        lanes *= static_cast<double>(digit.size);
      else if (digit.axis != Axis::reg)
        warps *= static_cast<double>(digit.size);
    }
  const auto kept = static_cast<double>(result->extent(Axis::reg));
  const auto all = static_cast<double>(machine.warps);
  if (lanes > 1)
    cycles +=
        llvm::Log2_64_Ceil(static_cast<uint64_t>(lanes)) * kept * all * (1 + ops / issuedPerCycle);
  if (warps > 1)
    cycles += barrierCycles + kept * all * (1 + warps) / issuedPerCycle;
  return cycles;
}

double solve::sortCost(const Layout &layout, ArrayRef<int64_t> shape, int64_t dim, double ops,
                       int64_t elementBits, const Machine &machine) {
  double elements = 1;
  for (int64_t size : shape)
    elements *= static_cast<double>(std::max<int64_t>(size, 1));
  const double levels = llvm::Log2_64_Ceil(static_cast<uint64_t>(std::max<int64_t>(shape[dim], 1)));
  const double network =
      levels * (levels + 1) / 2 *
      (elements / 2 * (2 * ops + 16) / (static_cast<double>(machine.lanes) * issuedPerCycle) +
       barrierCycles);
  // The lines of 128 bytes that the lanes of a warp touch with their first element.
  const SmallVector<sm::IndexForm> forms = layout.indexForms();
  std::set<int64_t> lines;
  for (int64_t lane = 0; lane < layout.extent(Axis::lane); ++lane) {
    int64_t position = 0;
    for (int64_t each = 0; each < layout.rank(); ++each) {
      int64_t index = forms[each].registers[0];
      for (const sm::IndexTerm &term : forms[each].terms)
        if (term.axis == Axis::lane)
          index += lane / term.stride % term.size * term.weight;
      position = position * shape[each] + index;
    }
    lines.insert(position * std::max<int64_t>(elementBits / 8, 1) / 128);
  }
  return network + computeCost(layout, 4, elementBits, machine) +
         2 * static_cast<double>(layout.extent(Axis::reg) * machine.warps) *
             static_cast<double>(lines.size());
}
