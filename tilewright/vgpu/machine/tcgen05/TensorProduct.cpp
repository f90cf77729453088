#include "tilewright/vgpu/machine/tcgen05/TensorProduct.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/machine/async/Async.h"
#include "tilewright/vgpu/machine/matrix/BlockScales.h"
#include "tilewright/vgpu/machine/matrix/Matrix.h"
#include "tilewright/vgpu/machine/tcgen05/ProductOperands.h"
#include "tilewright/vgpu/machine/tcgen05/TensorMemory.h"
#include "tilewright/vgpu/machine/tcgen05/TensorPipe.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tilewright::vgpu::machine {

using ptx::Modifier;

// A request holds the operands of a thread: to D, from A, mbarrier the descriptor of B, coordinates
// the instruction descriptor and the addresses of the scales, sourceBytes whether D is added,
// values the masks of lanes and the mask of columns.
static constexpr size_t zeroMaskAt = 32;

namespace {
/// The part of D in one block.
struct Accumulator {
  TensorMemory &memory;
  const ProductLayout &layout;
  uint32_t lane, column, width; // of a part of the columns
  const uint32_t *disabled;     // 128 bits

  bool isDisabled(uint32_t at) const { return disabled[at / 32] >> at % 32 & 1; }
  uint32_t laneOf(uint32_t row, uint32_t part) const {
    return lane + layout.laneOf(row) + part * layout.step;
  }
  /// The cells of an octet of columns.
  uint32_t *octet(uint32_t row, uint32_t index) const {
    const uint32_t part = 8 * index / width;
    return memory.at(laneOf(row, part), column + 8 * index % width);
  }
};

/// How results are rounded.
struct Result {
  ProductType type = ProductType::f32;
  bool adds = false, saturates = false, isTruncated = false;
  double factor = 1; // of the old D
};
} // namespace

/// The position of element i of an octet, in the order of TileProduct: its row among 16, and its
/// column.
static constexpr unsigned rowOf(unsigned i) { return i % 32 / 4 + 8 * (i / 64); }
static constexpr unsigned columnOf(unsigned i) { return 2 * (i % 4) + i / 32 % 2; }

/// Computes sixteen rows, beginning with `row`, in f32; rounds each sum once.
static void accumulateFloats(TileProduct &product, const Accumulator &to, unsigned row, unsigned n,
                             bool adds) {
  alignas(64) float sums[32 * 4][32];
  float *registers[32 * 4];
  for (unsigned i = 0; i < n / 2; ++i)
    registers[i] = sums[i];
  // An octet of a row is four lanes of two registers.
  if (adds)
    for (unsigned octet = 0; octet < n / 8; ++octet)
      for (unsigned r = 0; r < 16; ++r) {
        float cells[8];
        std::memcpy(cells, to.octet(row + r, octet), sizeof(cells));
        float *even = sums[4 * octet + 2 * (r / 8)] + 4 * (r % 8), *odd = even + 32;
        for (unsigned q = 0; q < 4; ++q) {
          even[q] = cells[2 * q];
          odd[q] = cells[2 * q + 1];
        }
      }
  product.accumulate(registers, adds);
  for (unsigned octet = 0; octet < n / 8; ++octet)
    for (unsigned r = 0; r < 16; ++r) {
      if (to.isDisabled(to.laneOf(row + r, 8 * octet / to.width)))
        continue;
      const float *even = sums[4 * octet + 2 * (r / 8)] + 4 * (r % 8), *odd = even + 32;
      float cells[8];
      for (unsigned q = 0; q < 4; ++q) {
        cells[2 * q] = even[q];
        cells[2 * q + 1] = odd[q];
      }
      std::memcpy(to.octet(row + r, octet), cells, sizeof(cells));
    }
}

static Modifier typeOf(ProductType type) {
  return type == ProductType::f32   ? Modifier::f32
         : type == ProductType::f16 ? Modifier::f16
                                    : Modifier::s32;
}

static void storeElement(const Accumulator &to, unsigned row, unsigned column, const Result &result,
                         double value) {
  if (to.isDisabled(to.laneOf(row, column / to.width)))
    return;
  to.octet(row, column / 8)[column % 8] =
      roundElement(typeOf(result.type), value, result.saturates);
}

/// Computes sixteen rows, beginning with `row`, with any rounding.
static void accumulateRounded(TileProduct &product, const Accumulator &to, unsigned row, unsigned n,
                              const Result &result) {
  alignas(64) double start[128] = {}, sums[128];
  for (unsigned octet = 0; octet < n / 8; ++octet) {
    if (result.adds)
      for (unsigned i = 0; i < 128; ++i)
        start[i] =
            result.factor * elementValue(typeOf(result.type),
                                         to.octet(row + rowOf(i), octet)[columnOf(i)] &
                                             (result.type == ProductType::f16 ? 0xffffu : ~0u));
    if (result.isTruncated)
      for (unsigned i = 0; i < 128; ++i) {
        double products[256];
        for (unsigned l = 0; l < product.depth(); ++l)
          products[l] = product.a(rowOf(i), l) * product.b(l, 8 * octet + columnOf(i));
        sums[i] = alignedSum(products, product.depth(), start[i], alignmentBits(Modifier::f16));
      }
    else
      product.sums(octet, start, sums);
    for (unsigned i = 0; i < 128; ++i)
      storeElement(to, row + rowOf(i), 8 * octet + columnOf(i), result, sums[i]);
  }
}

