// tcgen05.ld, st, cp and shift in every shape. The kernel of TensorKernel covers alloc, dealloc,
// commit, wait and fence.
#include "test/vgpu/forms/TensorKernel.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/Fragment.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <sstream>

namespace tilewright::vgpu::forms {

namespace {
struct Cell {
  unsigned lane, column;
};
} // namespace

/// The cell of register `r` of a thread, as PTX's figures of the shapes show it.
static Cell cellOf(Modifier shape, unsigned t, unsigned r, unsigned split, bool isPacked) {
  const unsigned wide = isPacked ? 2 : 1;
  switch (shape) {
  case Modifier::shape16x64b: // pairs of threads: lanes t / 4 and t / 4 + 8
    return {t % 2 * 8 + t / 4, wide * (2 * r + t / 2 % 2)};
  case Modifier::shape16x128b:
    return {r % 2 * 8 + t / 4, wide * (r / 2 * 4 + t % 4)};
  case Modifier::shape16x256b:
    return {r / 2 % 2 * 8 + t / 4, wide * (r / 4 * 8 + t % 4 * 2 + r % 2)};
  case Modifier::shape16x32bx2:
    return {t % 16, wide * r + t / 16 * split};
  default:
    return {t, wide * r};
  }
}

/// Registers of the four warps of a block: register r of thread t at [r * 128 + t].
using Registers = std::vector<uint32_t>;

/// Moves between registers and tensor memory: `text` gets %t, the address in tensor memory, and the
/// registers %v0 …. Returns the registers and the image afterwards.
static bool runMove(Session &session, const Form &form, const std::string &instruction,
                    unsigned count, TensorImage &image, Registers &registers) {
  std::ostringstream text;
  text << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout, .param .u64 pr) {\n"
       << ".reg .b32 %v<130>, %u<128>, %t, %base, %i, %w, %x<4>; .reg .b64 %in, %out, %r, %a0;\n"
          ".reg .pred %q<4>;\n.shared .b32 where;\n"
          "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; ld.param.u64 %r, [pr];\n"
          "mov.u32 %i, %tid.x; shr.u32 %w, %i, 5; mul.wide.u32 %a0, %i, 2048;\n"
          "add.u64 %in, %in, %a0; add.u64 %out, %out, %a0; mul.wide.u32 %a0, %i, 4;\n"
          "add.u64 %r, %r, %a0; setp.ne.u32 %q0, %w, 0; @%q0 bra L0;\n"
          "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [where], 512;\n"
          "L0: bar.sync 0; ld.shared.b32 %base, [where]; shl.b32 %x0, %w, 21;\n"
          "add.u32 %t, %base, %x0;\n";
  auto wholeImage = [&](bool isStore) {
    for (unsigned part = 0; part < 4; ++part) {
      std::string list = "{";
      for (unsigned i = 0; i < 128; ++i) {
        list += concat(i ? ", " : "", "%u", i);
        if (isStore)
          text << "ld.global.b32 %u" << i << ", [%in+" << part * 512 + i * 4 << "];\n";
      }
      if (isStore)
        text << "tcgen05.st.sync.aligned.32x32b.x128.b32 [%t+" << 128 * part << "], " << list
             << "};\n";
      else
        text << "tcgen05.ld.sync.aligned.32x32b.x128.b32 " << list << "}, [%t+" << 128 * part
             << "];\ntcgen05.wait::ld.sync.aligned;\n";
      for (unsigned i = 0; !isStore && i < 128; ++i)
        text << "st.global.b32 [%out+" << part * 512 + i * 4 << "], %u" << i << ";\n";
    }
  };
  wholeImage(true);
  text << "tcgen05.wait::st.sync.aligned;\n";
  for (unsigned i = 0; i < count; ++i)
    text << "ld.global.b32 %v" << i << ", [%r+" << i * 512 << "];\n";
  text << instruction << "tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;\n";
  for (unsigned i = 0; i < count; ++i)
    text << "st.global.b32 [%r+" << i * 512 << "], %v" << i << ";\n";
  wholeImage(false);
  text << "bar.sync 0; @%q0 bra L1;\n"
          "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 512;\nL1: ret;\n}\n";
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text.str());
  if (!module)
    return false;
  std::vector<uint32_t> out(image.words.size());
  const uint32_t *pin = image.words.data();
  uint32_t *pout = out.data(), *pr = registers.data();
  const void *arguments[] = {&pin, &pout, &pr};
  ++session.forms;
  if (!launch(session, form, *module, {.grid = {1, 1, 1}, .block = {128, 1, 1}}, arguments))
    return false;
  image.words = out;
  session.coverage.addModule(module->source(), session.kernel);
  return true;
}

