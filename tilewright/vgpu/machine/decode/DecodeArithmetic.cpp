#include "tilewright/vgpu/machine/Conversion.h"
#include "tilewright/vgpu/machine/decode/Decoder.h"
#include "tilewright/vgpu/machine/decode/FloatForms.h"

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

static Operation plus(Operation first, unsigned index) {
  return static_cast<Operation>(static_cast<unsigned>(first) + index);
}
/// The index of a type in families of handlers with the order U16 U32 U64 S16 S32 S64.
static unsigned integerIndex(Modifier type) {
  return widthIndex(registerBytes(type)) + (isSignedType(type) ? 3 : 0);
}

Status Decoder::integer() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const unsigned width = widthIndex(bytes);
  const bool isHigh = instruction->has(Modifier::hi);
  const bool isPair = type == Modifier::u16x2 || type == Modifier::s16x2;
  const bool isSigned = isSignedType(type);
  const bool isWide = handler == Handler::mulWide || handler == Handler::madWide;
  unsigned dBytes = isWide ? 2 * bytes : bytes;
  Operation operation = Operation::nothing;
  uint64_t imm = 0;
  switch (handler) {
  case Handler::add:
    operation = isPair                            ? Operation::addPair
                : instruction->has(Modifier::sat) ? Operation::addSatS32
                                                  : plus(Operation::add16, width);
    break;
  case Handler::sub:
    operation =
        instruction->has(Modifier::sat) ? Operation::subSatS32 : plus(Operation::sub16, width);
    break;
  case Handler::addCarry:
  case Handler::subCarry: {
    const Operation first =
        handler == Handler::addCarry ? Operation::addCarry32 : Operation::subCarry32;
    operation = plus(first, bytes == 8);
    const std::string_view opcode = ptx::rowOf(*instruction).opcode;
    imm = (opcode.back() == 'c' ? 1 : 0) | (instruction->has(Modifier::cc) ? 2 : 0);
    break;
  }
  case Handler::mul:
    operation =
        isHigh ? plus(Operation::mulHiU16, integerIndex(type)) : plus(Operation::mulLo16, width);
    break;
  case Handler::mulWide:
    operation = plus(Operation::mulWideU16, width + (isSigned ? 2 : 0));
    break;
  case Handler::mad:
    operation = instruction->has(Modifier::sat) ? Operation::madHiSatS32
                : isHigh                        ? plus(Operation::madHiU16, integerIndex(type))
                                                : plus(Operation::madLo16, width);
    break;
  case Handler::madWide:
    operation = plus(Operation::madWideU16, width + (isSigned ? 2 : 0));
    break;
  case Handler::madCarry: {
    operation =
        !isHigh ? plus(Operation::madCarryLo32, bytes == 8)
                : plus(isSigned ? Operation::madCarryHiS32 : Operation::madCarryHiU32, bytes == 8);
    const std::string_view opcode = ptx::rowOf(*instruction).opcode;
    imm = (opcode.back() == 'c' ? 1 : 0) | (instruction->has(Modifier::cc) ? 2 : 0);
    break;
  }
  case Handler::mul24:
  case Handler::mad24:
    operation = isSigned ? Operation::mul24S : Operation::mul24U;
    imm = (isHigh ? 1 : 0) | (handler == Handler::mad24 ? 2 : 0) |
          (instruction->has(Modifier::sat) ? 4 : 0);
    break;
  case Handler::sad:
    operation = plus(Operation::sadU16, integerIndex(type));
    break;
  case Handler::divInt:
    operation = plus(Operation::divU16, integerIndex(type));
    break;
  case Handler::rem:
    operation = plus(Operation::remU16, integerIndex(type));
    break;
  case Handler::abs:
    operation = plus(Operation::abs16, width);
    break;
  case Handler::neg:
    operation = plus(Operation::neg16, width);
    break;
  case Handler::min:
  case Handler::max: {
    const bool isMin = handler == Handler::min;
    const bool isRelu = instruction->has(Modifier::relu);
    imm = isRelu;
    if (isPair)
      operation = type == Modifier::u16x2 ? (isMin ? Operation::minPairU : Operation::maxPairU)
                                          : (isMin ? Operation::minPairS : Operation::maxPairS);
    else if (isRelu)
      operation = isMin ? Operation::minReluS32 : Operation::maxReluS32;
    else
      operation = plus(isMin ? Operation::minU16 : Operation::maxU16, integerIndex(type));
    break;
  }
  case Handler::dp4a:
  case Handler::dp2a:
    operation = handler == Handler::dp4a ? Operation::dp4a : Operation::dp2a;
    imm = (isSigned ? 1 : 0) | (isSignedType(instruction->type(1)) ? 2 : 0) | (isHigh ? 4 : 0);
    dBytes = 4;
    break;
  default:
    return unsupported("");
  }
  const uint32_t a = read(operands[1], type);
  const uint32_t b = operands.size() > 2 ? read(operands[2], type) : a;
  const uint32_t c = operands.size() > 3 ? readBytes(operands[3], dBytes) : a;
  const uint32_t d = write(operands[0], dBytes);
  Op &op = emit(operation);
  op.d = d, op.a = a, op.b = b, op.c = c, op.imm = imm;
  return Status();
}

