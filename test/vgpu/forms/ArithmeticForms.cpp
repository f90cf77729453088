// Arithmetic, logic, comparisons, conversions and moves: every form over edge values
// and random ones, against Reference.h.
#include "test/vgpu/forms/Reference.h"
#include "tilewright/support/Concat.h"

#include <cmath>
#include <functional>
#include <iomanip>
#include <sstream>

namespace tilewright::vgpu::forms {

using ptx::OperandForm;
using ptx::OperandRule;

namespace {

struct RegisterOperand {
  Modifier type = Modifier::none;
  unsigned bits = 0; // of the register
  bool isWritten = false;
  std::string text;
};

/// The instruction as text, and the positions of its operands.
struct Written {
  std::string text;
  std::vector<RegisterOperand> reads;
  RegisterOperand result;
  bool hasSecond = false;
};

} // namespace

static Modifier typeOfRule(const OperandRule &rule, const Instruction &instruction) {
  Modifier type = rule.type != Modifier::none ? rule.type : instruction.type(rule.typeIndex);
  if (rule.doubled)
    type = ptx::bitsOf(type) == 16 ? Modifier::b32 : Modifier::b64;
  return type;
}

static Written write(const Form &form) {
  Written written;
  // Some conversions require 8-bit registers, which separate conversions move to and from memory.
  std::string before, after;
  written.text = form.name();
  std::string separator = " ";
  unsigned number = 1;
  for (const OperandRule &rule : form.row->operands) {
    if (rule.architecture > 90)
      continue; // forms run on sm_90a unless their words need another target
    const Modifier type = rule.form == OperandForm::move ? form.instruction.type()
                          : rule.form == OperandForm::predicate
                              ? Modifier::pred
                              : typeOfRule(rule, form.instruction);
    std::string text;
    if (rule.form == OperandForm::immediate) {
      text = "0x96";
    } else if (rule.form == OperandForm::vector) {
      for (unsigned i = 0; i < rule.count; ++i) {
        const unsigned bits = registerBits(type);
        written.reads.push_back({type, bits, false, registerName(bits, number++)});
        text += (i == 0 ? "{" : ", ") + written.reads.back().text;
      }
      text += "}";
    } else {
      RegisterOperand reg;
      reg.type = type;
      reg.bits = registerBits(type);
      reg.text = registerName(reg.bits, number++);
      text = (rule.form == OperandForm::predicate ? "!" : "") + reg.text;
      if (rule.form == OperandForm::typed && ptx::bitsOf(type) == 8 && !rule.mayBeWider) {
        const std::string sign =
            ptx::categoryOf(type) == ptx::TypeCategory::signedInteger ? "s" : "u";
        text = concat("%b", number);
        if (rule.written)
          after = concat(" cvt.", sign, "16.", sign, "8 ", reg.text, ", ", text, ";");
        else
          before += concat("cvt.", sign, "8.", sign, "16 ", text, ", ", reg.text, "; ");
      }
      if (rule.written) {
        written.result = reg;
        if (rule.second) {
          written.hasSecond = true;
          text += "|%p30";
        }
      } else {
        written.reads.push_back(reg);
      }
    }
    written.text += separator + text;
    separator = ", ";
  }
  written.text = concat(before, written.text, ";", after);
  return written;
}

/// Edge values of a type.
static std::vector<uint64_t> edgesOf(Modifier type) {
  const Modifier element = elementOf(type);
  std::vector<uint64_t> values;
  switch (element) {
  case Modifier::f16:
    values = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x3800,
              0x4248, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7fff, 0x6400, 0x5640};
    break;
  case Modifier::bf16:
    values = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80,
              0x3f81, 0x3f00, 0x4049, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0,
              0xffc1, 0x7fff, 0x4380, 0x4780, 0xc302, 0xc2ff};
    break;
  case Modifier::f32:
  case Modifier::tf32:
    values = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000,
              0xbf800000, 0x3f800001, 0x3f000000, 0x3fc00000, 0x40200000, 0xc0200000, 0x40490fdb,
              0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x477fe000, 0x477ff000, 0x43e00000,
              0x43e80000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001,
              0x7f800001, 0x3f808000, 0x3f818000, 0x38800000, 0x33000000, 0x387fc000, 0x42f00000};
    break;
  case Modifier::f64:
    values = {0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x000fffffffffffff,
              0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001,
              0x3fe0000000000000, 0x4004000000000000, 0x400921fb54442d18, 0x41e0000000000000,
              0xc1e0000000000000, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000,
              0x47efffffe0000000, 0x47f0000000000000, 0x3690000000000000, 0x380fffffffffffff,
              0x40effc0000000000, 0x40f0000000000000, 0x7fefffffffffffff, 0xffefffffffffffff,
              0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001};
    break;
  case Modifier::e4m3:
  case Modifier::e5m2:
    for (uint64_t i = 0; i < 256; i += 5)
      values.push_back(i);
    values.insert(values.end(), {0x7f, 0xff, 0x7e, 0x7c, 0x7b});
    break;
  case Modifier::e2m1:
  case Modifier::e2m3:
  case Modifier::e3m2:
    for (uint64_t i = 0; i < (uint64_t(1) << ptx::bitsOf(element)); ++i)
      values.push_back(i);
    break;
  case Modifier::ue8m0:
    for (uint64_t i = 0; i < 256; ++i)
      values.push_back(i);
    break;
  case Modifier::pred:
    return {0, 1};
  default:
    values = {0,
              1,
              2,
              3,
              7,
              15,
              16,
              31,
              32,
              33,
              63,
              64,
              65,
              100,
              127,
              128,
              255,
              256,
              0x7fff,
              0x8000,
              0xffff,
              0x10000,
              0x7fffff,
              0x800000,
              0x7fffffff,
              0x80000000,
              0xffffffff,
              0xfffffffe,
              0x100000000,
              0x7fffffffffffffff,
              0x8000000000000000,
              0xffffffffffffffff,
              0xaaaaaaaaaaaaaaaa,
              0x123456789abcdef0};
    break;
  }
  if (element != type) { // both halves
    const unsigned shift = ptx::bitsOf(type) / 2;
    std::vector<uint64_t> pairs;
    for (size_t i = 0; i < values.size(); ++i)
      pairs.push_back(values[i] | values[(i * 7 + 3) % values.size()] << shift);
    return pairs;
  }
  return values;
}

