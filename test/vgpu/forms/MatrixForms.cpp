// mma.sync of dense and sparse matrices, and the instructions that move 8 × 8 matrices.
#include "test/vgpu/forms/MatrixReference.h"
#include "test/vgpu/forms/Reference.h"
#include "tilewright/numerics/ExactSum.h"
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/ptx/Fragment.h"

#include <cmath>
#include <cstring>
#include <sstream>

namespace tilewright::vgpu::forms {

using machine::LaunchConfig;

static std::string list(unsigned bits, unsigned first, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", " : "") + registerName(bits, first + i);
  return text + "}";
}
static unsigned bitsFor(Modifier type) { return type == Modifier::f64 ? 64 : 32; }

namespace {
/// Registers that a warp loads before the instruction and stores after it: register r of lane l is
/// 8 bytes at r * 32 + l.
class WarpKernel {
public:
  /// Adds registers for an operand, loaded with `values`; returns the operand's text.
  std::string load(unsigned bits, const std::vector<uint64_t> &values) {
    const auto count = static_cast<unsigned>(values.size() / 32);
    for (unsigned i = 0; i < count; ++i)
      text << "ld.global.b" << bits << " " << registerName(bits, next + i) << ", [%in+"
           << (in.size() + size_t(i) * 32) * 8 << "];\n";
    in.insert(in.end(), values.begin(), values.end());
    next += count;
    return list(bits, next - count, count);
  }
  std::string result(unsigned bits, unsigned count) {
    resultBits = bits, resultCount = count, firstResult = next;
    next += count;
    return list(bits, firstResult, count);
  }
  bool run(Session &session, const Form &form, const std::string &instruction,
           std::vector<uint64_t> &out, bool isHopper = false) {
    std::ostringstream all;
    all << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
        << registerDeclarations()
        << "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];\n"
           "mov.u32 %i, %tid.x; mul.wide.u32 %a0, %i, 8; add.u64 %in, %in, %a0; "
           "add.u64 %out, %out, %a0;\n"
        << text.str() << instruction << "\n";
    for (unsigned i = 0; i < resultCount; ++i)
      all << "st.global.b" << resultBits << " [%out+" << i * 256 << "], "
          << registerName(resultBits, firstResult + i) << ";\n";
    all << "ret;\n}\n";
    std::shared_ptr<machine::LoadedModule> module = forms::load(session, form, all.str());
    if (!module)
      return false;
    out.assign(size_t(resultCount) * 32, 0);
    const uint64_t *pin = in.data();
    uint64_t *pout = out.data();
    const void *arguments[] = {&pin, &pout};
    LaunchConfig config{.grid = {1, 1, 1}, .block = {32, 1, 1}};
    config.arithmetic = isHopper ? machine::Arithmetic::hopper : machine::Arithmetic::exact;
    return launch(session, form, *module, config, arguments);
  }

private:
  std::ostringstream text;
  std::vector<uint64_t> in;
  unsigned next = 1, firstResult = 0, resultBits = 32, resultCount = 0;
};
} // namespace

/// Compares the registers of D with a matrix.
static bool compareFragment(Session &session, const Form &form, const std::vector<uint64_t> &out,
                            const Matrix &expected, unsigned m, Modifier type) {
  const unsigned bits = ptx::bitsOf(type), per = bits >= 32 ? 1 : 32 / bits;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < out.size() / 32 * per; ++v) {
      const Position at = mmaPosition('C', m, type, lane, v);
      const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
      const uint64_t got = out[v / per * 32 + lane] >> (v % per * bits) & mask;
      ++session.values;
      // A sum that cancels is -0 when rounding down.
      if (got == elementBits(type, expected.at(at.row, at.column)) ||
          (type == Modifier::f64 && expected.at(at.row, at.column) == 0 &&
           got == uint64_t(1) << 63))
        continue;
      session.fail(form,
                   concat("lane ", lane, " element ", v, " (", at.row, ", ", at.column, ") is ",
                          elementNumber(type, got), ", expected ", expected.at(at.row, at.column)));
      return false;
    }
  return true;
}

