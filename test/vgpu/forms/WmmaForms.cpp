// wmma: loads, a product and a store, from memory to memory, since PTX does not define how
// fragments are distributed over lanes.
#include "test/vgpu/forms/MatrixReference.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/Fragment.h"

#include <cstring>
#include <sstream>

namespace tilewright::vgpu::forms {

/// A matrix in memory: lines of `stride` elements.
static std::vector<uint8_t> inMemory(const Matrix &matrix, Modifier type, bool byColumns,
                                     unsigned stride) {
  const unsigned bits = ptx::bitsOf(type);
  const unsigned lines = byColumns ? matrix.columns : matrix.rows;
  std::vector<uint8_t> bytes(size_t(lines) * stride * bits / 8 + 16);
  for (unsigned r = 0; r < matrix.rows; ++r)
    for (unsigned c = 0; c < matrix.columns; ++c) {
      const size_t at = (byColumns ? size_t(c) * stride + r : size_t(r) * stride + c) * bits;
      const uint64_t value = elementBits(type, matrix.at(r, c));
      if (bits < 8)
        bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | value << at % 8);
      else
        std::memcpy(&bytes[at / 8], &value, bits / 8);
    }
  return bytes;
}

static std::string fragmentList(const Instruction &instruction, char matrix, unsigned first) {
  const ptx::Fragment fragment = ptx::fragmentOf(instruction, matrix);
  const unsigned bits = fragment.type == Modifier::f64 ? 64 : 32;
  std::string text = "{";
  for (unsigned i = 0; i < fragment.count; ++i)
    text += (i ? ", " : "") + registerName(bits, first + i);
  return text + "}";
}

