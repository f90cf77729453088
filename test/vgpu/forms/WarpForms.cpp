// Instructions with which lanes of a warp exchange data, for whole warps and for some of their
// lanes.
#include "test/vgpu/forms/FormKernel.h"
#include "tilewright/support/Concat.h"

#include <bit>
#include <cmath>
#include <sstream>

namespace tilewright::vgpu::forms {

namespace {
/// Three words of each lane, and the results: a word and a predicate.
struct Lanes {
  uint64_t a[32];
  uint32_t b[32], c[32];
  uint64_t d[32];
  bool p[32];
  bool isAsked[32]; // whether PTX defines d
};
} // namespace

static void shuffleReference(const Instruction &instruction, uint32_t members, Lanes &lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    const int b = static_cast<int>(lanes.b[lane] & 31);
    const int clamp = static_cast<int>(lanes.c[lane] & 31), segment = lanes.c[lane] >> 8 & 31;
    const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int j = 0;
    bool holds = false;
    if (instruction.has(Modifier::up)) {
      j = lane - b;
      holds = j >= most;
    } else if (instruction.has(Modifier::down)) {
      j = lane + b;
      holds = j <= most;
    } else if (instruction.has(Modifier::bfly)) {
      j = lane ^ b;
      holds = j <= most;
    } else {
      j = least | (b & ~segment);
      holds = j <= most;
    }
    if (!holds)
      j = lane;
    lanes.p[lane] = holds;
    lanes.d[lane] = lanes.a[j];
    // The result of reading from an inactive lane is undefined.
    lanes.isAsked[lane] = members >> j & 1;
  }
}

/// The extreme of floats: a NaN only if all are, or if .NaN asks for it.
static void reduxFloats(const Instruction &instruction, uint32_t members, Lanes &lanes) {
  bool hasNan = false, isFirst = true;
  float result = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(members >> lane & 1))
      continue;
    auto value = std::bit_cast<float>(static_cast<uint32_t>(lanes.a[lane]));
    if (instruction.has(Modifier::absolute))
      value = std::fabs(value);
    if (std::isnan(value)) {
      hasNan = true;
      continue;
    }
    const bool isLess = value < result || (value == result && std::signbit(value));
    if (isFirst || isLess == instruction.has(Modifier::min))
      result = value;
    isFirst = false;
  }
  const bool isNan = isFirst || (hasNan && instruction.has(Modifier::nan));
  for (int lane = 0; lane < 32; ++lane)
    lanes.d[lane] = isNan ? 0x7fffffffu : std::bit_cast<uint32_t>(result);
}

static void reduxReference(const Instruction &instruction, uint32_t members, Lanes &lanes) {
  const Modifier type = instruction.type();
  if (type == Modifier::f32)
    return reduxFloats(instruction, members, lanes);
  bool isFirst = true;
  int64_t sum = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(members >> lane & 1))
      continue;
    const auto word = static_cast<uint32_t>(lanes.a[lane]);
    const int64_t value = type == Modifier::s32 ? int64_t(static_cast<int32_t>(word)) : word;
    if (isFirst)
      sum = value;
    else if (instruction.has(Modifier::add))
      sum += value;
    else if (instruction.has(Modifier::min))
      sum = std::min(sum, value);
    else if (instruction.has(Modifier::max))
      sum = std::max(sum, value);
    else if (instruction.has(Modifier::opAnd))
      sum &= value;
    else if (instruction.has(Modifier::opOr))
      sum |= value;
    else
      sum ^= value;
    isFirst = false;
  }
  for (int lane = 0; lane < 32; ++lane)
    lanes.d[lane] = static_cast<uint32_t>(sum);
}