Status Decoder::logic() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const unsigned width = widthIndex(bytes);
  unsigned aBytes = bytes, bBytes = bytes, cBytes = bytes, dBytes = bytes;
  Operation operation = Operation::nothing;
  uint64_t imm = 0;
  auto family = [&](Operation first) { return plus(first, bytes == 1 ? 3 : width); };
  switch (handler) {
  case Handler::logicAnd:
    operation = family(Operation::and16);
    break;
  case Handler::logicOr:
    operation = family(Operation::or16);
    break;
  case Handler::logicXor:
    operation = family(Operation::xor16);
    break;
  case Handler::logicNot:
    operation = family(Operation::not16);
    break;
  case Handler::cnot:
    operation = plus(Operation::cnot16, width);
    break;
  case Handler::popc:
    operation = plus(Operation::popc32, bytes == 8);
    dBytes = 4;
    break;
  case Handler::clz:
    operation = plus(Operation::clz32, bytes == 8);
    dBytes = 4;
    break;
  case Handler::brev:
    operation = plus(Operation::brev32, bytes == 8);
    break;
  case Handler::bfind:
    operation = plus(isSignedType(type) ? Operation::bfindS32 : Operation::bfindU32, bytes == 8);
    imm = instruction->has(Modifier::shiftamt);
    dBytes = 4;
    break;
  case Handler::bfe:
    operation = plus(isSignedType(type) ? Operation::bfeS32 : Operation::bfeU32, bytes == 8);
    bBytes = cBytes = 4;
    break;
  case Handler::bfi: {
    const uint32_t a = read(operands[1], type), b = read(operands[2], type);
    const uint32_t c = readBytes(operands[3], 4), e = readBytes(operands[4], 4);
    Op &op = emit(plus(Operation::bfi32, bytes == 8));
    op.d = write(operands[0], bytes), op.a = a, op.b = b, op.c = c, op.e = e;
    return Status();
  }
  case Handler::fns:
    operation = Operation::fns;
    break;
  case Handler::szext:
    operation = Operation::szext;
    imm = (isSignedType(type) ? 1 : 0) | (instruction->has(Modifier::clamp) ? 2 : 0);
    break;
  case Handler::bmsk:
    operation = Operation::bmsk;
    imm = instruction->has(Modifier::clamp);
    break;
  case Handler::prmt: {
    operation = Operation::prmt;
    static constexpr Modifier modes[] = {Modifier::f4e, Modifier::b4e, Modifier::rc8,
                                         Modifier::ecl, Modifier::ecr, Modifier::rc16};
    for (unsigned i = 0; i < 6; ++i)
      if (instruction->has(modes[i]))
        imm = i + 1;
    break;
  }
  case Handler::lop3: {
    const uint32_t a = read(operands[1], type), b = read(operands[2], type),
                   c = read(operands[3], type);
    const bool hasPredicate = operands.size() > 5;
    const uint32_t q = hasPredicate ? predicate(operands[5]) : 0;
    const std::span<const Operand> pair =
        operands[0].kind == OperandKind::pair ? source.elementsOf(operands[0]) : operands.first(1);
    const uint32_t d = write(pair[0], 4);
    const uint32_t e = pair.size() > 1 ? writePredicate(pair[1]) : 0;
    Op &op = emit(hasPredicate ? Operation::lop3Pred : Operation::lop3);
    op.d = d, op.a = a, op.b = b, op.c = c, op.e = e, op.f = q;
    op.imm = operands[4].value & 0xff;
    if (hasPredicate)
      op.imm |= (instruction->has(Modifier::opOr) ? 256 : 0) | (operands[5].negated ? 512 : 0);
    return Status();
  }
  default:
    return unsupported("");
  }
  const uint32_t a = readBytes(operands[1], aBytes);
  const uint32_t b = operands.size() > 2 ? readBytes(operands[2], bBytes) : a;
  const uint32_t c = operands.size() > 3 ? readBytes(operands[3], cBytes) : a;
  const uint32_t d = dBytes == 1 ? writePredicate(operands[0]) : write(operands[0], dBytes);
  Op &op = emit(operation);
  op.d = d, op.a = a, op.b = b, op.c = c, op.imm = imm;
  return Status();
}