static void runMma(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const ptx::Shape shape = ptx::shapeOf(instruction.find(ModifierKind::shape));
  const Modifier dType = instruction.type(0), aType = instruction.type(1),
                 bType = instruction.type(2), cType = instruction.type(3);
  const bool isSparse = form.row->handler == Handler::mmaSparse;
  std::mt19937_64 &random = session.random;
  for (bool isHopper : {false, true}) {
    Matrix a = randomMatrix(shape.m, shape.k, aType, false, random);
    const Matrix b = randomMatrix(shape.k, shape.n, bType, false, random);
    const Matrix c = randomMatrix(shape.m, shape.n, cType, true, random);
    auto count = [&](char matrix) { return ptx::fragmentOf(instruction, matrix).count; };
    WarpKernel kernel;
    std::string metadata;
    std::string aList;
    if (isSparse) {
      const Sparse sparse = randomSparse(shape.m, shape.k, aType, random);
      const unsigned choices = sparse.chunks <= 4 ? 4 : sparse.chunks == 8 ? 2 : 1;
      const auto selector = static_cast<unsigned>(random() % choices);
      a = sparse.dense;
      aList = kernel.load(32, packFragment(sparse.kept, 'A', shape.m, aType, count('A')));
      std::string one = kernel.load(32, metadataOf(sparse, 0, aType, selector, random));
      metadata = concat(", ", one.substr(1, one.size() - 2), ", ", selector);
    } else {
      aList = kernel.load(bitsFor(aType), packFragment(a, 'A', shape.m, aType, count('A')));
    }
    const std::string bList =
        kernel.load(bitsFor(bType), packFragment(b, 'B', shape.m, bType, count('B')));
    const std::string cList =
        kernel.load(bitsFor(cType), packFragment(c, 'C', shape.m, cType, count('C')));
    const std::string dList = kernel.result(bitsFor(dType), count('D'));
    std::vector<uint64_t> out;
    ++session.forms;
    if (!kernel.run(
            session, form,
            concat(form.name(), " ", dList, ", ", aList, ", ", bList, ", ", cList, metadata, ";"),
            out, isHopper))
      return;
    const Matrix expected = product(a, b, c, dType, aType, instruction.has(Modifier::satfinite),
                                    instruction.has(Modifier::opXor));
    if (!compareFragment(session, form, out, expected, shape.m, dType))
      return;
  }
  session.coverage.add(form.row->name);
}

/// Random bits of an element of 4, 6 or 8 bits, without infinities, and its value.
static uint64_t randomElement(Modifier type, std::mt19937_64 &random) {
  for (;;) {
    const uint64_t bits = random() & ((uint64_t(1) << ptx::bitsOf(type)) - 1);
    if (std::isfinite(static_cast<double>(valueOf(type, bits))))
      return bits;
  }
}

namespace {
/// One factor of a product of narrow types: elements by rows (or columns of B) and their scales.
struct NarrowFactor {
  Modifier type;
  unsigned rows, k, scaleCount;
  bool isE8, inBytes;
  std::vector<uint64_t> elements, scales;