/// The extreme of a thread's values, for tcgen05.ld.red.
static uint32_t extremeOf(const Instruction &instruction, std::vector<uint32_t> values) {
  const bool isMin = instruction.has(Modifier::min);
  const Modifier type = instruction.type();
  auto pick = [&](auto decode) {
    return *std::min_element(values.begin(), values.end(), [&](uint32_t a, uint32_t b) {
      return isMin ? decode(a) < decode(b) : decode(b) < decode(a);
    });
  };
  if (type == Modifier::u32)
    return pick([](uint32_t bits) { return bits; });
  if (type == Modifier::s32)
    return pick([](uint32_t bits) { return static_cast<int32_t>(bits); });
  for (uint32_t &value : values)
    if (instruction.has(Modifier::absolute))
      value &= 0x7fffffffu;
  const auto isNan = [](uint32_t bits) { return std::isnan(std::bit_cast<float>(bits)); };
  if (instruction.has(Modifier::nan) && std::any_of(values.begin(), values.end(), isNan))
    return 0x7fffffffu;
  std::erase_if(values, isNan);
  if (values.empty())
    return 0x7fffffffu;
  // Ordered as signed magnitudes, so that -0 is below +0.
  return pick(
      [](uint32_t bits) { return bits >> 31 ? -int64_t(bits & 0x7fffffffu) - 1 : int64_t(bits); });
}

static void runMoveForm(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  std::mt19937_64 &random = session.random;
  const Modifier shape = instruction.find(ModifierKind::tensorShape);
  const unsigned count = ptx::fragmentOf(instruction, 'D').count;
  const bool isLoad = form.row->handler == Handler::tcgenLoad;
  const bool isReduced = form.row->opcode == "tcgen05.ld.red";
  const bool isPacked = instruction.find(ModifierKind::packing) != Modifier::none;
  const bool isSplit = shape == Modifier::shape16x32bx2;
  const unsigned wide = isPacked ? 2 : 1;
  const unsigned columns =
      shape == Modifier::shape32x32b || isSplit ? wide * count : wide * 2 * count;
  if (columns > 512)
    return; // more than tensor memory has
  const unsigned split = isSplit ? std::min(columns + unsigned(random() % 8), 512 - columns) : 0;
  const unsigned column = random() % (512 - columns - split + 1);
  const unsigned lane = shape == Modifier::shape32x32b ? 0 : 16 * (random() & 1);
  TensorImage image;
  for (uint32_t &word : image.words)
    word = random() % 16 == 0 ? 0x7fc00000u : static_cast<uint32_t>(random());
  Registers registers(size_t(130) * 128);
  for (uint32_t &word : registers)
    word = static_cast<uint32_t>(random());
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i)
    list += concat(i ? ", " : "", "%v", i);
  list += "}";
  const std::string address = concat("[%t+", lane << 16 | column, "]");
  const std::string half = isSplit ? concat(", ", split) : "";
  const std::string text = isLoad ? concat(form.name(), " ", list, isReduced ? ", %v128" : "", ", ",
                                           address, half, ";\n")
                                  : concat(form.name(), " ", address, half, ", ", list, ";\n");
  const Registers before = registers;
  TensorImage expected = image;
  if (!runMove(session, form, text, isReduced ? 129 : count, image, registers))
    return;
  Registers wanted = before;
  for (unsigned t = 0; t < 128; ++t) {
    std::vector<uint32_t> values;
    for (unsigned r = 0; r < count; ++r) {
      const Cell cell = cellOf(shape, t % 32, r, split, isPacked);
      const unsigned row = t / 32 * 32 + lane + cell.lane;
      uint32_t &first = expected.at(row, column + cell.column);
      uint32_t &reg = wanted[r * 128 + t];
      if (isLoad && isPacked)
        reg = (first & 0xffff) | expected.at(row, column + cell.column + 1) << 16;
      else if (isLoad)
        reg = first;
      else if (isPacked) {
        first = reg & 0xffff;
        expected.at(row, column + cell.column + 1) = reg >> 16;
      } else
        first = reg;
      values.push_back(reg);
    }
    if (isReduced)
      wanted[128 * 128 + t] = extremeOf(instruction, values);
  }
  session.values += expected.words.size() + size_t(count) * 128;
  if (image.words != expected.words)
    session.fail(form, concat("tensor memory differs; column ", column, " lane ", lane));
  if (registers != wanted) {
    const size_t at = static_cast<size_t>(
        std::mismatch(registers.begin(), registers.end(), wanted.begin()).first -
        registers.begin());
    session.fail(form, concat("register ", at / 128, " of thread ", at % 128, " is ", registers[at],
                              ", expected ", wanted[at]));
  }
}

