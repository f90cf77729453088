// Layout: where the elements of a tile are. One algebra for registers of threads, shared memory,
// tensor memory and clusters; no IR.
#ifndef TILEWRIGHT_DIALECT_SM_LAYOUT_H
#define TILEWRIGHT_DIALECT_SM_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tilewright::sm {

/// What a coordinate of the hardware counts. `warp` counts inside a `group` of warps (a warpgroup);
/// kernels whose instructions know no groups have one. `offset` counts elements in shared memory.
enum class Axis : uint8_t { reg, lane, warp, group, cta, offset, tmemLane, tmemColumn };
constexpr size_t axisCount = 8;
llvm::StringRef nameOf(Axis axis);

/// One number for each axis.
struct Coordinates : std::array<int64_t, axisCount> {
  Coordinates() : std::array<int64_t, axisCount>{} {}
  int64_t &operator[](Axis axis) { return data()[static_cast<size_t>(axis)]; }
  int64_t operator[](Axis axis) const { return data()[static_cast<size_t>(axis)]; }
};

/// A digit of an index that takes `size` values and moves by `stride` along `axis`.
struct Digit {
  int64_t size;
  Axis axis;
  int64_t stride;
  bool operator==(const Digit &) const = default;
};

/// A swizzle's element: where the bit `from` of a coordinate is set, the bit `to` is flipped. A bit
/// that is flipped flips none, so doing it twice undoes it.
struct Flip {
  Axis fromAxis;
  int64_t from;
  Axis toAxis;
  int64_t to;
  bool operator==(const Flip &) const = default;
};

/// After each `interval` elements of shared memory, `amount` are left free.
struct Pad {
  int64_t interval = 0;
  int64_t amount = 0;
  bool operator==(const Pad &) const = default;
};

/// `((coordinate on axis / stride) mod size) * weight`.
struct IndexTerm {
  Axis axis;
  int64_t stride;
  int64_t size;
  int64_t weight;
  bool operator==(const IndexTerm &) const = default;
};

/// The index along one dimension as code computes it: `registers[reg]` plus the terms, which are
/// the same for all registers of a thread. Where the layout has flips, they are done to the
/// coordinates first.
struct IndexForm {
  llvm::SmallVector<int64_t> registers;
  llvm::SmallVector<IndexTerm> terms;
};

/// Sends each index of a tile to coordinates of the hardware.
///
///   [2 reg:2, 8 lane:4] [4 lane, 2 reg]
///
/// is a tile of 16x8 in a warp: the row is 8·d0 + d1, where d1 chooses the lane in steps of 4 and
/// d0 the register in steps of 2. Digits are written from the most to the least significant. A
/// layout may cover more than its tile: positions whose index is outside hold nothing of account.
/// Digits of the hardware that no index is sent to are copies: each holds the same element.
class Layout {
public:
  using Digits = llvm::SmallVector<Digit, 4>;

  Layout() = default;
  Layout(llvm::ArrayRef<Digits> dims, llvm::ArrayRef<Digit> copies = {},
         llvm::ArrayRef<Flip> flips = {}, Pad pad = {})
      : dims(dims), copies(copies), flips(flips), pad(pad) {}

  /// Reads the text that `str` gives. `error` (if not null) says what is wrong.
  static std::optional<Layout> parse(llvm::StringRef text, std::string *error = nullptr);
  std::string str() const;

  /// Why this is no layout (two indices at one place, a flip of a bit that is none), or "".
  std::string problem() const;

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  llvm::ArrayRef<Digits> getDims() const { return dims; }
  llvm::ArrayRef<Digit> getCopies() const { return copies; }
  llvm::ArrayRef<Flip> getFlips() const { return flips; }
  Pad getPad() const { return pad; }

  /// How many indices a dimension covers: the product of its digits' sizes.
  int64_t cover(int64_t dim) const;
  /// One more than the highest coordinate on the axis.
  int64_t extent(Axis axis) const;
  /// Whether every coordinate below `extent` is used.
  bool isDense(Axis axis) const;
  /// The number of copies of each element on the axis.
  int64_t copyCount(Axis axis) const;

  /// Where the (first copy of the) element is.
  Coordinates apply(llvm::ArrayRef<int64_t> index) const;
  /// The index that is at these coordinates, or nothing if the layout leaves the place free.
  std::optional<llvm::SmallVector<int64_t>> indexOf(const Coordinates &at) const;
  std::optional<llvm::SmallVector<int64_t>> indexOf(int64_t reg, int64_t lane, int64_t warp = 0,
                                                    int64_t group = 0, int64_t cta = 0) const;
  /// The same as code: one form for each dimension. For layouts of registers.
  llvm::SmallVector<IndexForm> indexForms() const;
  /// Does the flips; the same function undoes them.
  Coordinates flipped(Coordinates at) const;

  /// How many consecutive indices along `dim` are in consecutive registers (or offsets) that start
  /// at a multiple of their number: the longest vector for an access of memory in which `dim` is
  /// contiguous.
  int64_t vectorLength(int64_t dim, Axis axis = Axis::reg) const;

  /// The one form in which all layouts that are the same function are equal.
  Layout canonical() const;
  bool operator==(const Layout &other) const {
    return dims == other.dims && copies == other.copies && flips == other.flips && pad == other.pad;
  }
  /// Whether both are the same function.
  bool sameAs(const Layout &other) const { return canonical() == other.canonical(); }

  /// The layout of a reduction's result: the digits of `dims` become copies. Registers are combined
  /// and not copied: those of the result are numbered anew. Nothing if a swizzle ties what goes to
  /// what stays.
  std::optional<Layout> reduce(llvm::ArrayRef<int64_t> dims) const;

  /// This layout of blocks, each of which is laid out as `atom`.
  Layout times(const Layout &atom) const;
  /// The layout of blocks `q` with `q.times(atom)` the same as this, if there is one.
  std::optional<Layout> divide(const Layout &atom) const;

  /// Threads in the order of `order` (fastest dimension first), `vector` consecutive elements of
  /// the fastest to each, `lanes * warps` threads, and what remains in registers. Threads that find
  /// no element have copies. Warps go along `warpOrder` if it is given: slowest first keeps a row
  /// in one warp.
  static Layout blocked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order,
                        int64_t vector, int64_t lanes, int64_t warps,
                        llvm::ArrayRef<int64_t> warpOrder = {});
  /// Elements in memory one after another, the fastest dimension first in `order`.
  static Layout packed(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order);

  friend llvm::hash_code hash_value(const Layout &layout);

  /// The dimension whose digit alone sets this bit of the coordinate, -1 if it is a copy's, nothing
  /// if no digit does.
  std::optional<int64_t> ownerOf(Axis axis, int64_t bit) const;

private:
  llvm::SmallVector<Digits, 3> dims;
  Digits copies;
  llvm::SmallVector<Flip, 0> flips;
  Pad pad;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &out, const Layout &layout);

/// Numbers the registers anew, without gaps and without copies.
Layout compactRegisters(const Layout &layout);

/// Where a layout's text comes from: a string here, MLIR's parser in the dialect.
class LayoutTokens {
public:
  virtual ~LayoutTokens() = default;
  /// Takes the character if it comes next.
  virtual bool take(char punctuation) = 0;
  virtual std::optional<int64_t> takeInteger() = 0;
  virtual std::optional<llvm::StringRef> takeWord() = 0;
};

/// Reads a layout as far as it goes. `error` says what is wrong where there is none.
std::optional<Layout> parseLayout(LayoutTokens &tokens, std::string &error);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_LAYOUT_H