Status Decoder::shift() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const uint32_t a = read(operands[1], type);
  const uint32_t b = readBytes(operands[2], 4);
  const uint32_t d = write(operands[0], bytes);
  if (handler == Handler::shf) {
    const uint32_t c = readBytes(operands[3], 4);
    Op &op = emit(Operation::shf);
    op.d = d, op.a = a, op.b = b, op.c = c;
    op.imm =
        (instruction->has(Modifier::right) ? 1 : 0) | (instruction->has(Modifier::clamp) ? 2 : 0);
    return Status();
  }
  Op &op = emit(handler == Handler::shl ? plus(Operation::shl16, widthIndex(bytes))
                                        : plus(Operation::shrU16, integerIndex(type)));
  op.d = d, op.a = a, op.b = b;
  return Status();
}

static Rounding roundingOf(const Instruction &instruction) {
  switch (instruction.find(ModifierKind::rounding)) {
  case Modifier::rz:
  case Modifier::rzi:
    return Rounding::zero;
  case Modifier::rm:
  case Modifier::rmi:
    return Rounding::down;
  case Modifier::rp:
  case Modifier::rpi:
    return Rounding::up;
  case Modifier::rna:
    return Rounding::nearestAway;
  default:
    return Rounding::nearest;
  }
}
uint64_t Decoder::floatForm() const {
  uint64_t form = static_cast<uint64_t>(roundingOf(*instruction));
  if (instruction->has(Modifier::ftz))
    form |= formFtz;
  if (instruction->has(Modifier::sat))
    form |= formSaturate;
  if (instruction->has(Modifier::nan))
    form |= formNan;
  if (instruction->has(Modifier::xorsign))
    form |= formXorSign;
  if (instruction->has(Modifier::relu))
    form |= formRelu;
  if (instruction->has(Modifier::oob))
    form |= formOob;
  return form;
}

