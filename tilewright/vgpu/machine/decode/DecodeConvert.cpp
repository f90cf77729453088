// Comparisons, selections, moves and conversions.
#include "tilewright/vgpu/machine/Conversion.h"
#include "tilewright/vgpu/machine/decode/Decoder.h"

#include <algorithm>
#include <iterator>

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

static bool isFloatType(Modifier type) {
  const ptx::TypeCategory category = ptx::categoryOf(type);
  return category == ptx::TypeCategory::floating || category == ptx::TypeCategory::packedFloat ||
         category == ptx::TypeCategory::bitsOfFloat;
}

namespace {
/// How a PTX comparison is expressed by the comparisons that the handlers implement.
struct Comparison {
  Modifier word;
  unsigned base;          // 0 ==, 1 <, 2 <=, 3 neither operand is a NaN
  uint64_t form = 0;      // the lowest bits of Op::imm; see Bits.cpp
  bool isSwapped = false; // compares b with a
};
} // namespace

static const Comparison *findComparison(Modifier word) {
  constexpr uint64_t opposite = 1, orNan = 4;
  static constexpr Comparison table[] = {
      {Modifier::eq, 0},          {Modifier::ne, 0, opposite},
      {Modifier::lt, 1},          {Modifier::lo, 1},
      {Modifier::le, 2},          {Modifier::ls, 2},
      {Modifier::gt, 1, 0, true}, {Modifier::hi, 1, 0, true},
      {Modifier::ge, 2, 0, true}, {Modifier::hs, 2, 0, true},
      {Modifier::equ, 0, orNan},  {Modifier::neu, 0, opposite},
      {Modifier::ltu, 1, orNan},  {Modifier::gtu, 1, orNan, true},
      {Modifier::leu, 2, orNan},  {Modifier::geu, 2, orNan, true},
      {Modifier::num, 3},         {Modifier::isNan, 3, opposite},
  };
  const Comparison *found = std::ranges::find(table, word, &Comparison::word);
  return found == std::end(table) ? nullptr : found;
}

Status Decoder::setp(uint32_t first, uint32_t second, Modifier type, const Operand &a,
                     const Operand &b, const Operand *combine) {
  const bool isFloat = isFloatType(type);
  Modifier compare = instruction->find(ModifierKind::compare);
  if (compare == Modifier::none) // .lo and .hi have the modifier kind of mul.lo and mul.hi
    compare = instruction->has(Modifier::lo) ? Modifier::lo : Modifier::hi;
  const Comparison *comparison = findComparison(compare);
  if (!comparison)
    return unsupported("");
  const unsigned base = comparison->base;
  uint64_t form = comparison->form;
  Operation operation = Operation::nothing;
  if (!isFloat) {
    // lo, ls, hi and hs compare as unsigned, regardless of the type.
    const bool isUnsigned = compare == Modifier::lo || compare == Modifier::ls ||
                            compare == Modifier::hi || compare == Modifier::hs ||
                            !isSignedType(type);
    const unsigned width = widthIndex(registerBytes(type));
    operation = base == 0 ? plus(Operation::setpEq16, width)
                          : plus(base == 1 ? Operation::setpLtU16 : Operation::setpLeU16,
                                 width + (isUnsigned ? 0 : 3));
  } else {
    // A NaN is not equal to any number, but `ne` is false for it, unlike `neu`.
    constexpr uint64_t andNumbers = 2;
    if (compare == Modifier::ne)
      form |= andNumbers;
    form |= uint64_t(base) << 8 | (instruction->has(Modifier::ftz) ? 1024 : 0);
    operation = type == Modifier::f32      ? Operation::setpF32
                : type == Modifier::f64    ? Operation::setpF64
                : type == Modifier::f16    ? Operation::setpF16
                : type == Modifier::bf16   ? Operation::setpBf16
                : type == Modifier::f16x2  ? Operation::setpF16x2
                : type == Modifier::bf16x2 ? Operation::setpBf16x2
                                           : Operation::nothing;
  }
  uint32_t c = alwaysSlot;
  if (combine) {
    c = predicate(*combine);
    const uint64_t how = instruction->has(Modifier::opAnd)  ? 1
                         : instruction->has(Modifier::opOr) ? 2
                                                            : 3;
    form |= how << 4 | (combine->negated ? 64 : 0);
  }
  const uint32_t x = read(a, type), y = read(b, type);
  Op &op = emit(operation);
  op.d = first, op.e = second, op.c = c, op.imm = form;
  op.a = comparison->isSwapped ? y : x, op.b = comparison->isSwapped ? x : y;
  return Status();
}