/// Some forms pass the same fragment through shared memory or generic addresses.
static void runForm(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const Modifier shapeWord = instruction.find(ModifierKind::shape);
  const ptx::Shape shape = ptx::shapeOf(shapeWord);
  const bool hasAll = instruction.type(2) != Modifier::none;
  const Modifier dType = instruction.type(0);
  const Modifier aType = hasAll ? instruction.type(1) : Modifier::f16;
  const Modifier bType = hasAll ? instruction.type(2) : Modifier::f16;
  const Modifier cType = instruction.type(hasAll ? 3 : 1);
  Modifier layouts[2] = {};
  unsigned n = 0;
  for (Modifier word : instruction.mods())
    if (ptx::kindOf(word) == ModifierKind::layout)
      layouts[n++] = word;
  std::mt19937_64 &random = session.random;
  const Matrix a = randomMatrix(shape.m, shape.k, aType, false, random);
  const Matrix b = randomMatrix(shape.k, shape.n, bType, false, random);
  const Matrix c = randomMatrix(shape.m, shape.n, cType, true, random);
  const bool cByColumns = random() & 1, dByColumns = random() & 1;
  static constexpr std::string_view spaces[] = {"", ".global", ".shared", ".shared::cta"};
  const std::string_view space = spaces[random() % 4];
  const bool isShared = space.starts_with(".shared");
  const bool hasStride = isShared || random() & 1;
  std::ostringstream text;
  text << moduleHead()
       << ".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {\n"
       << registerDeclarations() << ".shared .align 16 .b8 tile[8192];\n"
       << "mov.u32 %i, %tid.x; mov.u32 %x9, tile;\n";
  const std::string name = ptx::spellingOf(shapeWord);
  auto strideOf = [&](const Matrix &matrix, Modifier type, bool byColumns) {
    const unsigned length = byColumns ? matrix.rows : matrix.columns;
    // A stride is a multiple of 16 bytes.
    return hasStride ? length + 128 / std::min(128u, ptx::bitsOf(type)) * 2 : length;
  };
  auto move = [&](const char *what, char matrix, unsigned first, const Matrix &source,
                  Modifier type, bool byColumns, const char *parameter) {
    const unsigned stride = strideOf(source, type, byColumns);
    const bool isStore = what[0] == 's';
    const size_t bytes = inMemory(source, type, byColumns, stride).size() / 16 * 16;
    text << "ld.param.u64 %a1, [" << parameter << "];\n";
    std::string address = "[%a1]";
    auto copy = [&](bool toShared) { // lane by lane, 16 bytes at a time
      for (size_t at = 0; at < bytes; at += 512)
        text << "mad.lo.u32 %x0, %i, 16, " << at << "; setp.lt.u32 %p1, %x0, " << bytes
             << "; cvt.u64.u32 %a2, %x0; add.u64 %a2, %a2, %a1; add.u32 %x1, %x0, %x9;\n"
             << (toShared ? "@%p1 ld.global.v4.b32 {%x2, %x3, %x4, %x5}, [%a2];\n"
                            "@%p1 st.shared.v4.b32 [%x1], {%x2, %x3, %x4, %x5};\n"
                          : "@%p1 ld.shared.v4.b32 {%x2, %x3, %x4, %x5}, [%x1];\n"
                            "@%p1 st.global.v4.b32 [%a2], {%x2, %x3, %x4, %x5};\n");
      text << "bar.sync 0;\n";
    };
    if (isShared) {
      copy(true);
      address = "[%x9]";
    }
    const std::string list = fragmentList(instruction, matrix, first);
    const char letter = matrix == 'A' ? 'a' : matrix == 'B' ? 'b' : isStore ? 'd' : 'c';
    text << "wmma." << what << "." << letter << ".sync.aligned." << (byColumns ? "col." : "row.")
         << name << space << "." << ptx::spellingOf(type) << " "
         << (isStore ? address + ", " + list : list + ", " + address)
         << (hasStride ? concat(", ", stride) : std::string()) << ";\n";
    if (isShared) {
      text << "bar.sync 0;\n";
      if (isStore)
        copy(false);
    }
  };
  move("load", 'A', 1, a, aType, layouts[0] == Modifier::col, "pa");
  move("load", 'B', 40, b, bType, layouts[1] == Modifier::col, "pb");
  move("load", 'C', 80, c, cType, cByColumns, "pc");
  text << form.name() << " " << fragmentList(instruction, 'D', 120) << ", "
       << fragmentList(instruction, 'A', 1) << ", " << fragmentList(instruction, 'B', 40) << ", "
       << fragmentList(instruction, 'C', 80) << ";\n";
  move("store", 'D', 120, c, dType, dByColumns, "pd");
  text << "ret;\n}\n";
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text.str());
  if (!module)
    return;
  const unsigned dStride = strideOf(c, dType, dByColumns);
  const std::vector<uint8_t> ma = inMemory(a, aType, layouts[0] == Modifier::col,
                                           strideOf(a, aType, layouts[0] == Modifier::col));
  const std::vector<uint8_t> mb = inMemory(b, bType, layouts[1] == Modifier::col,
                                           strideOf(b, bType, layouts[1] == Modifier::col));
  const std::vector<uint8_t> mc = inMemory(c, cType, cByColumns, strideOf(c, cType, cByColumns));
  std::vector<uint8_t> md(inMemory(c, dType, dByColumns, dStride).size());
  const uint8_t *pa = ma.data(), *pb = mb.data(), *pc = mc.data();
  uint8_t *pd = md.data();
  const void *arguments[] = {&pa, &pb, &pc, &pd};
  ++session.forms;
  if (!launch(session, form, *module, {.grid = {1, 1, 1}, .block = {32, 1, 1}}, arguments))
    return;
  const Matrix expected = product(a, b, c, dType, aType, instruction.has(Modifier::satfinite),
                                  instruction.has(Modifier::opXor));
  const std::vector<uint8_t> wanted = inMemory(expected, dType, dByColumns, dStride);
  session.values += expected.values.size();
  for (unsigned r = 0; r < expected.rows; ++r)
    for (unsigned col = 0; col < expected.columns; ++col) {
      const unsigned size = ptx::bitsOf(dType) / 8;
      const size_t at = (dByColumns ? size_t(col) * dStride + r : size_t(r) * dStride + col) * size;
      uint64_t got = 0;
      std::memcpy(&got, &md[at], size);
      const bool isZero = expected.at(r, col) == 0 && dType == Modifier::f64 && got << 1 == 0;
      if (!isZero && std::memcmp(&md[at], &wanted[at], size) != 0) {
        session.fail(form, concat("element (", r, ", ", col, ") is ", elementNumber(dType, got),
                                  ", expected ", expected.at(r, col), "\n", text.str()));
        return;
      }
    }
  session.coverage.addModule(module->source(), session.kernel);
}

void runWmma(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable())
    if (row.handler == Handler::wmmaMma)
      for (unsigned i = 0; i < 4; ++i)
        for (const Form &form : formsOf(row, session.perRow, session.random))
          runForm(session, form);
}

} // namespace tilewright::vgpu::forms