Status Decoder::halfArithmetic(unsigned kind) {
  const Modifier type = instruction->type();
  const bool isBrain = type == Modifier::bf16 || type == Modifier::bf16x2;
  const bool isPair = ptx::bitsOf(type) == 32;
  const uint32_t a = read(operands[1], type);
  const uint32_t b = operands.size() > 2 ? read(operands[2], type) : a;
  const uint32_t c = operands.size() > 3 ? read(operands[3], type) : a;
  const uint32_t d = write(operands[0], registerBytes(type));
  Op &op = emit(isPair ? (isBrain ? Operation::pairBf16 : Operation::pairF16)
                       : (isBrain ? Operation::halfBf16 : Operation::halfF16));
  op.d = d, op.a = a, op.b = b, op.c = c;
  op.imm = floatForm() | uint64_t(kind) << 32;
  return Status();
}

Status Decoder::floating() {
  const Modifier type = instruction->type();
  const bool isDouble = type == Modifier::f64;
  if (type != Modifier::f32 && !isDouble) {
    switch (handler) {
    case Handler::addFloat:
      return halfArithmetic(unsigned(HalfOperation::add));
    case Handler::subFloat:
      return halfArithmetic(unsigned(HalfOperation::subtract));
    case Handler::mulFloat:
      return halfArithmetic(unsigned(HalfOperation::multiply));
    case Handler::fma:
      return halfArithmetic(unsigned(HalfOperation::fused));
    case Handler::minFloat:
      return halfArithmetic(unsigned(HalfOperation::minimum));
    case Handler::maxFloat:
      return halfArithmetic(unsigned(HalfOperation::maximum));
    case Handler::negFloat:
      return halfArithmetic(unsigned(HalfOperation::negate));
    case Handler::absFloat:
      return halfArithmetic(unsigned(HalfOperation::absolute));
    default:
      return unsupported("");
    }
  }
  const uint64_t form = handler == Handler::divApprox ? floatForm() & ~roundingMask : floatForm();
  // Rounding to nearest without modifiers has its own handler.
  const unsigned variant = (form == 0 ? 0 : 8) + (isDouble ? 4 : 0);
  Operation operation = Operation::nothing;
  switch (handler) {
  case Handler::addFloat:
    operation = plus(Operation::addF32, variant);
    break;
  case Handler::subFloat:
    operation = plus(Operation::subF32, variant);
    break;
  case Handler::mulFloat:
    operation = plus(Operation::mulF32, variant);
    break;
  case Handler::fma:
    operation = plus(Operation::fmaF32, variant);
    break;
  case Handler::divFloat:
  case Handler::divApprox:
    operation = plus(Operation::divF32, isDouble);
    break;
  case Handler::rcp:
    operation = plus(Operation::rcpF32, isDouble);
    break;
  case Handler::sqrt:
    operation = plus(Operation::sqrtF32, isDouble);
    break;
  case Handler::minFloat:
    operation = plus(Operation::minF32, isDouble);
    break;
  case Handler::maxFloat:
    operation = plus(Operation::maxF32, isDouble);
    break;
  case Handler::absFloat:
    operation = plus(Operation::absF32, isDouble);
    break;
  case Handler::negFloat:
    operation = plus(Operation::negF32, isDouble);
    break;
  default:
    operation = plus(Operation::copysignF32, isDouble);
    break;
  }
  const uint32_t a = read(operands[1], type);
  const uint32_t b = operands.size() > 2 ? read(operands[2], type) : a;
  const uint32_t c = operands.size() > 3 ? read(operands[3], type) : a;
  const uint32_t d = write(operands[0], registerBytes(type));
  Op &op = emit(operation);
  op.d = d, op.a = a, op.b = b, op.c = c, op.imm = form;
  return Status();
}