Status Decoder::compare() {
  if (handler == Handler::testp) {
    static constexpr Modifier tests[] = {Modifier::finite, Modifier::infinite,
                                         Modifier::number, Modifier::notanumber,
                                         Modifier::normal, Modifier::subnormal};
    const Modifier type = instruction->type();
    const uint32_t a = read(operands[1], type);
    Op &op = emit(type == Modifier::f64 ? Operation::testpF64 : Operation::testpF32);
    op.d = writePredicate(operands[0]), op.a = a;
    for (unsigned i = 0; i < 6; ++i)
      if (instruction->has(tests[i]))
        op.imm = i;
    return Status();
  }
  const Operand *combine = operands.size() > 3 ? &operands[3] : nullptr;
  if (handler == Handler::setp) {
    const std::span<const Operand> results = partsOf(operands[0]);
    const uint32_t first = writePredicate(results[0]);
    const uint32_t second = results.size() > 1 ? writePredicate(results[1]) : temporary(2);
    return setp(first, second, instruction->type(), operands[1], operands[2], combine);
  }
  // Decode `set` as a comparison to a predicate, followed by a selection of one of two values.
  const Modifier type = instruction->type(0), from = instruction->type(1);
  const uint32_t holds = temporary(2), second = temporary(2);
  TILEWRIGHT_TRY(setp(holds, second, from, operands[1], operands[2], combine));
  const unsigned bytes = registerBytes(type);
  const bool isPair = from == Modifier::f16x2 || from == Modifier::bf16x2;
  auto value = [&](Modifier t) -> uint64_t {
    switch (t) {
    case Modifier::f32:
      return 0x3f800000u;
    case Modifier::f16:
    case Modifier::f16x2:
      return 0x3c00;
    case Modifier::bf16:
    case Modifier::bf16x2:
      return 0x3f80;
    default:
      return ~uint64_t(0);
    }
  };
  const uint32_t d = write(operands[0], bytes);
  if (!isPair) {
    const uint32_t yes = constant(bytes, value(type)), no = constant(bytes, 0);
    Op &op = emit(plus(Operation::selp16, widthIndex(bytes)));
    op.d = d, op.a = yes, op.b = no, op.c = holds;
    return Status();
  }
  const uint32_t yes = constant(2, value(type)), no = constant(2, 0);
  const uint32_t low = temporary(2), high = temporary(2);
  Op &first = emit(Operation::selp16);
  first.d = low, first.a = yes, first.b = no, first.c = holds;
  Op &next = emit(Operation::selp16);
  next.d = high, next.a = yes, next.b = no, next.c = second;
  Op &pack = emit(Operation::pack32);
  pack.d = d, pack.a = low, pack.b = high;
  return Status();
}

Status Decoder::select() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const uint32_t a = read(operands[1], type), b = read(operands[2], type);
  uint32_t c = 0;
  if (handler == Handler::slct) {
    // c >= 0 ? a : b; a NaN selects b.
    const Modifier tested = instruction->type(1);
    c = temporary(2);
    const uint32_t zero = constant(4, 0), x = read(operands[3], tested);
    Op &op = emit(tested == Modifier::f32 ? Operation::setpF32 : Operation::setpLeS32);
    op.d = c, op.e = temporary(2), op.a = zero, op.b = x, op.c = alwaysSlot;
    if (tested == Modifier::f32)
      op.imm = 2u << 8 | (instruction->has(Modifier::ftz) ? 1024 : 0);
  } else {
    c = predicate(operands[3]);
  }
  const uint32_t d = write(operands[0], bytes);
  Op &op = emit(plus(Operation::selp16, widthIndex(bytes)));
  op.d = d, op.a = a, op.b = b, op.c = c;
  return Status();
}