/// Rows of k values, with zeros at the end of each.
static std::vector<float> padded(const std::vector<float> &values, unsigned k, unsigned depth) {
  std::vector<float> result(values.size() / k * depth);
  for (size_t row = 0; row < values.size() / k; ++row)
    std::copy_n(values.begin() + ptrdiff_t(row * k), k, result.begin() + ptrdiff_t(row * depth));
  return result;
}

namespace {
/// Performs one tcgen05.mma.
class Product {
public:
  Product(Warp &warp, const Op *op, const CopyRequest &request, AsyncId id,
          const InstructionDescriptor &product)
      : warp(warp), op(op), request(request), id(id),
        form(*static_cast<const TensorProductForm *>(op->extra)), product(product),
        layout(layoutOf(form.mode, product.m)), reader{warp, op, id, form, product} {}

  bool run();

private:
  bool readB(std::span<Block *const> blocks);
  bool multiply(Block &block, unsigned rank);
  void observe(Block &block, const Accumulator &to) const;
  void multiplyExtremes(const Accumulator &to, const Result &result) const;

  Warp &warp;
  const Op *op;
  const CopyRequest &request;
  AsyncId id;
  const TensorProductForm &form;
  const InstructionDescriptor &product;
  const ProductLayout layout;
  const ProductReader reader;
  ScaledRows a, b;
  std::vector<float> scaledA, scaledB;
};
} // namespace

bool Product::readB(std::span<Block *const> blocks) {
  const auto each = static_cast<unsigned>(product.n / blocks.size());
  std::vector<float> part;
  b.values.clear();
  for (Block *block : blocks) {
    if (!reader.readShared(*block, request.mbarrier, product.b, product.transposesB, each, part))
      return false;
    b.values.insert(b.values.end(), part.begin(), part.end());
  }
  if (!form.hasZeroMask)
    return true;
  uint64_t mask;
  std::memcpy(&mask, request.values + zeroMaskAt, 8);
  const std::vector<bool> zero = zeroColumns(mask, product.m, product.n);
  for (unsigned j = 0; j < product.n; ++j)
    if (zero[j])
      std::fill_n(b.values.begin() + ptrdiff_t(j) * product.k, product.k, 0.0f);
  return true;
}

void Product::observe(Block &block, const Accumulator &to) const {
  for (const AccessKind kind : {AccessKind::read, AccessKind::write}) {
    if (kind == AccessKind::read && request.sourceBytes == 0)
      continue;
    AccessTeller teller(warp, op, kind, Proxy::generic, id);
    for (unsigned part = 0; teller && part < layout.parts; ++part)
      for (unsigned row = 0; row < layout.rows; ++row)
        if (const uint32_t lane = to.laneOf(row, part); !to.isDisabled(lane))
          teller.range(flatTensorAddress(block, lane, to.column), 4 * to.width);
  }
}

/// Scaled products whose factors exceed the range of f32.
void Product::multiplyExtremes(const Accumulator &to, const Result &result) const {
  const double sign = product.negatesA != product.negatesB ? -1 : 1;
  for (unsigned row = 0; row < layout.rows; ++row)
    for (unsigned j = 0; j < product.n; ++j) {
      const double start = result.adds ? std::bit_cast<float>(to.octet(row, j / 8)[j % 8]) : 0;
      storeElement(to, row, j, result, sumScaled(a, row, b, j, start, sign));
    }
}