Status Decoder::approximation() {
  const Modifier type = instruction->type();
  Approximation which = Approximation::tanh;
  switch (handler) {
  case Handler::rcpApprox:
    which = Approximation::rcp;
    break;
  case Handler::sqrtApprox:
    which = Approximation::sqrt;
    break;
  case Handler::rsqrtApprox:
    which = Approximation::rsqrt;
    break;
  case Handler::sinApprox:
    which = Approximation::sin;
    break;
  case Handler::cosApprox:
    which = Approximation::cos;
    break;
  case Handler::lg2Approx:
    which = Approximation::lg2;
    break;
  case Handler::ex2Approx:
    which = Approximation::ex2;
    break;
  default:
    break;
  }
  if (type != Modifier::f32 && type != Modifier::f64)
    return halfArithmetic(
        unsigned(which == Approximation::ex2 ? HalfOperation::ex2 : HalfOperation::tanh));
  const uint32_t a = read(operands[1], type);
  const uint32_t d = write(operands[0], registerBytes(type));
  Op &op = emit(type == Modifier::f64 ? Operation::approxF64 : Operation::approxF32);
  op.d = d, op.a = a, op.b = a;
  op.imm = floatForm() | uint64_t(which) << 32;
  return Status();
}

/// Composes a comparison from ==, <, <= and "both are numbers"; see Bits.cpp.
static bool comparisonForm(Modifier compare, bool isFloat, uint64_t &form, bool &isSwapped,
                           unsigned &base) {
  constexpr uint64_t opposite = 1, andNumbers = 2, orNan = 4;
  form = 0;
  isSwapped = false;
  switch (compare) {
  case Modifier::eq:
    base = 0;
    return true;
  case Modifier::ne:
    base = 0;
    form = isFloat ? opposite | andNumbers : opposite;
    return true;
  case Modifier::lt:
  case Modifier::lo:
    base = 1;
    return true;
  case Modifier::le:
  case Modifier::ls:
    base = 2;
    return true;
  case Modifier::gt:
  case Modifier::hi:
    base = 1;
    isSwapped = true;
    return true;
  case Modifier::ge:
  case Modifier::hs:
    base = 2;
    isSwapped = true;
    return true;
  case Modifier::equ:
    base = 0;
    form = orNan;
    return true;
  case Modifier::neu:
    base = 0;
    form = opposite;
    return true;
  case Modifier::ltu:
  case Modifier::gtu:
    base = 1;
    form = orNan;
    isSwapped = compare == Modifier::gtu;
    return true;
  case Modifier::leu:
  case Modifier::geu:
    base = 2;
    form = orNan;
    isSwapped = compare == Modifier::geu;
    return true;
  case Modifier::num:
    base = 3;
    return true;
  case Modifier::isNan:
    base = 3;
    form = opposite;
    return true;
  default:
    return false;
  }
}

Status Decoder::setp(uint32_t first, uint32_t second, Modifier type, const Operand &a,
                     const Operand &b, const Operand *combine) {
  const ptx::TypeCategory category = ptx::categoryOf(type);
  const bool isFloat = category == ptx::TypeCategory::floating ||
                       category == ptx::TypeCategory::packedFloat ||
                       category == ptx::TypeCategory::bitsOfFloat;
  Modifier compare = instruction->find(ModifierKind::compare);
  if (compare == Modifier::none) // .lo and .hi have the modifier kind of mul.lo and mul.hi
    compare = instruction->has(Modifier::lo) ? Modifier::lo : Modifier::hi;
  uint64_t form = 0;
  bool isSwapped = false;
  unsigned base = 0;
  if (!comparisonForm(compare, isFloat, form, isSwapped, base))
    return unsupported("");
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
  op.a = isSwapped ? y : x, op.b = isSwapped ? x : y;
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
    if (operands[0].kind == OperandKind::pair) {
      const std::span<const Operand> both = source.elementsOf(operands[0]);
      return setp(writePredicate(both[0]), writePredicate(both[1]), instruction->type(),
                  operands[1], operands[2], combine);
    }
    return setp(writePredicate(operands[0]), temporary(2), instruction->type(), operands[1],
                operands[2], combine);
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

static bool isFloatType(Modifier type) {
  const ptx::TypeCategory category = ptx::categoryOf(type);
  return category == ptx::TypeCategory::floating || category == ptx::TypeCategory::packedFloat ||
         category == ptx::TypeCategory::bitsOfFloat;
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

} // namespace tilewright::vgpu::machine