Status Decoder::move() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const Operand &to = operands[0], &from = operands[1];
  if (from.kind == OperandKind::vector || to.kind == OperandKind::vector) {
    const bool isPack = from.kind == OperandKind::vector;
    const std::span<const Operand> parts = source.elementsOf(isPack ? from : to);
    const unsigned bits = 8 * bytes / static_cast<unsigned>(parts.size());
    const unsigned partBytes = bits <= 16 ? 2 : bits / 8;
    auto partSlots = std::make_unique<uint32_t[]>(parts.size());
    for (size_t i = 0; i < parts.size(); ++i)
      partSlots[i] = isPack ? readBytes(parts[i], partBytes) : write(parts[i], partBytes);
    const uint32_t whole = isPack ? write(to, bytes) : readBytes(from, bytes);
    if (bytes == 16) {
      if (parts.size() != 2)
        return unsupported("only two halves of 128 bits");
      for (unsigned i = 0; i < 2; ++i) {
        Op &op = emit(Operation::mov64);
        op.d = isPack ? whole + 256 * i : partSlots[i];
        op.a = isPack ? partSlots[i] : whole + 256 * i;
      }
      return Status();
    }
    if (parts.size() == 2 && bytes >= 4) {
      Op &op = emit(plus(isPack ? Operation::pack32 : Operation::unpack32, bytes == 8));
      if (isPack)
        op.d = whole, op.a = partSlots[0], op.b = partSlots[1];
      else
        op.d = partSlots[0], op.e = partSlots[1], op.a = whole;
      return Status();
    }
    function.lists.push_back(std::move(partSlots));
    Op &op = emit(isPack ? Operation::packMany : Operation::unpackMany);
    op.d = op.a = whole;
    op.extra = function.lists.back().get();
    op.imm = parts.size() | bits << 8 | uint64_t(8 * bytes) << 16;
    return Status();
  }
  if (from.kind == OperandKind::special) {
    Op &op = emit(Operation::special);
    op.d = bytes == 1 ? writePredicate(to) : write(to, bytes);
    op.imm = specialForm(from, bytes);
    return Status();
  }
  const uint32_t a = read(from, type);
  Op &op = emit(bytes == 1    ? Operation::movPred
                : bytes == 16 ? Operation::mov128
                              : plus(Operation::mov16, widthIndex(bytes)));
  op.d = write(to, bytes), op.a = op.b = a;
  return Status();
}

Status Decoder::convert() {
  ConversionForm form;
  form.to = instruction->type(0), form.from = instruction->type(1);
  form.rounding = roundingOf(*instruction);
  form.ftz = instruction->has(Modifier::ftz);
  form.saturate = instruction->has(Modifier::sat);
  form.relu = instruction->has(Modifier::relu);
  form.satfinite = instruction->has(Modifier::satfinite);
  const Modifier word = instruction->find(ModifierKind::rounding);
  const bool roundsToWhole = word == Modifier::rni || word == Modifier::rzi ||
                             word == Modifier::rmi || word == Modifier::rpi;
  form.integral = roundsToWhole && isFloatType(form.to);
  // Registers may be wider than the types.
  form.toBytes = static_cast<uint8_t>(
      operands[0].kind == OperandKind::reg ? bytesOf(operands[0]) : registerBytes(form.to));
  form.fromBytes = static_cast<uint8_t>(
      operands[1].kind == OperandKind::reg ? bytesOf(operands[1]) : registerBytes(form.from));
  const uint32_t a = readBytes(operands[1], form.fromBytes);
  const uint32_t d = write(operands[0], form.toBytes);

  const bool isPlain = !form.ftz && !form.saturate && !form.relu && !form.satfinite &&
                       ptx::bitsOf(form.to) == 8u * form.toBytes &&
                       ptx::bitsOf(form.from) == 8u * form.fromBytes;
  const bool isNearest = form.rounding == Rounding::nearest && !form.integral;
  Operation operation = Operation::convertAny;
  uint64_t imm = 0;
  const Modifier to = form.to, from = form.from;
  if (isPlain && !isFloatType(to) && !isFloatType(from)) {
    const unsigned key = form.fromBytes * 16 + form.toBytes;
    const bool extends = isSignedType(from);
    operation = key == 0x24   ? (extends ? Operation::sext16to32 : Operation::zext16to32)
                : key == 0x28 ? (extends ? Operation::sext16to64 : Operation::zext16to64)
                : key == 0x48 ? (extends ? Operation::sext32to64 : Operation::zext32to64)
                : key == 0x42 ? Operation::trunc32to16
                : key == 0x82 ? Operation::trunc64to16
                : key == 0x84 ? Operation::trunc64to32
                              : plus(Operation::mov16, widthIndex(form.toBytes));
  } else if (isPlain && to == Modifier::s32 && from == Modifier::f32) {
    operation = Operation::f32toS32;
    imm = form.rounding == Rounding::zero      ? 0
          : form.rounding == Rounding::nearest ? 1
          : form.rounding == Rounding::down    ? 2
                                               : 3;
  } else if (isPlain && isNearest) {
    auto is = [&](Modifier x, Modifier y) { return to == x && from == y; };
    operation = is(Modifier::f32, Modifier::s32)    ? Operation::s32toF32
                : is(Modifier::f32, Modifier::u32)  ? Operation::u32toF32
                : is(Modifier::f64, Modifier::s32)  ? Operation::s32toF64
                : is(Modifier::f64, Modifier::u32)  ? Operation::u32toF64
                : is(Modifier::f64, Modifier::s64)  ? Operation::s64toF64
                : is(Modifier::f64, Modifier::u64)  ? Operation::u64toF64
                : is(Modifier::f64, Modifier::f32)  ? Operation::f32toF64
                : is(Modifier::f32, Modifier::f64)  ? Operation::f64toF32
                : is(Modifier::f16, Modifier::f32)  ? Operation::f32toF16
                : is(Modifier::bf16, Modifier::f32) ? Operation::f32toBf16
                : is(Modifier::f32, Modifier::f16)  ? Operation::f16toF32
                : is(Modifier::f32, Modifier::bf16) ? Operation::bf16toF32
                                                    : Operation::convertAny;
  }
  const ConversionForm *held =
      operation == Operation::convertAny ? own<ConversionForm>(form) : nullptr;
  Op &op = emit(operation);
  op.d = d, op.a = a, op.imm = imm, op.extra = held;
  return Status();
}