  double value(unsigned row, unsigned l) const {
    double result = static_cast<double>(valueOf(type, elements[size_t(row) * k + l]));
    if (scaleCount != 0) {
      const uint64_t scale = scales[row * scaleCount + l / (k / scaleCount)];
      result *= static_cast<double>(
          valueOf(isE8 ? Modifier::ue8m0 : Modifier::e4m3, isE8 ? scale : scale & 0x7f));
    }
    return result;
  }
  /// The registers, in the layout of integers of 8 or 4 bits.
  std::vector<uint64_t> registers(char which) const {
    const unsigned bits = inBytes ? 8 : 4, per = 32 / bits, count = rows * k / (32 * per);
    std::vector<uint64_t> result(size_t(count) * 32);
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned v = 0; v < count * per; ++v) {
        const Position at = mmaPosition(which, 16, inBytes ? Modifier::s8 : Modifier::s4, lane, v);
        const unsigned row = which == 'A' ? at.row : at.column;
        const unsigned l = which == 'A' ? at.column : at.row;
        uint64_t element = elements[size_t(row) * k + l];
        if (inBytes && type == Modifier::e2m1) // in bits 2 to 5 of its byte
          element <<= 2;
        result[v / per * 32 + lane] |= element << (v % per * bits);
      }
    return result;
  }
  /// The register of scales: those of row i are in lane 4 * (i % 8) + thread, and of rows from 8 on
  /// in the next lane. All other bytes are arbitrary.
  std::vector<uint64_t> scaleRegister(unsigned byte, unsigned thread,
                                      std::mt19937_64 &random) const {
    std::vector<uint64_t> result(32);
    for (uint64_t &one : result)
      one = random() & 0xffffffff;
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned s = 0; s < scaleCount; ++s) {
        uint64_t &to = result[4 * (row % 8) + thread + row / 8];
        const unsigned shift = 8 * (byte + s);
        to = (to & ~(uint64_t(0xff) << shift)) | scales[row * scaleCount + s] << shift;
      }
    return result;
  }
};
} // namespace

static NarrowFactor randomFactor(const Form &form, unsigned which, unsigned rows, bool isExtreme,
                                 std::mt19937_64 &random) {
  const Instruction &instruction = form.instruction;
  const unsigned k = ptx::shapeOf(instruction.find(ModifierKind::shape)).k;
  const unsigned scaleCount = !instruction.has(Modifier::blockScale) ? 0
                              : instruction.has(Modifier::scaleVec4) ? 4
                              : k == 64                              ? 2
                                                                     : 1;
  NarrowFactor factor{instruction.type(which),
                      rows,
                      k,
                      scaleCount,
                      instruction.type(4) == Modifier::ue8m0,
                      k == 32,
                      {},
                      {}};
  for (unsigned i = 0; i < rows * k; ++i)
    factor.elements.push_back(randomElement(factor.type, random));
  for (unsigned i = 0; i < rows * scaleCount; ++i)
    factor.scales.push_back(isExtreme     ? random() & 0xff
                            : factor.isE8 ? 120 + random() % 15
                                          : random() % 0x7f);
  return factor;
}

/// mma of narrow types: every element is the exact sum, rounded once.
static void runNarrow(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const Modifier dType = instruction.type(0);
  const bool isScaled = instruction.has(Modifier::blockScale);
  std::mt19937_64 &random = session.random;
  for (const bool isExtreme : {false, true}) {
    const NarrowFactor a = randomFactor(form, 1, 16, isExtreme, random);
    const NarrowFactor b = randomFactor(form, 2, 8, isExtreme, random);
    const Matrix c = randomMatrix(16, 8, dType, true, random);
    const unsigned count = ptx::fragmentOf(instruction, 'C').count;
    WarpKernel kernel;
    const std::string aList = kernel.load(32, a.registers('A'));
    const std::string bList = kernel.load(32, b.registers('B'));
    const std::string cList = kernel.load(32, packFragment(c, 'C', 16, dType, count));
    std::string scales, before;
    if (isScaled) {
      const unsigned choices = 4 / a.scaleCount;
      const unsigned byteA = a.scaleCount * static_cast<unsigned>(random() % choices);
      const unsigned byteB = a.scaleCount * static_cast<unsigned>(random() % choices);
      const unsigned threadA = random() % 2, threadB = random() % 4;
      const std::string sa = kernel.load(32, a.scaleRegister(byteA, 2 * threadA, random));
      const std::string sb = kernel.load(32, b.scaleRegister(byteB, threadB, random));
      // Constants or registers, with or without braces.
      before = concat("mov.b16 %h290, ", byteB, "; mov.b16 %h291, ", threadB, ";\n");
      scales = concat(", ", sa, ", {", byteA, ", ", threadA, "}, ", sb.substr(1, sb.size() - 2),
                      ", {%h290, %h291}");
    }
    const std::string dList = kernel.result(32, count);
    std::vector<uint64_t> out;
    ++session.forms;
    if (!kernel.run(session, form,
                    concat(before, form.name(), " ", dList, ", ", aList, ", ", bList, ", ", cList,
                           scales, ";"),
                    out))
      return;
    const unsigned per = dType == Modifier::f16 ? 2 : 1;
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned v = 0; v < 4; ++v) {
        const Position at = mmaPosition('C', 16, dType, lane, v);
        numerics::ExactSum sum;
        sum.add(static_cast<double>(c.at(at.row, at.column)));
        for (unsigned l = 0; l < a.k; ++l)
          sum.addProduct(a.value(at.row, l), b.value(at.column, l));
        const uint64_t mask = per == 2 ? 0xffff : 0xffffffff;
        const uint64_t expected =
            sum.round(per == 2 ? numerics::ElementType::f16 : numerics::ElementType::f32);
        const uint64_t got = out[v / per * 32 + lane] >> (v % per * 16) & mask;
        ++session.values;
        if (got == expected || (isNanOf(dType, got) && isNanOf(dType, expected)) ||
            ((got | expected) & (mask >> 1)) == 0)
          continue;
        session.fail(form, concat("element (", at.row, ", ", at.column, ") has bits ", got,
                                  ", expected ", expected));
        return;
      }
  }
  session.coverage.add(form.row->name);
}