static void runCopyForm(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  std::mt19937_64 &random = session.random;
  const unsigned blocks = instruction.has(Modifier::ctaGroup2) ? 2 : 1;
  TensorSetup setup;
  setup.tensor.resize(blocks);
  setup.shared.resize(blocks, std::vector<uint8_t>(8192));
  for (unsigned block = 0; block < blocks; ++block) {
    for (uint32_t &word : setup.tensor[block].words)
      word = static_cast<uint32_t>(random());
    for (uint8_t &byte : setup.shared[block])
      byte = static_cast<uint8_t>(random());
  }
  std::vector<TensorImage> expected = setup.tensor;
  const unsigned column = 4 * (random() % 120);
  if (form.row->handler == Handler::tcgenShift) {
    const unsigned quarter = random() % 4;
    setup.instructions = concat(form.name(), " [%t+", (32 * quarter) << 16 | column, "];\n");
    for (unsigned block = 0; block < blocks; ++block)
      for (unsigned lane = 1; lane < 32; ++lane)
        for (unsigned i = 0; i < 8; ++i)
          expected[block].at(32 * quarter + lane, column + i) =
              setup.tensor[block].at(32 * quarter + lane - 1, column + i);
  } else {
    const Modifier shape = instruction.find(ModifierKind::tensorShape);
    const Modifier format = instruction.find(ModifierKind::sourceFormat);
    const bool is256 = shape == Modifier::shape128x256b || shape == Modifier::shape4x256b;
    const unsigned rows = shape == Modifier::shape4x256b    ? 4
                          : shape == Modifier::shape64x128b ? 64
                          : shape == Modifier::shape32x128b ? 32
                                                            : 128;
    // Without swizzle: rows of 16 bytes, eight to a matrix, matrices of a row next to each other.
    const unsigned chunks = is256 ? 2 : 1, stride = 128 * chunks;
    const uint64_t descriptor =
        uint64_t(128 >> 4) << 16 | uint64_t(stride >> 4) << 32 | uint64_t(1) << 46;
    setup.instructions = concat("shr.u32 %r0, %s, 4; cvt.u64.u32 %d0, %r0; add.u64 %d0, %d0, ",
                                descriptor, ";\n", form.name(), " [%t+", column, "], %d0;\n");
    for (unsigned block = 0; block < blocks; ++block)
      for (unsigned row = 0; row < rows; ++row) {
        std::vector<unsigned> lanes;
        if (rows == 4)
          lanes = {32 * row};
        else if (rows == 128)
          lanes = {row};
        else if (rows == 32)
          lanes = {row, row + 32, row + 64, row + 96};
        else if (instruction.has(Modifier::warpx2Even))
          lanes = {row, row + 64};
        else
          lanes = {row % 32 + row / 32 * 64, row % 32 + row / 32 * 64 + 32};
        for (unsigned chunk = 0; chunk < chunks; ++chunk) {
          const uint8_t *from =
              setup.shared[block].data() + row / 8 * stride + row % 8 * 16 + chunk * 128;
          uint8_t bytes[16];
          for (unsigned i = 0; i < 16; ++i) {
            if (format == Modifier::none) {
              bytes[i] = from[i];
              continue;
            }
            const unsigned bits = format == Modifier::b4x16p64 ? 4 : 6;
            unsigned value = 0;
            for (unsigned bit = 0; bit < bits; ++bit)
              value |= (from[(i * bits + bit) / 8] >> (i * bits + bit) % 8 & 1u) << bit;
            bytes[i] = static_cast<uint8_t>(bits == 4 ? value << 2 : value);
          }
          for (const unsigned lane : lanes)
            for (unsigned i = 0; i < 16; ++i)
              expected[block].setByte(lane, column + 4 * chunk + i / 4, i % 4, bytes[i]);
        }
      }
  }
  const std::vector<TensorImage> got = runOnTensor(session, form, setup);
  for (size_t block = 0; block < got.size(); ++block) {
    session.values += got[block].words.size();
    if (got[block].words != expected[block].words) {
      const size_t at =
          static_cast<size_t>(std::mismatch(got[block].words.begin(), got[block].words.end(),
                                            expected[block].words.begin())
                                  .first -
                              got[block].words.begin());
      session.fail(form, concat("block ", block, " lane ", at / 512, " column ", at % 512, " is ",
                                got[block].words[at], ", expected ", expected[block].words[at]));
      return;
    }
  }
}

void runTensor(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable()) {
    const bool isMove = row.handler == Handler::tcgenLoad || row.handler == Handler::tcgenStore;
    const bool isCopy = row.handler == Handler::tcgenCopy || row.handler == Handler::tcgenShift;
    if (isMove || isCopy)
      for (const Form &form : formsOf(row, std::max<size_t>(session.perRow / 3, 8), session.random))
        (isMove ? runMoveForm : runCopyForm)(session, form);
  }
}

} // namespace tilewright::vgpu::forms