Status Decoder::convertPair() {
  if (handler == Handler::cvtPack) {
    const Modifier to = instruction->type(0);
    const uint32_t a = readBytes(operands[1], 4), b = readBytes(operands[2], 4);
    const uint32_t c = operands.size() > 3 ? readBytes(operands[3], 4) : a;
    const uint32_t d = write(operands[0], 4);
    Op &op = emit(Operation::convertPack);
    op.d = d, op.a = a, op.b = b, op.c = c;
    op.imm = ptx::bitsOf(to) | (isSignedType(to) ? 256 : 0);
    return Status();
  }
  ConversionForm form;
  form.to = instruction->type(0), form.from = instruction->type(1);
  form.rounding = roundingOf(*instruction);
  form.relu = instruction->has(Modifier::relu);
  form.satfinite = instruction->has(Modifier::satfinite);
  // Registers may be wider than the types; both sources have the same width.
  auto bytesOrOwn = [&](const Operand &operand, Modifier type) {
    return static_cast<uint8_t>(operand.kind == OperandKind::reg ? bytesOf(operand)
                                                                 : registerBytes(type));
  };
  form.toBytes = bytesOrOwn(operands[0], form.to);
  form.fromBytes = std::max(bytesOrOwn(operands[1], form.from),
                            operands.size() > 2 ? bytesOrOwn(operands[2], form.from) : uint8_t(0));
  auto source = [&](const Operand &operand) {
    return operand.kind == OperandKind::reg ? readBytes(operand, form.fromBytes)
                                            : read(operand, form.from);
  };
  const uint32_t a = source(operands[1]);
  const uint32_t b = operands.size() > 2 ? source(operands[2]) : a;
  const uint32_t d = write(operands[0], form.toBytes);
  const bool isPlain = form.from == Modifier::f32 && form.rounding == Rounding::nearest &&
                       !form.relu && !form.satfinite && form.toBytes == 4 && form.fromBytes == 4;
  if (isPlain && (form.to == Modifier::f16x2 || form.to == Modifier::bf16x2)) {
    Op &op = emit(form.to == Modifier::f16x2 ? Operation::f32toF16x2 : Operation::f32toBf16x2);
    op.d = d, op.a = a, op.b = b;
    return Status();
  }
  const bool isPacked = operands.size() == 2;
  const ConversionForm *held = own<ConversionForm>(form);
  Op &op = emit(Operation::convertPair);
  op.d = d, op.a = a, op.b = b, op.extra = held;
  op.imm = uint64_t(isPacked) | uint64_t(ptx::bitsOf(form.to) / 2) << 8 |
           uint64_t(ptx::bitsOf(form.from) / 2) << 16;
  return Status();
}

Status Decoder::convertRandomly() {
  ConversionForm form;
  form.to = instruction->type(0), form.from = instruction->type(1);
  form.relu = instruction->has(Modifier::relu);
  form.satfinite = instruction->has(Modifier::satfinite);
  form.toBytes = static_cast<uint8_t>(registerBytes(form.to));
  // Four values are in braces, two are not.
  std::vector<uint32_t> values;
  for (const Operand &operand : operands.subspan(1, operands.size() - 2))
    for (const Operand &part : partsOf(operand))
      values.push_back(read(part, form.from));
  const uint32_t random = readBytes(operands.back(), 4), d = write(operands[0], form.toBytes);
  const ConversionForm *held = own<ConversionForm>(form);
  Op &op = emit(Operation::convertRandom);
  op.d = d, op.f = random, op.imm = values.size(), op.extra = held;
  uint32_t *slots[] = {&op.a, &op.b, &op.c, &op.e};
  for (size_t i = 0; i < values.size(); ++i)
    *slots[i] = values[i];
  return Status();
}

} // namespace tilewright::vgpu::machine