/// f64 with a rounding mode: products and an inexact sum.
static void runRounded(Session &session, const Form &form) {
  const ptx::Shape shape = ptx::shapeOf(form.instruction.find(ModifierKind::shape));
  WarpKernel kernel;
  auto fill = [&](char matrix, double value) {
    std::vector<uint64_t> values(size_t(ptx::fragmentOf(form.instruction, matrix).count) * 32);
    for (uint64_t &one : values)
      one = roundTo(Modifier::f64, value, Mode::nearest);
    return kernel.load(64, values);
  };
  // a * b = 2^-60 for every k, and c = ±1: each step rounds once.
  for (double sign : {1.0, -1.0}) {
    WarpKernel fresh;
    kernel = std::move(fresh);
    const std::string a = fill('A', 0x1p-30), b = fill('B', 0x1p-30), c = fill('C', sign);
    const std::string d = kernel.result(64, ptx::fragmentOf(form.instruction, 'D').count);
    std::vector<uint64_t> out;
    if (!kernel.run(session, form, concat(form.name(), " ", d, ", ", a, ", ", b, ", ", c, ";"),
                    out))
      return;
    uint64_t expected = roundTo(Modifier::f64, sign, Mode::nearest);
    for (unsigned k = 0; k < shape.k; ++k)
      expected = roundTo(Modifier::f64, addOdd(valueOf(Modifier::f64, expected), 0x1p-60L),
                         modeOf(form.instruction));
    for (uint64_t got : out) {
      ++session.values;
      if (got != expected) {
        session.fail(form, concat("got bits ", got, ", expected ", expected));
        return;
      }
    }
  }
}