static uint64_t randomValue(Modifier type, std::mt19937_64 &random) {
  const uint64_t bits = random();
  // Floats of random bits are mostly huge or tiny, so half of them are drawn from an ordinary
  // range.
  std::uniform_real_distribution<double> ordinary(-300, 300);
  if (bits & 1)
    switch (type) {
    case Modifier::f32:
      return roundTo(type, ordinary(random), Mode::nearest);
    case Modifier::f64:
    case Modifier::f16:
    case Modifier::bf16:
      return roundTo(type, ordinary(random) / 16, Mode::nearest);
    case Modifier::f16x2:
    case Modifier::bf16x2:
      return roundTo(elementOf(type), ordinary(random) / 16, Mode::nearest) |
             roundTo(elementOf(type), ordinary(random) / 16, Mode::nearest) << 16;
    default:
      break;
    }
  // Short integers are as frequent as long ones.
  const unsigned width = ptx::bitsOf(type);
  if (bits & 2 && ptx::categoryOf(type) != ptx::TypeCategory::floating)
    return (bits >> 8) >> (bits >> 2 & 31);
  return width == 64 ? bits >> 1 | bits << 63 : bits >> 4;
}

static uint64_t masked(uint64_t value, unsigned bits) {
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

/// `count` tuples: pairs of edges first, then edges with random values.
static std::vector<std::vector<uint64_t>> tuplesFor(const Written &written, size_t count,
                                                    std::mt19937_64 &random) {
  std::vector<std::vector<uint64_t>> pools;
  for (const RegisterOperand &reg : written.reads)
    pools.push_back(edgesOf(reg.type));
  std::vector<std::vector<uint64_t>> tuples;
  const size_t inputs = pools.size();
  auto add = [&](std::vector<uint64_t> tuple) {
    for (size_t i = 0; i < inputs; ++i)
      tuple[i] = masked(tuple[i], written.reads[i].bits);
    tuples.push_back(std::move(tuple));
  };
  if (inputs == 1)
    for (uint64_t value : pools[0])
      add({value});
  if (inputs == 2)
    for (uint64_t a : pools[0])
      for (uint64_t b : pools[1])
        add({a, b});
  while (tuples.size() < count) {
    std::vector<uint64_t> tuple;
    for (size_t i = 0; i < inputs; ++i)
      tuple.push_back(random() % 3 == 0 ? pools[i][random() % pools[i].size()]
                                        : randomValue(written.reads[i].type, random));
    add(std::move(tuple));
  }
  return tuples;
}

static bool usesCarry(const Form &form) {
  return form.row->handler == Handler::addCarry || form.row->handler == Handler::subCarry ||
         form.row->handler == Handler::madCarry;
}

/// Loads operands from columns of 8 bytes, executes the instruction, and stores the result,
/// followed by the predicate or the carry.
static std::string kernelFor(const Form &form, const Written &written, size_t count) {
  std::ostringstream text;
  const bool hasCarry = usesCarry(form), borrows = form.row->handler == Handler::subCarry;
  text << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
       << registerDeclarations()
       << "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout];\n"
          "mov.u32 %x0, %ctaid.x; mov.u32 %x1, %tid.x; mad.lo.u32 %i, %x0, 128, %x1;\n"
          "mul.wide.u32 %a0, %i, 8; add.u64 %in, %in, %a0; add.u64 %out, %out, %a0;\n";
  for (size_t i = 0; i < written.reads.size(); ++i) {
    const RegisterOperand &reg = written.reads[i];
    if (reg.bits == 1)
      text << "ld.global.b32 %x2, [%in+" << i * count * 8 << "]; setp.ne.u32 " << reg.text
           << ", %x2, 0;\n";
    else
      text << "ld.global.b" << reg.bits << " " << reg.text << ", [%in+" << i * count * 8 << "];\n";
  }
  if (hasCarry) // the last column: 0 or 1
    text << "ld.global.b32 %x3, [%in+" << written.reads.size() * count * 8 << "];\n"
         << (borrows ? "sub.cc.u32 %x4, 0, %x3;\n" : "add.cc.u32 %x4, %x3, 0xffffffff;\n");
  text << written.text << "\n";
  if (hasCarry)
    text << (borrows ? "subc.u32 %x5, 0, 0; sub.u32 %x5, 0, %x5;\n" : "addc.u32 %x5, 0, 0;\n")
         << "st.global.b32 [%out+" << count * 8 << "], %x5;\n";
  const RegisterOperand &result = written.result;
  if (result.bits == 1)
    text << "selp.u32 %x6, 1, 0, " << result.text << "; st.global.b32 [%out], %x6;\n";
  else
    text << "st.global.b" << result.bits << " [%out], " << result.text << ";\n";
  if (written.hasSecond)
    text << "selp.u32 %x7, 1, 0, %p30; st.global.b32 [%out+" << count * 8 << "], %x7;\n";
  text << "ret;\n}\n";
  return text.str();
}

static double ulpsBetween(Modifier type, uint64_t got, uint64_t expected) {
  auto line = [&](uint64_t bits) { // maps floats to monotonic integers
    const unsigned width = ptx::bitsOf(type);
    const auto magnitude = static_cast<double>(masked(bits, width - 1));
    return bits >> (width - 1) & 1 ? -magnitude : magnitude;
  };
  return std::fabs(line(got) - line(expected));
}

static bool agrees(const Expected &expected, uint64_t got) {
  if (got == expected.bits)
    return true;
  if (expected.type == Modifier::none)
    return false;
  const Modifier element = elementOf(expected.type);
  const unsigned parts = element == expected.type ? 1 : 2;
  const unsigned bits = ptx::bitsOf(expected.type) / parts;
  for (unsigned i = 0; i < parts; ++i) {
    const uint64_t one = masked(got >> (i * bits), bits),
                   wanted = masked(expected.bits >> (i * bits), bits);
    if (one == wanted)
      continue;
    const bool areNan = isNanOf(element, one) && isNanOf(element, wanted);
    if (expected.anyNan && areNan)
      continue;
    if (isNanOf(element, one) || isNanOf(element, wanted))
      return false;
    if (expected.anyZero && valueOf(element, one) == 0 && valueOf(element, wanted) == 0)
      continue;
    if (expected.ulps == 0 || ulpsBetween(element, one, wanted) > expected.ulps)
      return false;
  }
  return true;
}

using ReferenceFunction = Expected (*)(const Form &, const Inputs &);

static ReferenceFunction referenceOf(const InstructionRow &row) {
  switch (row.klass) {
  case ptx::InstructionClass::integer:
  case ptx::InstructionClass::logic:
    return integerReference;
  case ptx::InstructionClass::fp16:
  case ptx::InstructionClass::fp32:
  case ptx::InstructionClass::fp64:
  case ptx::InstructionClass::special:
    return floatReference;
  case ptx::InstructionClass::compare:
    return row.handler == Handler::isspacep ? nullptr : compareReference;
  case ptx::InstructionClass::conversion:
    return convertReference;
  case ptx::InstructionClass::move:
    return row.name == "mov" ? compareReference : nullptr;
  default:
    return nullptr;
  }
}

static void runForm(Session &session, const Form &form, ReferenceFunction reference) {
  constexpr size_t count = 1280;
  const Written written = write(form);
  const std::vector<std::vector<uint64_t>> tuples = tuplesFor(written, count, session.random);
  const size_t inputs = written.reads.size();
  const size_t rows = (tuples.size() + 127) / 128 * 128;
  std::shared_ptr<machine::LoadedModule> module =
      load(session, form, kernelFor(form, written, rows));
  if (!module)
    return;
  std::vector<uint64_t> in((inputs + 1) * rows);
  for (size_t t = 0; t < tuples.size(); ++t) {
    for (size_t i = 0; i < inputs; ++i)
      in[i * rows + t] = tuples[t][i];
    in[inputs * rows + t] = t & 1;
  }
  ++session.forms;
  size_t compared = 0;
  for (std::string_view set : {"v3", "v4"}) {
    if (!machine::handlersFor(set))
      continue;
    std::vector<uint64_t> out(2 * rows);
    const uint64_t *pin = in.data();
    uint64_t *pout = out.data();
    const void *arguments[] = {&pin, &pout};
    machine::LaunchConfig config{.grid = {static_cast<uint32_t>(rows / 128), 1, 1},
                                 .block = {128, 1, 1}};
    config.instructionSet = set;
    if (!launch(session, form, *module, config, arguments))
      return;
    for (size_t t = 0; t < tuples.size(); ++t) {
      Inputs values;
      uint64_t *fields[] = {&values.a, &values.b, &values.c, &values.d, &values.e};
      for (size_t i = 0; i < inputs; ++i)
        *fields[i] = tuples[t][i];
      values.carry = t & 1;
      const Expected expected = reference(form, values);
      if (!expected.isKnown)
        continue;
      ++session.values;
      ++compared;
      const uint64_t got = masked(out[t], written.result.bits);
      const bool second = out[rows + t] & 1;
      if (agrees(expected, got) && (!expected.hasSecond || second == expected.second))
        continue;
      std::ostringstream why;
      why << written.text << std::hex;
      for (uint64_t value : tuples[t])
        why << " 0x" << value;
      why << (usesCarry(form) ? concat(" carry ", t & 1) : "") << " gives 0x" << got << "|"
          << second << ", expected 0x" << expected.bits << "|" << expected.second << " on " << set;
      session.fail(form, why.str());
      return;
    }
  }
  if (compared == 0)
    return session.fail(
        form, concat("none of ", tuples.size(), " results was compared: write the reference"));
  session.coverage.add(form.row->name);
}

void runArithmetic(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable())
    if (ReferenceFunction reference = referenceOf(row))
      for (const Form &form : formsOf(row, session.perRow, session.random))
        runForm(session, form, reference);
}

} // namespace tilewright::vgpu::forms
