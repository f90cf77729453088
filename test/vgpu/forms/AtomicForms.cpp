// atom, red and multimem: every operation, type, vector and space; each thread on its own memory,
// and all threads on the same word.
#include "test/vgpu/forms/FormKernel.h"
#include "test/vgpu/forms/Reference.h"
#include "tilewright/support/Concat.h"

#include <bit>
#include <cstring>
#include <sstream>

namespace tilewright::vgpu::forms {

static constexpr unsigned threads = 32;

using Bits = unsigned __int128;

template <typename T> static T integerResult(Modifier operation, T old, T b) {
  using U = std::make_unsigned_t<T>;
  switch (operation) {
  case Modifier::add:
    return static_cast<T>(static_cast<U>(old) + static_cast<U>(b));
  case Modifier::min:
    return std::min(old, b);
  case Modifier::max:
    return std::max(old, b);
  case Modifier::inc:
    return old >= b ? 0 : static_cast<T>(old + 1);
  case Modifier::dec:
    return old == 0 || old > b ? b : static_cast<T>(old - 1);
  case Modifier::opAnd:
    return old & b;
  case Modifier::opOr:
    return old | b;
  case Modifier::opXor:
    return old ^ b;
  default:
    return b; // exch
  }
}

/// The contents of memory afterwards.
static Bits resultOf(Modifier operation, Modifier type, Bits old, Bits b, Bits c) {
  if (operation == Modifier::cas)
    return old == b ? c : old;
  if (operation == Modifier::exch)
    return b;
  const auto x = static_cast<uint64_t>(old), y = static_cast<uint64_t>(b);
  switch (type) {
  case Modifier::s32:
    return static_cast<uint32_t>(
        integerResult(operation, static_cast<int32_t>(x), static_cast<int32_t>(y)));
  case Modifier::u32:
  case Modifier::b32:
    return integerResult(operation, static_cast<uint32_t>(x), static_cast<uint32_t>(y));
  case Modifier::s64:
    return static_cast<uint64_t>(
        integerResult(operation, static_cast<int64_t>(x), static_cast<int64_t>(y)));
  case Modifier::u64:
  case Modifier::b64:
    return integerResult(operation, x, y);
  case Modifier::f32: {
    volatile float sum = std::bit_cast<float>(static_cast<uint32_t>(x)) +
                         std::bit_cast<float>(static_cast<uint32_t>(y));
    return std::bit_cast<uint32_t>(static_cast<float>(sum));
  }
  case Modifier::f64: {
    volatile double sum = std::bit_cast<double>(x) + std::bit_cast<double>(y);
    return std::bit_cast<uint64_t>(static_cast<double>(sum));
  }
  default: {
    const Modifier element = elementOf(type);
    uint64_t result = 0;
    for (unsigned i = 0; i < (element == type ? 1u : 2u); ++i) {
      const uint64_t p = x >> (16 * i) & 0xffff, q = y >> (16 * i) & 0xffff;
      const long double vp = valueOf(element, p), vq = valueOf(element, q);
      const uint64_t one = operation == Modifier::add
                               ? roundTo(element, addOdd(vp, vq), Mode::nearest)
                           : (operation == Modifier::min) == (vp < vq) ? p
                                                                       : q;
      result |= one << (16 * i);
    }
    return result;
  }
  }
}

static Bits randomBits(Modifier type, std::mt19937_64 &random) {
  std::uniform_real_distribution<double> real(-100, 100);
  switch (type) {
  case Modifier::f32:
  case Modifier::f64:
  case Modifier::f16:
  case Modifier::bf16:
    return roundTo(type, real(random), Mode::nearest);
  case Modifier::f16x2:
  case Modifier::bf16x2:
    return roundTo(elementOf(type), real(random), Mode::nearest) |
           roundTo(elementOf(type), real(random), Mode::nearest) << 16;
  case Modifier::b128:
    return Bits(random()) << 64 | random();
  default: {
    // Often small, so that inc, dec and cas reach their limits.
    const uint64_t any = random() & 1 ? random() % 3 : random();
    const unsigned bits = ptx::bitsOf(type);
    return bits == 64 ? any : any & ((uint64_t(1) << bits) - 1);
  }
  }
}

static Modifier operationOf(const Form &form) {
  if (form.row->opcode == "multimem.st")
    return Modifier::exch;
  static constexpr Modifier all[] = {
      Modifier::add,   Modifier::min,  Modifier::max,   Modifier::inc,  Modifier::dec,
      Modifier::opAnd, Modifier::opOr, Modifier::opXor, Modifier::exch, Modifier::cas};
  for (Modifier one : all)
    if (form.instruction.has(one))
      return one;
  return Modifier::none;
}

static void runForm(Session &session, const Form &form, bool hasResult) {
  const Instruction &instruction = form.instruction;
  const Modifier type = instruction.type(), operation = operationOf(form);
  const unsigned count = instruction.vectorLength(), bits = registerBits(type), bytes = bits / 8;
  const bool isLoad = form.row->opcode == "multimem.ld_reduce";
  const bool isCas = operation == Modifier::cas;
  const bool isAtom = form.row->opcode == "atom";
  Modifier space = instruction.find(ModifierKind::space);
  std::mt19937_64 &random = session.random;
  const bool isGeneric = space == Modifier::none;
  const bool mayBeShared = form.row->operands.size() > 1 &&
                           form.row->grammar.find("atomSpace") != std::string_view::npos;
  if (isGeneric)
    space = mayBeShared && random() & 1 ? Modifier::shared : Modifier::global;
  const bool isShared = space != Modifier::global;

  // Each thread has 128 bytes: old at 0, b at 32, c at 64; out: memory at 0, returned at 64.
  std::vector<uint8_t> in(threads * 128), out(threads * 128);
  std::vector<Bits> olds, bs, cs;
  auto put = [&](std::vector<uint8_t> &to, size_t at, Bits value) {
    std::memcpy(&to[at], &value, bytes);
  };
  for (unsigned t = 0; t < threads; ++t)
    for (unsigned i = 0; i < count; ++i) {
      olds.push_back(randomBits(type, random));
      bs.push_back(isCas && random() & 1 ? olds.back() : randomBits(type, random));
      cs.push_back(randomBits(type, random));
      put(in, t * 128 + i * bytes, olds.back());
      put(in, t * 128 + 32 + i * bytes, bs.back());
      put(in, t * 128 + 64 + i * bytes, cs.back());
    }
  std::ostringstream text;
  text << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
       << registerDeclarations()
       << ".shared .align 16 .b8 tile[1024];\n"
          "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x; "
          "mul.wide.u32 %a0, %i, 128; add.u64 %in, %in, %a0; add.u64 %out, %out, %a0;\n"
          "createpolicy.fractional.L2::evict_last.b64 %d299, 0f3F800000;\n"
          "ld.global.v4.b32 {%x10, %x11, %x12, %x13}, [%in];\n";
  std::string address;
  if (isShared) {
    text << "mov.u32 %x1, tile; mad.lo.u32 %x1, %i, 32, %x1; "
            "st.shared.v4.b32 [%x1], {%x10, %x11, %x12, %x13};\n";
    address = "[%x1]";
    if (isGeneric) {
      text << "cvt.u64.u32 %a3, %x1; cvta.shared.u64 %a3, %a3;\n";
      address = "[%a3]";
    }
  } else {
    text << "st.global.v4.b32 [%out], {%x10, %x11, %x12, %x13};\n";
    address = "[%out]";
  }
  for (unsigned i = 0; i < count; ++i) {
    text << "ld.global.b" << bits << " " << registerName(bits, 10 + i) << ", [%in+"
         << 32 + i * bytes << "];\n";
    if (isCas)
      text << "ld.global.b" << bits << " " << registerName(bits, 20) << ", [%in+64];\n";
  }
  text << form.name() << " ";
  const std::string result = hasResult ? vectorText(bits, 1, count) : "_";
  const std::string b = vectorText(bits, 10, count);
  if (isLoad)
    text << result << ", " << address;
  else
    text << (isAtom ? result + ", " : "") << address << ", " << b
         << (isCas ? ", " + registerName(bits, 20) : "");
  text << (instruction.has(Modifier::l2CacheHint) ? ", %d299" : "") << ";\n";
  if (isShared)
    text << "ld.shared.v4.b32 {%x10, %x11, %x12, %x13}, [%x1]; "
            "st.global.v4.b32 [%out], {%x10, %x11, %x12, %x13};\n";
  if (isLoad || (isAtom && hasResult))
    for (unsigned i = 0; i < count; ++i)
      text << "st.global.b" << bits << " [%out+" << 64 + i * bytes << "], "
           << registerName(bits, 1 + i) << ";\n";
  text << "ret;\n}\n";
  if (!run(session, form, text.str(), in.data(), out.data(), threads))
    return;
  for (unsigned t = 0; t < threads; ++t)
    for (unsigned i = 0; i < count; ++i) {
      const size_t at = t * count + i;
      Bits memory = 0, returned = 0;
      std::memcpy(&memory, &out[t * 128 + i * bytes], bytes);
      std::memcpy(&returned, &out[t * 128 + 64 + i * bytes], bytes);
      const Bits expected = isLoad ? olds[at] : resultOf(operation, type, olds[at], bs[at], cs[at]);
      ++session.values;
      const bool returns = isLoad || (isAtom && hasResult);
      if (memory != expected || (returns && returned != olds[at])) {
        session.fail(form,
                     concat("thread ", t, " element ", i, ": old ", static_cast<uint64_t>(olds[at]),
                            ", operand ", static_cast<uint64_t>(bs[at]), ", memory ",
                            static_cast<uint64_t>(memory), ", expected ",
                            static_cast<uint64_t>(expected)));
        return;
      }
    }
  session.coverage.add(form.row->name);
}

/// All threads of eight blocks add to the same word; two threads of the host run the blocks.
static void runContended(Session &session, const Form &form) {
  const Modifier type = form.instruction.type();
  if (!form.instruction.has(Modifier::add) || form.row->opcode == "multimem.ld_reduce" ||
      form.instruction.vectorLength() != 1 || form.instruction.has(Modifier::shared) ||
      form.instruction.has(Modifier::sharedCta) || form.instruction.has(Modifier::sharedCluster) ||
      ptx::bitsOf(type) < 32 || elementOf(type) != type)
    return;
  const unsigned bits = registerBits(type);
  const bool isFloat = ptx::categoryOf(type) == ptx::TypeCategory::floating;
  const std::string one = isFloat ? bits == 32 ? "0f3F800000" : "0d3FF0000000000000" : "1";
  const std::string policy = form.instruction.has(Modifier::l2CacheHint) ? ", %d299" : "";
  const std::string text =
      moduleHead() + ".visible .entry k(.param .u64 pout) {\n" + registerDeclarations() +
      "createpolicy.fractional.L2::evict_last.b64 %d299, 0f3F800000;\n"
      "ld.param.u64 %out, [pout];\nmov.b" +
      std::to_string(bits) + " " + registerName(bits, 2) + ", " + one + ";\n" + form.name() + " " +
      (form.row->opcode == "atom" ? registerName(bits, 1) + ", " : "") + "[%out], " +
      registerName(bits, 2) + policy + ";\nret;\n}\n";
  std::shared_ptr<machine::LoadedModule> module = load(session, form, text);
  if (!module)
    return;
  alignas(16) uint64_t out[2] = {};
  uint64_t *pout = out;
  const void *arguments[] = {&pout};
  static ThreadPool pool(2);
  machine::LaunchConfig config{.grid = {8, 1, 1}, .block = {256, 1, 1}};
  config.pool = &pool;
  if (!launch(session, form, *module, config, arguments))
    return;
  const uint64_t expected = isFloat ? roundTo(type, 2048, Mode::nearest) : 2048;
  ++session.values;
  if (out[0] != expected)
    session.fail(form, concat("2048 threads add 1: ", out[0]));
}

void runAtomics(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable()) {
    if (row.handler != Handler::atom && row.handler != Handler::atomCas &&
        row.handler != Handler::red && row.handler != Handler::multimem)
      continue;
    for (const Form &form : formsOf(row, session.perRow, session.random)) {
      runForm(session, form, true);
      if (row.opcode == "atom" && session.random() % 4 == 0)
        runForm(session, form, false);
      runContended(session, form);
    }
  }
}

} // namespace tilewright::vgpu::forms