/// Four products of 8 × 8 × 4, one for each quarter of the warp.
static void runQuad(Session &session, const Form &form) {
  const Modifier dType = form.instruction.type(0), cType = form.instruction.type(3);
  bool byColumns[2] = {};
  unsigned n = 0;
  for (Modifier word : form.instruction.mods())
    if (ptx::kindOf(word) == ModifierKind::layout)
      byColumns[n++] = word == Modifier::col;
  std::vector<uint64_t> a(64), b(64), c(cType == Modifier::f16 ? 128 : 256);
  std::vector<Matrix> expected;
  auto accumulator = [](Modifier type, unsigned lane, unsigned i) {
    const unsigned high = lane < 16 ? 0 : 4;
    if (type == Modifier::f16)
      return Position{lane % 4 + high, i};
    return Position{(lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
  };
  auto quadOf = [](unsigned lane) { return lane % 16 / 4; };
  for (unsigned quad = 0; quad < 4; ++quad) {
    const Matrix x = randomMatrix(8, 4, Modifier::f16, false, session.random);
    const Matrix y = randomMatrix(4, 8, Modifier::f16, false, session.random);
    const Matrix z = randomMatrix(8, 8, Modifier::f16, true, session.random);
    for (unsigned lane = 0; lane < 32; ++lane) {
      if (quadOf(lane) != quad)
        continue;
      const unsigned high = lane < 16 ? 0 : 4;
      for (unsigned i = 0; i < 4; ++i) {
        const int64_t ax = byColumns[0] ? x.at(i + high, lane % 4) : x.at(lane % 4 + high, i);
        const int64_t bx = byColumns[1] ? y.at(i, lane % 4 + high) : y.at(lane % 4, i + high);
        a[i / 2 * 32 + lane] |= elementBits(Modifier::f16, ax) << (16 * (i % 2));
        b[i / 2 * 32 + lane] |= elementBits(Modifier::f16, bx) << (16 * (i % 2));
      }
      for (unsigned i = 0; i < 8; ++i) {
        const Position at = accumulator(cType, lane, i);
        const uint64_t bits = elementBits(cType, z.at(at.row, at.column));
        if (cType == Modifier::f16)
          c[i / 2 * 32 + lane] |= bits << (16 * (i % 2));
        else
          c[i * 32 + lane] = bits;
      }
    }
    expected.push_back(product(x, y, z, dType, Modifier::f16, false, false));
  }
  WarpKernel kernel;
  const std::string la = kernel.load(32, a), lb = kernel.load(32, b), lc = kernel.load(32, c);
  const std::string ld = kernel.result(32, dType == Modifier::f16 ? 4 : 8);
  std::vector<uint64_t> out;
  ++session.forms;
  if (!kernel.run(session, form, concat(form.name(), " ", ld, ", ", la, ", ", lb, ", ", lc, ";"),
                  out))
    return;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 8; ++i) {
      const Position at = accumulator(dType, lane, i);
      const uint64_t got = dType == Modifier::f16
                               ? out[i / 2 * 32 + lane] >> (16 * (i % 2)) & 0xffff
                               : out[i * 32 + lane];
      ++session.values;
      if (got != elementBits(dType, expected[quadOf(lane)].at(at.row, at.column))) {
        session.fail(form, concat("lane ", lane, " element ", i, " is wrong"));
        return;
      }
    }
  session.coverage.add(form.row->name);
}

/// ldmatrix, stmatrix and movmatrix: 8 × 8 matrices of 16 bits.
static void runMove(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const bool isTransposed = instruction.has(Modifier::trans);
  const bool isMove = form.row->handler == Handler::movmatrix;
  const bool isStore = form.row->handler == Handler::stmatrix;
  const unsigned count = isMove ? 1 : ptx::fragmentOf(instruction, 'D').count;
  const bool isGeneric = instruction.find(ModifierKind::space) == Modifier::none;
  // 16-bit elements of `count` matrices, by rows; rows lie in any order in shared memory.
  std::vector<uint16_t> in(count * 64);
  for (uint16_t &one : in)
    one = static_cast<uint16_t>(session.random());
  std::vector<uint16_t> out(count * 64);
  std::string registers;
  for (unsigned i = 0; i < count; ++i)
    registers += (i ? ", " : "") + registerName(32, i + 1);
  std::ostringstream text;
  text << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
       << registerDeclarations() << ".shared .align 16 .b8 rows[512];\n"
       << "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x;\n"
          // Row r of the matrices is at 16 * (r ^ 5).
          "xor.b32 %x0, %i, 5; mov.u32 %x1, rows; mad.lo.u32 %x1, %x0, 16, %x1;\n"
          "mul.wide.u32 %a1, %i, 16; add.u64 %a1, %a1, %in;\n"
          "setp.lt.u32 %p1, %i, "
       << 8 * count << ";\nmov.u32 %x2, 0; mov.u32 %x3, 0; mov.u32 %x4, 0; mov.u32 %x5, 0;\n"
       << "@%p1 ld.global.v4.b32 {%x2, %x3, %x4, %x5}, [%a1];\n";
  if (isGeneric)
    text << "cvt.u64.u32 %a3, %x1; cvta.shared.u64 %a3, %a3;\n";
  const std::string address = isGeneric ? "[%a3]" : "[%x1]";
  // Lane l holds elements (l / 4, 2 * (l % 4)) and the next one of matrix i.
  auto own = [&](unsigned i, const char *pointer) {
    return concat("mul.wide.u32 %a2, %i, 4; add.u64 %a2, %a2, ", pointer, "; add.u64 %a2, %a2, ",
                  i * 128, ";\n");
  };
  if (!isStore && !isMove) {
    text << "@%p1 st.shared.v4.b32 [%x1], {%x2, %x3, %x4, %x5};\nbar.sync 0;\n"
         << form.name() << " {" << registers << "}, " << address << ";\n";
    for (unsigned i = 0; i < count; ++i)
      text << own(i, "%out") << "st.global.b32 [%a2], " << registerName(32, i + 1) << ";\n";
  } else if (isStore) {
    for (unsigned i = 0; i < count; ++i)
      text << own(i, "%in") << "ld.global.b32 " << registerName(32, i + 1) << ", [%a2];\n";
    text << form.name() << " " << address << ", {" << registers << "};\nbar.sync 0;\n"
         << "@%p1 ld.shared.v4.b32 {%x2, %x3, %x4, %x5}, [%x1];\n"
            "mul.wide.u32 %a1, %i, 16; add.u64 %a1, %a1, %out;\n"
            "@%p1 st.global.v4.b32 [%a1], {%x2, %x3, %x4, %x5};\n";
  } else {
    text << own(0, "%in") << "ld.global.b32 %r1, [%a2];\n"
         << form.name() << " %r2, %r1;\n"
         << own(0, "%out") << "st.global.b32 [%a2], %r2;\n";
  }
  text << "ret;\n}\n";
  if (!run(session, form, text.str(), in.data(), out.data()))
    return;
  // A matrix stored by rows has the same bytes in registers and in memory; .trans transposes it.
  for (unsigned i = 0; i < count; ++i)
    for (unsigned r = 0; r < 8; ++r)
      for (unsigned c = 0; c < 8; ++c) {
        ++session.values;
        const uint16_t expected = isTransposed ? in[i * 64 + c * 8 + r] : in[i * 64 + r * 8 + c];
        if (out[i * 64 + r * 8 + c] != expected) {
          session.fail(form, concat("matrix ", i, " element (", r, ", ", c, ") is wrong"));
          return;
        }
      }
  session.coverage.add(form.row->name);
}

/// Element i of a row of 16 bytes whose elements have `bits` bits.
static uint8_t paddedElementOf(const uint8_t *row, unsigned bits, unsigned i) {
  unsigned element = 0;
  for (unsigned b = 0; b < bits; ++b)
    element |= (row[(i * bits + b) / 8] >> (i * bits + b) % 8 & 1u) << b;
  return static_cast<uint8_t>(element);
}

/// ldmatrix and stmatrix of bytes. The expected elements are those of CuTe's layouts: of
/// LdMatrix16x16x8b ((4,8),(4,2,n)):((64,1),(16,8,256)), and of StMatrix16x8x8b
/// ((4,8),(2,2,n)):((32,1),(16,8,128)), both over rows of 16.
static void runByteMove(Session &session, const Form &form) {
  const Instruction &instruction = form.instruction;
  const bool isStore = form.row->handler == Handler::stmatrix;
  const bool isTall = ptx::shapeOf(instruction.find(ModifierKind::shape)).n == 16 &&
                      instruction.has(Modifier::trans);
  const unsigned bits = instruction.has(Modifier::b4x16p64)   ? 4
                        : instruction.has(Modifier::b6x16p32) ? 6
                                                              : 8;
  const unsigned count = ptx::fragmentOf(instruction, 'D').count;
  const unsigned rows = 8 * count;
  const bool isGeneric = instruction.find(ModifierKind::space) == Modifier::none;
  std::vector<uint8_t> in(512), out(512);
  for (uint8_t &one : in)
    one = static_cast<uint8_t>(session.random());
  std::ostringstream text;
  text << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
       << registerDeclarations() << ".shared .align 16 .b8 rows[512];\n"
       << "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x;\n"
          // Row r is at 16 * (r ^ 3).
          "xor.b32 %x0, %i, 3; mov.u32 %x1, rows; mad.lo.u32 %x1, %x0, 16, %x1;\n"
          "mul.wide.u32 %a1, %i, 16; add.u64 %a2, %a1, %in; add.u64 %a1, %a1, %out;\n";
  if (isGeneric)
    text << "cvt.u64.u32 %a3, %x1; cvta.shared.u64 %a3, %a3;\n";
  const std::string address = isGeneric ? "[%a3]" : "[%x1]";
  const std::string registers = list(32, 1, count);
  if (isStore) {
    for (unsigned i = 0; i < count; ++i)
      text << "ld.global.b32 " << registerName(32, 1 + i) << ", [%a2+" << 4 * i << "];\n";
    text << "st.shared.v4.b32 [%x1], {0, 0, 0, 0};\nbar.sync 0;\n"
         << form.name() << " " << address << ", " << registers << ";\nbar.sync 0;\n"
         << "ld.shared.v4.b32 {%x2, %x3, %x4, %x5}, [%x1];\n"
            "st.global.v4.b32 [%a1], {%x2, %x3, %x4, %x5};\n";
  } else {
    text << "ld.global.v4.b32 {%x2, %x3, %x4, %x5}, [%a2];\n"
            "st.shared.v4.b32 [%x1], {%x2, %x3, %x4, %x5};\nbar.sync 0;\n"
         << form.name() << " " << registers << ", " << address << ";\n";
    for (unsigned i = 0; i < count; ++i)
      text << "st.global.b32 [%a1+" << 4 * i << "], " << registerName(32, 1 + i) << ";\n";
  }
  text << "ret;\n}\n";
  if (!run(session, form, text.str(), in.data(), out.data()))
    return;
  // Lane l has 16 bytes of input or output; byte v of it is value v of CuTe's layouts.
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned v = 0; v < 4 * count; ++v) {
      unsigned place; // in rows of 16
      if (isStore)
        place = 32 * (lane % 4) + lane / 4 + 16 * (v % 2) + 8 * (v / 2 % 2) + 128 * (v / 4);
      else if (isTall)
        place = 64 * (lane % 4) + lane / 4 + 16 * (v % 4) + 8 * (v / 4 % 2) + 256 * (v / 8);
      else
        place = 4 * lane + v % 4 + 128 * (v / 4);
      const uint8_t inLane = (isStore ? in : out)[16 * lane + v];
      const uint8_t *row = &(isStore ? out : in)[place / 16 * 16];
      ++session.values;
      if (place / 16 < rows && inLane == paddedElementOf(row, bits, place % 16))
        continue;
      session.fail(form, concat("byte ", v, " of lane ", lane, " is wrong"));
      return;
    }
  session.coverage.add(form.row->name);
}

void runMatrix(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable()) {
    const size_t most = row.handler == Handler::mma || row.handler == Handler::mmaNarrow ||
                                row.handler == Handler::mmaSparse
                            ? session.perRow
                            : std::min<size_t>(session.perRow, 64);
    switch (row.handler) {
    case Handler::mma:
    case Handler::mmaSparse:
      for (const Form &form : formsOf(row, most, session.random)) {
        if (row.name.starts_with("mma_f16_quad")) {
          runQuad(session, form);
          continue;
        }
        runMma(session, form);
        if (form.instruction.find(ModifierKind::rounding) != Modifier::none)
          runRounded(session, form);
      }
      break;
    case Handler::mmaNarrow:
      for (const Form &form : formsOf(row, most, session.random))
        runNarrow(session, form);
      break;
    case Handler::ldmatrix:
    case Handler::stmatrix:
    case Handler::movmatrix:
      for (const Form &form : formsOf(row, most, session.random))
        (row.requirement.architecture < 100 ? runMove : runByteMove)(session, form);
      break;
    default:
      break;
    }
  }
}

} // namespace tilewright::vgpu::forms
