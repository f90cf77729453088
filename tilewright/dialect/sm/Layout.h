// Layout: the positions of the elements of a tile. The same algebra describes registers of threads,
// shared memory, tensor memory and clusters. It does not use MLIR.
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

/// The hardware coordinate that an axis counts. `warp` counts inside a `group` of warps (a
/// warpgroup); kernels without warpgroup instructions have a single group. `offset` counts elements
/// in shared memory.
enum class Axis : uint8_t { reg, lane, warp, group, cta, offset, tmemLane, tmemColumn };
constexpr size_t axisCount = 8;
llvm::StringRef nameOf(Axis axis);

/// One number for each axis.
struct Coordinates : std::array<int64_t, axisCount> {
  Coordinates() : std::array<int64_t, axisCount>{} {}
  int64_t &operator[](Axis axis) { return data()[static_cast<size_t>(axis)]; }
  int64_t operator[](Axis axis) const { return data()[static_cast<size_t>(axis)]; }
};

/// A digit of a mixed-radix index. It takes `size` values, and each step moves by `stride` along
/// `axis`.
struct Digit {
  int64_t size;
  Axis axis;
  int64_t stride;
  bool operator==(const Digit &) const = default;
};

/// An element of a swizzle: if the bit `from` of a coordinate is set, the bit `to` is flipped. A
/// bit that is flipped does not flip another, so applying all flips twice is the identity.
struct Flip {
  Axis fromAxis;
  int64_t from;
  Axis toAxis;
  int64_t to;
  bool operator==(const Flip &) const = default;
};

/// After each `interval` elements of shared memory, `amount` are unused.
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

/// The index along one dimension in the form in which generated code computes it: `registers[reg]`
/// plus the terms, which are the same for all registers of a thread. Flips, if any, are applied to
/// the coordinates first.
struct IndexForm {
  llvm::SmallVector<int64_t> registers;
  llvm::SmallVector<IndexTerm> terms;
};

/// Maps each index of a tile to hardware coordinates.
///
///   [2 reg:2, 8 lane:4] [4 lane, 2 reg]
///
/// is a tile of 16x8 in a warp: the row is 8·d0 + d1, where d1 selects the lane in steps of 4 and
/// d0 the register in steps of 2. Digits are written from the most to the least significant. A
/// layout may cover more than its tile: positions whose index is outside hold arbitrary values.
/// Hardware digits that no index maps to are copies: they all hold the same element.
class Layout {
public:
  using Digits = llvm::SmallVector<Digit, 4>;

  Layout() = default;
  Layout(llvm::ArrayRef<Digits> dims, llvm::ArrayRef<Digit> copies = {},
         llvm::ArrayRef<Flip> flips = {}, Pad pad = {})
      : dims(dims), copies(copies), flips(flips), pad(pad) {}

  /// Parses the output of `str`. `error` (if not null) receives the error message.
  static std::optional<Layout> parse(llvm::StringRef text, std::string *error = nullptr);
  std::string str() const;

  /// Why this is not a valid layout (two indices at the same position, a flip of a bit that does
  /// not exist), or "".
  std::string problem() const;

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  llvm::ArrayRef<Digits> getDims() const { return dims; }
  llvm::ArrayRef<Digit> getCopies() const { return copies; }
  llvm::ArrayRef<Flip> getFlips() const { return flips; }
  Pad getPad() const { return pad; }

  /// The number of indices that a dimension covers: the product of its digits' sizes.
  int64_t cover(int64_t dim) const;
  /// One more than the largest coordinate on the axis.
  int64_t extent(Axis axis) const;
  /// Whether every coordinate below `extent` is used.
  bool isDense(Axis axis) const;
  /// The number of copies of each element on the axis.
  int64_t copyCount(Axis axis) const;

  /// The coordinates of (the first copy of) the element.
  Coordinates apply(llvm::ArrayRef<int64_t> index) const;
  /// The index at these coordinates, or nullopt if the layout leaves the position unused.
  std::optional<llvm::SmallVector<int64_t>> indexOf(const Coordinates &at) const;
  std::optional<llvm::SmallVector<int64_t>> indexOf(int64_t reg, int64_t lane, int64_t warp = 0,
                                                    int64_t group = 0, int64_t cta = 0) const;
  /// indexOf() as formulas for generated code, one for each dimension. Only for layouts of
  /// registers.
  llvm::SmallVector<IndexForm> indexForms() const;
  /// Applies the flips; the function is its own inverse.
  Coordinates flipped(Coordinates at) const;

  /// The longest vector access to memory in which `dim` is contiguous: the number of consecutive
  /// indices along `dim` that are in consecutive registers (or offsets), starting at a multiple of
  /// that number.
  int64_t vectorLength(int64_t dim, Axis axis = Axis::reg) const;

  /// The canonical form: layouts that are the same function have equal canonical forms.
  Layout canonical() const;
  bool operator==(const Layout &other) const {
    return dims == other.dims && copies == other.copies && flips == other.flips && pad == other.pad;
  }
  /// Whether both are the same function.
  bool sameAs(const Layout &other) const { return canonical() == other.canonical(); }

  /// The layout of a reduction's result: digits of `dims` on lanes, warps and CTAs become copies;
  /// those on registers are removed and the remaining registers renumbered, because a thread
  /// combines its registers. nullopt if a swizzle combines reduced and kept digits.
  std::optional<Layout> reduce(llvm::ArrayRef<int64_t> dims) const;

  /// A layout of blocks (this), each of which is laid out as `atom`.
  Layout times(const Layout &atom) const;
  /// The layout of blocks `q` such that `q.times(atom)` is this layout, if there is one.
  std::optional<Layout> divide(const Layout &atom) const;

  /// Distributes `vector` consecutive elements of the fastest dimension to each of `lanes * warps`
  /// threads, in the order of `order` (fastest dimension first); the remaining elements go to
  /// registers. Threads that receive no element hold copies. Warps are assigned along `warpOrder`
  /// if it is given; slowest dimension first keeps a row in one warp.
  static Layout blocked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order,
                        int64_t vector, int64_t lanes, int64_t warps,
                        llvm::ArrayRef<int64_t> warpOrder = {});
  /// Elements contiguous in memory; `order` lists the fastest dimension first.
  static Layout packed(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order);

  friend llvm::hash_code hash_value(const Layout &layout);

  /// The dimension whose digit alone sets this bit of the coordinate; -1 if the digit belongs to a
  /// copy; nullopt if no single digit sets the bit.
  std::optional<int64_t> ownerOf(Axis axis, int64_t bit) const;

private:
  llvm::SmallVector<Digits, 3> dims;
  Digits copies;
  llvm::SmallVector<Flip, 0> flips;
  Pad pad;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &out, const Layout &layout);

/// Renumbers the registers so that they have no gaps and no copies.
Layout compactRegisters(const Layout &layout);

/// A source of tokens for parsing a layout: a string here, MLIR's parser in the dialect.
class LayoutTokens {
public:
  virtual ~LayoutTokens() = default;
  /// Consumes the character if it comes next.
  virtual bool take(char punctuation) = 0;
  virtual std::optional<int64_t> takeInteger() = 0;
  virtual std::optional<llvm::StringRef> takeWord() = 0;
};

/// Parses the longest layout at the front of `tokens`. Returns nullopt and sets `error` if there is
/// none.
std::optional<Layout> parseLayout(LayoutTokens &tokens, std::string &error);

} // namespace tilewright::sm

#endif // TILEWRIGHT_DIALECT_SM_LAYOUT_H
