// wgmma of dense and sparse matrices: B, and A unless it is in registers, without swizzle in shared
// memory, contiguous along K or along M and N. Tests with CUTLASS and Triton cover swizzled tiles.
#include "test/vgpu/forms/MatrixReference.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/Fragment.h"

#include <cstring>
#include <sstream>

namespace tilewright::vgpu::forms {

namespace {
/// A matrix of rows × k in shared memory as PTX's core matrices: 8 lines of 16 bytes each. If it is
/// contiguous along k, `leading` is the distance between core matrices along k and `stride` the
/// distance along rows; transposed, the two are exchanged.
struct Tile {
  std::vector<uint8_t> bytes;
  uint32_t leading = 0, stride = 0;
};
} // namespace

static Tile tileOf(const Matrix &rows, Modifier type, bool isTransposed) {
  const unsigned bits = ptx::bitsOf(type), per = 128 / bits;
  Tile tile;
  const unsigned r8 = (rows.rows + 7) / 8;
  const unsigned chunks = isTransposed ? rows.rows / per : rows.columns / per;
  if (!isTransposed) {
    tile.leading = 128;
    tile.stride = 128 * chunks;
    tile.bytes.resize(size_t(r8) * tile.stride);
  } else {
    // stride: next 16 bytes along rows; leading: next 8 along k.
    tile.stride = 128 * (rows.columns / 8);
    tile.leading = 128;
    tile.bytes.resize(size_t(chunks) * tile.stride);
  }
  for (unsigned r = 0; r < rows.rows; ++r)
    for (unsigned k = 0; k < rows.columns; ++k) {
      const uint64_t value = elementBits(type, rows.at(r, k));
      const size_t at = isTransposed
                            ? size_t(r / per) * tile.stride + k / 8 * tile.leading + k % 8 * 16
                            : size_t(r / 8) * tile.stride + k / per * tile.leading + r % 8 * 16;
      const unsigned within = (isTransposed ? r % per : k % per) * bits;
      if (bits < 8)
        tile.bytes[at + within / 8] =
            static_cast<uint8_t>(tile.bytes[at + within / 8] | value << within % 8);
      else
        std::memcpy(&tile.bytes[at + within / 8], &value, bits / 8);
    }
  return tile;
}
static Matrix transposed(const Matrix &matrix) {
  Matrix result(matrix.columns, matrix.rows);
  for (unsigned r = 0; r < matrix.rows; ++r)
    for (unsigned c = 0; c < matrix.columns; ++c)
      result.at(c, r) = matrix.at(r, c);
  return result;
}

/// Rows `first` to `first + count - 1`.
static Matrix rowsOf(const Matrix &matrix, unsigned first, unsigned count) {
  Matrix result(count, matrix.columns);
  for (unsigned r = 0; r < count; ++r)
    for (unsigned c = 0; c < matrix.columns; ++c)
      result.at(r, c) = matrix.at(first + r, c);
  return result;
}

static void runForm(Session &session, const Form &form, bool isHopper) {
  const Instruction &instruction = form.instruction;
  const ptx::Shape shape = ptx::shapeOf(instruction.find(ModifierKind::shape));
  const Modifier dType = instruction.type(0), aType = instruction.type(1),
                 bType = instruction.type(2);
  const bool isSparse = form.row->handler == Handler::wgmmaSparse;
  const bool hasSigns = dType != Modifier::s32;
  const bool hasTranspose = hasSigns && ptx::bitsOf(aType) == 16;
  std::mt19937_64 &random = session.random;
  const bool aInRegisters = random() & 1, adds = random() & 3;
  const bool transA = hasTranspose && !aInRegisters && random() & 1;
  const bool transB = hasTranspose && random() & 1;
  const int signA = hasSigns && random() & 1 ? -1 : 1, signB = hasSigns && random() & 1 ? -1 : 1;

  Sparse sparse =
      randomSparse(64, isSparse ? shape.k : 8, isSparse ? aType : Modifier::f16, random);
  const Matrix a = isSparse ? sparse.dense : randomMatrix(64, shape.k, aType, false, random);
  const Matrix stored = isSparse ? sparse.kept : a;
  const Matrix b = randomMatrix(shape.k, shape.n, bType, false, random);
  const Matrix c = randomMatrix(64, shape.n, dType, true, random);
  const Tile tileA = tileOf(stored, aType, transA), tileB = tileOf(transposed(b), bType, transB);
  const unsigned chunks = isSparse ? sparse.chunks : 0;
  const unsigned selector = isSparse && chunks == 8 ? random() & 1 : 0;
  const unsigned aCount = ptx::fragmentOf(instruction, 'A').count;
  const unsigned dCount = ptx::fragmentOf(instruction, 'D').count;

  // Registers of 128 threads: A, metadata, D; each register 128 words.
  std::vector<uint32_t> in;
  auto appendWarps = [&](auto make, unsigned count) {
    std::vector<uint32_t> words(size_t(count) * 128);
    for (unsigned w = 0; w < 4; ++w) {
      const std::vector<uint64_t> one = make(w);
      for (unsigned r = 0; r < count; ++r)
        for (unsigned lane = 0; lane < 32; ++lane)
          words[r * 128 + w * 32 + lane] = static_cast<uint32_t>(one[r * 32 + lane]);
    }
    in.insert(in.end(), words.begin(), words.end());
  };
  appendWarps(
      [&](unsigned w) { return packFragment(rowsOf(stored, 16 * w, 16), 'A', 16, aType, aCount); },
      aCount);
  appendWarps(
      [&](unsigned w) {
        return isSparse ? metadataOf(sparse, 16 * w, aType, selector, random)
                        : std::vector<uint64_t>(32);
      },
      1);
  const unsigned dBits = ptx::bitsOf(dType), per = 32 / dBits;
  // D consists of blocks of 8 columns, each laid out like the accumulator of m16n8.
  auto positionOf = [&](unsigned lane, unsigned v) {
    Position at = mmaPosition('C', 16, dType, lane, v % 4);
    return Position{at.row, at.column + v / 4 * 8};
  };
  appendWarps(
      [&](unsigned w) {
        std::vector<uint64_t> words(size_t(dCount) * 32);
        for (unsigned lane = 0; lane < 32; ++lane)
          for (unsigned v = 0; v < dCount * per; ++v) {
            const Position at = positionOf(lane, v);
            words[v / per * 32 + lane] |= elementBits(dType, c.at(16 * w + at.row, at.column))
                                          << (v % per * dBits);
          }
        return words;
      },
      dCount);

  std::vector<uint8_t> shared(tileA.bytes);
  shared.resize((shared.size() + 255) / 256 * 256);
  const size_t beginB = shared.size();
  shared.insert(shared.end(), tileB.bytes.begin(), tileB.bytes.end());
  shared.resize((shared.size() + 2047) / 2048 * 2048);
  std::ostringstream text;
  text << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 ps) {\n"
       << registerDeclarations() << ".shared .align 1024 .b8 tiles[" << shared.size() << "];\n"
       << "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %a1, [ps];\n"
          "mov.u32 %i, %tid.x; mul.wide.u32 %a0, %i, 4; add.u64 %in, %in, %a0; "
          "add.u64 %out, %out, %a0;\nmul.wide.u32 %a0, %i, 16; add.u64 %a1, %a1, %a0;\n"
          "mov.u32 %x1, tiles; mad.lo.u32 %x2, %i, 16, %x1;\n";
  for (size_t at = 0; at < shared.size(); at += 2048)
    text << "ld.global.v4.b32 {%x3, %x4, %x5, %x6}, [%a1+" << at << "]; st.shared.v4.b32 [%x2+"
         << at << "], {%x3, %x4, %x5, %x6};\n";
  text << "fence.proxy.async.shared::cta; bar.sync 0;\n";
  unsigned at = 0;
  std::string aList = "{", dList = "{";
  for (unsigned i = 0; i < aCount; ++i, ++at) {
    text << "ld.global.b32 %r" << i + 1 << ", [%in+" << at * 512 << "];\n";
    aList += concat(i ? ", " : "", "%r", i + 1);
  }
  text << "ld.global.b32 %x7, [%in+" << at++ * 512 << "];\n";
  for (unsigned i = 0; i < dCount; ++i, ++at) {
    text << "ld.global.b32 %r" << i + 20 << ", [%in+" << at * 512 << "];\n";
    dList += concat(i ? ", " : "", "%r", i + 20);
  }
  auto descriptor = [&](const char *name, size_t offset, const Tile &tile) {
    const uint64_t rest = uint64_t(tile.leading >> 4) << 16 | uint64_t(tile.stride >> 4) << 32;
    text << "add.u32 %x8, %x1, " << offset << "; shr.u32 %x8, %x8, 4; cvt.u64.u32 " << name
         << ", %x8; or.b64 " << name << ", " << name << ", " << rest << ";\n";
  };
  descriptor("%a10", 0, tileA);
  descriptor("%a11", beginB, tileB);
  text << "setp.ne.u32 %p1, " << (adds ? 1 : 0) << ", 0;\n"
       << "wgmma.fence.sync.aligned;\n"
       << form.name() << " " << dList << "}, " << (aInRegisters ? aList + "}" : "%a10") << ", %a11"
       << (isSparse ? concat(", %x7, ", selector) : std::string()) << ", %p1";
  if (hasSigns)
    text << ", " << signA << ", " << signB;
  if (hasTranspose && !aInRegisters)
    text << ", " << transA;
  if (hasTranspose)
    text << ", " << transB;
  text << ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (unsigned i = 0; i < dCount; ++i)
    text << "st.global.b32 [%out+" << i * 512 << "], %r" << i + 20 << ";\n";
  text << "ret;\n}\n";
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text.str());
  if (!module)
    return;
  std::vector<uint32_t> out(size_t(dCount) * 128);
  const uint32_t *pin = in.data();
  const uint8_t *ps = shared.data();
  uint32_t *pout = out.data();
  const void *arguments[] = {&pin, &pout, &ps};
  machine::LaunchConfig config{.grid = {1, 1, 1}, .block = {128, 1, 1}};
  config.arithmetic = isHopper ? machine::Arithmetic::hopper : machine::Arithmetic::exact;
  ++session.forms;
  if (!launch(session, form, *module, config, arguments))
    return;
  Matrix signedA = a;
  for (int64_t &value : signedA.values)
    value *= signA * signB;
  const Matrix expected = product(signedA, b, adds ? c : Matrix(64, shape.n), dType, aType,
                                  instruction.has(Modifier::satfinite), false);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned v = 0; v < dCount * per; ++v) {
      const Position where = positionOf(thread % 32, v);
      const uint64_t got =
          out[v / per * 128 + thread] >> (v % per * dBits) & (dBits == 32 ? 0xffffffffu : 0xffffu);
      ++session.values;
      const int64_t wanted = expected.at(thread / 32 * 16 + where.row, where.column);
      if (got != elementBits(dType, wanted)) {
        session.fail(form, concat(aInRegisters ? "registers" : "descriptor", " trans ", transA,
                                  transB, " thread ", thread, " element ", v, " is ",
                                  elementNumber(dType, got), ", expected ", wanted));
        return;
      }
    }
  session.coverage.addModule(module->source(), session.kernel);
}

void runWgmma(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable())
    if (row.handler == Handler::wgmma || row.handler == Handler::wgmmaSparse)
      for (const Form &form : formsOf(row, std::max<size_t>(session.perRow / 4, 8), session.random))
        for (bool isHopper : {false, true})
          runForm(session, form, isHopper);
}

} // namespace tilewright::vgpu::forms