bool Product::multiply(Block &block, unsigned rank) {
  const unsigned k = product.k, n = product.n;
  const auto address = static_cast<uint32_t>(request.to);
  uint32_t disabled[8];
  std::memcpy(disabled, request.values, sizeof(disabled));
  TensorMemory *memory = resolveTensor(
      warp, op,
      {&block, address >> 16, layout.laneOf(layout.rows - 1) + (layout.parts - 1) * layout.step + 1,
       address & 0xffff, n / layout.parts},
      "tcgen05.mma writes D to");
  if (!memory)
    return false;
  if (form.aIsDescriptor
          ? !reader.readShared(block, request.from, product.a, product.transposesA, layout.rows,
                               a.values)
          : !reader.readTensor(block, static_cast<uint32_t>(request.from), layout, a.values))
    return false;
  const Accumulator to{*memory,          layout,           address >> 16,
                       address & 0xffff, n / layout.parts, disabled + 4 * rank};
  observe(block, to);

  const Arithmetic arithmetic = warp.block->group->grid->arithmetic;
  Result result{product.d, request.sourceBytes != 0, product.saturates,
                arithmetic == Arithmetic::hopper && product.d != ProductType::s32,
                std::ldexp(1.0, -static_cast<int>(form.scaleD))};
  int aBits = significandBits(product.a), bBits = significandBits(product.b);
  const std::vector<float> *rows = &a.values, *columns = &b.values;
  if (isScaled(form.mode.kind)) {
    const bool isHalved = form.mode.isPair && product.m == 128;
    if (!reader.readScales(block, static_cast<uint32_t>(request.coordinates[1]), layout.rows,
                           product.scaleIdA, false, a.scales) ||
        !reader.readScales(block, static_cast<uint32_t>(request.coordinates[2]), n,
                           product.scaleIdB, isHalved, b.scales))
      return false;
    a.k = b.k = k;
    a.block = b.block = form.block;
    if (!a.multiplied(scaledA) || !b.multiplied(scaledB)) {
      multiplyExtremes(to, result);
      return true;
    }
    rows = &scaledA, columns = &scaledB;
    if (!product.hasE8Scales) {
      aBits += significandBits(ProductType::e4m3);
      bBits += significandBits(ProductType::e4m3);
    }
  }
  // TileProduct requires a power of two.
  const unsigned depth = std::bit_ceil(k);
  if (depth != k) {
    scaledA = padded(*rows, k, depth);
    scaledB = padded(*columns, k, depth);
    rows = &scaledA, columns = &scaledB;
  }
  TileProduct &tile = threadProduct();
  tile.beginValues(aBits, bBits, n, depth, arithmetic == Arithmetic::fast);
  tile.readBValues(columns->data());
  const bool isPlain = product.d == ProductType::f32 && !result.isTruncated && result.factor == 1;
  for (unsigned row = 0; row < layout.rows; row += 16) {
    tile.readAValues(rows->data() + size_t(row) * depth, product.negatesA != product.negatesB);
    if (isPlain)
      accumulateFloats(tile, to, row, n, result.adds);
    else
      accumulateRounded(tile, to, row, n, result);
  }
  return true;
}

bool Product::run() {
  Block *blocks[2] = {warp.block, nullptr};
  unsigned count = 1;
  if (form.mode.isPair) {
    Block *peer = peerOf(*warp.block);
    if (!peer) {
      fault(
          warp, op, Error::vgpuFault,
          concat("cta_group::2 needs a cluster in which block ", warp.block->rank, " has a peer"));
      return false;
    }
    blocks[warp.block->rank % 2] = warp.block;
    blocks[1 - warp.block->rank % 2] = peer;
    count = 2;
  }
  const std::span<Block *const> all(blocks, count);
  if (!readB(all))
    return false;
  for (unsigned rank = 0; rank < count; ++rank)
    if (!multiply(*blocks[rank], rank))
      return false;
  if (Observer *observer = warp.block->group->grid->observer)
    observer->multiplied(warp, op,
                         concat(nameOf(product.a), '*', nameOf(product.b), '+', nameOf(product.d)),
                         uint64_t(product.m) * product.n * product.k);
  return true;
}

static bool performProduct(Warp &warp, const Op *op, std::span<const CopyRequest> requests,
                           AsyncId id, Part, std::span<std::vector<std::byte>>) {
  const auto &form = *static_cast<const TensorProductForm *>(op->extra);
  std::string problem;
  const InstructionDescriptor product = InstructionDescriptor::decode(
      form.mode, static_cast<uint32_t>(requests[0].coordinates[0]), problem);
  if (problem.empty() && !form.aIsDescriptor && product.transposesA)
    problem = "A in tensor memory cannot be transposed";
  if (problem.empty() && form.shiftsA && product.m < 128)
    problem = ".ashift needs M of 128 or 256";
  if (!problem.empty()) {
    fault(warp, op, Error::vgpuFault, problem);
    return false;
  }
  return Product(warp, op, requests[0], id, product).run();
}

After runTensorProduct(Warp &warp, const Op *op, std::byte *registers, uint32_t, uint32_t active) {
  const auto &form = *static_cast<const TensorProductForm *>(op->extra);
  auto gather = [&](unsigned lane, CopyRequest &request) {
    std::memset(request.values, 0, sizeof(request.values));
    request.to = laneAddress(form.d, registers, lane);
    request.from = form.aIsDescriptor ? longWord(registers, form.aDescriptor, lane)
                                      : laneAddress(form.a, registers, lane);
    request.mbarrier = longWord(registers, form.bDescriptor, lane);
    request.coordinates[0] = static_cast<int32_t>(word(registers, form.instruction, lane));
    if (isScaled(form.mode.kind)) {
      request.coordinates[1] = static_cast<int32_t>(laneAddress(form.scaleA, registers, lane));
      request.coordinates[2] = static_cast<int32_t>(laneAddress(form.scaleB, registers, lane));
    }
    request.sourceBytes = predicateOf(registers, form.enable) >> lane & 1;
    for (size_t i = 0; i < form.disabled.size(); ++i)
      std::memcpy(request.values + 4 * i, registers + form.disabled[i] + 4 * size_t(lane), 4);
    if (form.hasZeroMask)
      std::memcpy(request.values + zeroMaskAt, registers + form.zeroMask + 8 * size_t(lane), 8);
  };
  return issueTensor(warp, op, active, true, performProduct, gather);
}

} // namespace tilewright::vgpu::machine