static void runForm(Session &session, const Form &form, uint32_t members) {
  const Instruction &instruction = form.instruction;
  std::mt19937_64 &random = session.random;
  Lanes lanes{};
  const Handler handler = form.row->handler;
  const unsigned bits = handler == Handler::match ? ptx::bitsOf(instruction.type()) : 32;
  const bool isPredicate = handler == Handler::vote;
  const bool allSame = random() & 1;
  const uint64_t same = random();
  for (int lane = 0; lane < 32; ++lane) {
    lanes.a[lane] = random();
    if (handler == Handler::match)
      lanes.a[lane] = allSame ? same : random() % 3 << 33 | random() % 2;
    if (isPredicate)
      lanes.a[lane] = allSame ? same & 1 : random() & 1;
    lanes.a[lane] &= bits == 64 ? ~uint64_t(0) : 0xffffffff;
    lanes.b[lane] = static_cast<uint32_t>(random() % 40);
    static constexpr uint32_t clamps[] = {0x1f, 0, 0x181f, 0x1c00, 0x1f1f, 0x101f};
    lanes.c[lane] = clamps[random() % 6];
    lanes.isAsked[lane] = true;
  }
  // All lanes of a shuffle segment have the same segment mask.
  for (int lane = 1; lane < 32; ++lane)
    lanes.c[lane] = lanes.c[0];

  std::ostringstream text;
  text << moduleHead() << ".visible .entry k(.param .u64 pin, .param .u64 pout) {\n"
       << registerDeclarations()
       << "ld.param.u64 %in, [pin]; ld.param.u64 %out, [pout]; mov.u32 %i, %tid.x; "
          "mul.wide.u32 %a0, %i, 16; add.u64 %in, %in, %a0; add.u64 %out, %out, %a0;\n"
          "ld.global.b32 %r5, [%in]; ld.global.b64 %d5, [%in]; ld.global.b32 %x1, [%in+8]; "
          "ld.global.b32 %x2, [%in+12]; setp.ne.u32 %p2, %r5, 0; mov.u32 %r1, 0; "
          "setp.ne.u32 %p1, 0, 0;\n"
          "mov.u32 %x3, "
       << members
       << ";\nmov.u32 %x4, 1; shl.b32 %x4, %x4, %i; and.b32 %x4, %x4, %x3; "
          "setp.eq.u32 %p3, %x4, 0; @%p3 bra L;\n";
  bool hasPredicate = false, isPredicateResult = false;
  switch (handler) {
  case Handler::shfl:
    hasPredicate = true;
    text << form.name() << " %r1|%p1, %r5, %x1, %x2, %x3;\n";
    shuffleReference(instruction, members, lanes);
    break;
  case Handler::vote: {
    // The test kernel negates the predicate.
    uint32_t votes = 0;
    for (int lane = 0; lane < 32; ++lane)
      votes |= lanes.a[lane] ? 0 : 1u << lane;
    votes &= members;
    const bool isBallot = instruction.has(Modifier::ballot);
    isPredicateResult = !isBallot;
    text << form.name() << (isBallot ? " %r1" : " %p1") << ", !%p2, %x3;\n";
    const bool holds = instruction.has(Modifier::all)   ? votes == members
                       : instruction.has(Modifier::any) ? votes != 0
                                                        : votes == members || votes == 0;
    for (int lane = 0; lane < 32; ++lane)
      lanes.d[lane] = isBallot ? votes : 0, lanes.p[lane] = holds;
    break;
  }
  case Handler::match: {
    const bool isAll = form.row->opcode == "match.all.sync";
    hasPredicate = isAll;
    text << form.name() << " %r1" << (isAll ? "|%p1" : "") << ", " << (bits == 64 ? "%d5" : "%r5")
         << ", %x3;\n";
    for (int lane = 0; lane < 32; ++lane) {
      uint32_t equal = 0;
      for (int other = 0; other < 32; ++other)
        equal |= lanes.a[other] == lanes.a[lane] ? 1u << other : 0;
      equal &= members;
      lanes.p[lane] = equal == members;
      lanes.d[lane] = isAll ? (equal == members ? members : 0) : equal;
    }
    break;
  }
  case Handler::redux:
    text << form.name() << " %r1, %r5, %x3;\n";
    reduxReference(instruction, members, lanes);
    break;
  case Handler::activemask:
    text << form.name() << " %r1;\n";
    for (uint64_t &d : lanes.d)
      d = members;
    break;
  default: { // elect
    hasPredicate = true;
    text << form.name() << " %r1|%p1, %x3;\n";
    const int leader = std::countr_zero(members);
    for (int lane = 0; lane < 32; ++lane)
      lanes.d[lane] = static_cast<uint32_t>(leader), lanes.p[lane] = lane == leader;
    break;
  }
  }
  text << "selp.u32 %x5, 1, 0, %p1; st.global.b32 [%out], %r1; st.global.b32 [%out+8], %x5;\n"
          "L:\nret;\n}\n";
  std::vector<uint32_t> in(128), out(128);
  for (int lane = 0; lane < 32; ++lane) {
    in[4 * lane] = static_cast<uint32_t>(lanes.a[lane]);
    in[4 * lane + 1] = static_cast<uint32_t>(lanes.a[lane] >> 32);
    in[4 * lane + 2] = lanes.b[lane];
    in[4 * lane + 3] = lanes.c[lane];
  }
  if (!run(session, form, text.str(), in.data(), out.data()))
    return;
  for (int lane = 0; lane < 32; ++lane) {
    if (!(members >> lane & 1) || !lanes.isAsked[lane])
      continue;
    ++session.values;
    const bool dIsFine = isPredicateResult || out[4 * lane] == lanes.d[lane];
    const bool pIsFine = !(hasPredicate || isPredicateResult) || out[4 * lane + 2] == lanes.p[lane];
    if (!dIsFine || !pIsFine) {
      session.fail(form,
                   concat("members ", members, " lane ", lane, ": ", out[4 * lane], "|",
                          out[4 * lane + 2], ", expected ", lanes.d[lane], "|", lanes.p[lane]));
      return;
    }
  }
  session.coverage.add(form.row->name);
}

void runWarp(Session &session) {
  for (const InstructionRow &row : ptx::instructionTable()) {
    if (row.klass != ptx::InstructionClass::warp)
      continue;
    for (const Form &form : formsOf(row, session.perRow, session.random))
      for (unsigned i = 0; i < 24; ++i) {
        const auto any = static_cast<uint32_t>(session.random());
        runForm(session, form, i % 3 == 0 ? 0xffffffff : i % 3 == 1 ? any | 1u << i : 1u << i);
      }
  }
}

} // namespace tilewright::vgpu::forms
