// Integer and float arithmetic, logic and shifts.
#include "tilewright/vgpu/machine/decode/Decoder.h"

#include <algorithm>

namespace tilewright::vgpu::machine {

using ptx::Handler;
using ptx::ModifierKind;

/// The index of a type in families of handlers with the order U16 U32 U64 S16 S32 S64.
static unsigned integerIndex(Modifier type) {
  return widthIndex(registerBytes(type)) + (isSignedType(type) ? 3 : 0);
}
static bool isPairOfIntegers(Modifier type) {
  return type == Modifier::u16x2 || type == Modifier::s16x2;
}

Status Decoder::integer() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const unsigned width = widthIndex(bytes);
  const bool isHigh = instruction->has(Modifier::hi);
  const bool isSaturated = instruction->has(Modifier::sat);
  const bool isSigned = isSignedType(type);
  unsigned dBytes = bytes;
  Operation operation = Operation::nothing;
  uint64_t imm = 0;
  switch (handler) {
  case Handler::add:
    operation = isPairOfIntegers(type) ? Operation::addPair
                : isSaturated          ? Operation::addSatS32
                                       : plus(Operation::add16, width);
    break;
  case Handler::sub:
    operation = isSaturated ? Operation::subSatS32 : plus(Operation::sub16, width);
    break;
  case Handler::mul:
    operation =
        isHigh ? plus(Operation::mulHiU16, integerIndex(type)) : plus(Operation::mulLo16, width);
    break;
  case Handler::mulWide:
    operation = plus(Operation::mulWideU16, width + (isSigned ? 2 : 0));
    dBytes = 2 * bytes;
    break;
  case Handler::mad:
    operation = isSaturated ? Operation::madHiSatS32
                : isHigh    ? plus(Operation::madHiU16, integerIndex(type))
                            : plus(Operation::madLo16, width);
    break;
  case Handler::madWide:
    operation = plus(Operation::madWideU16, width + (isSigned ? 2 : 0));
    dBytes = 2 * bytes;
    break;
  case Handler::mul24:
  case Handler::mad24:
    operation = isSigned ? Operation::mul24S : Operation::mul24U;
    imm = (isHigh ? 1 : 0) | (handler == Handler::mad24 ? 2 : 0) | (isSaturated ? 4 : 0);
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
  default:
    return unsupported("");
  }
  return emitOperands(operation, {.d = dBytes, .a = bytes, .b = bytes, .c = dBytes}, imm);
}

/// Multi-word addition and subtraction: addc, subc and madc read the carry flag, .cc writes it.
Status Decoder::carry() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const Operation first = handler == Handler::addCarry      ? Operation::addCarry32
                          : handler == Handler::subCarry    ? Operation::subCarry32
                          : !instruction->has(Modifier::hi) ? Operation::madCarryLo32
                          : isSignedType(type)              ? Operation::madCarryHiS32
                                                            : Operation::madCarryHiU32;
  const bool readsCarry = ptx::rowOf(*instruction).opcode.back() == 'c';
  const bool writesCarry = instruction->has(Modifier::cc);
  return emitOperands(plus(first, bytes == 8), OperandBytes::all(bytes),
                      (readsCarry ? 1 : 0) | (writesCarry ? 2 : 0));
}

Status Decoder::minMax() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const bool isMin = handler == Handler::min;
  const bool isRelu = instruction->has(Modifier::relu);
  Operation operation = plus(isMin ? Operation::minU16 : Operation::maxU16, integerIndex(type));
  if (isPairOfIntegers(type))
    operation = type == Modifier::u16x2 ? (isMin ? Operation::minPairU : Operation::maxPairU)
                                        : (isMin ? Operation::minPairS : Operation::maxPairS);
  else if (isRelu)
    operation = isMin ? Operation::minReluS32 : Operation::maxReluS32;
  return emitOperands(operation, OperandBytes::all(bytes), isRelu);
}

Status Decoder::dotProduct() {
  const uint64_t imm = (isSignedType(instruction->type(0)) ? 1 : 0) |
                       (isSignedType(instruction->type(1)) ? 2 : 0) |
                       (instruction->has(Modifier::hi) ? 4 : 0);
  return emitOperands(handler == Handler::dp4a ? Operation::dp4a : Operation::dp2a,
                      OperandBytes::all(4), imm);
}

Status Decoder::logic() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const unsigned width = widthIndex(bytes);
  OperandBytes widths = OperandBytes::all(bytes);
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
    widths.d = 4;
    break;
  case Handler::clz:
    operation = plus(Operation::clz32, bytes == 8);
    widths.d = 4;
    break;
  case Handler::brev:
    operation = plus(Operation::brev32, bytes == 8);
    break;
  case Handler::bfind:
    operation = plus(isSignedType(type) ? Operation::bfindS32 : Operation::bfindU32, bytes == 8);
    imm = instruction->has(Modifier::shiftamt);
    widths.d = 4;
    break;
  case Handler::bfe:
    operation = plus(isSignedType(type) ? Operation::bfeS32 : Operation::bfeU32, bytes == 8);
    widths.b = widths.c = 4;
    break;
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
  default:
    return unsupported("");
  }
  return emitOperands(operation, widths, imm);
}

Status Decoder::insertField() {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const uint32_t a = read(operands[1], type), b = read(operands[2], type);
  const uint32_t c = readBytes(operands[3], 4), e = readBytes(operands[4], 4);
  Op &op = emit(plus(Operation::bfi32, bytes == 8));
  op.d = write(operands[0], bytes), op.a = a, op.b = b, op.c = c, op.e = e;
  return Status();
}

Status Decoder::lop3() {
  const Modifier type = instruction->type();
  const uint32_t a = read(operands[1], type), b = read(operands[2], type),
                 c = read(operands[3], type);
  const bool hasPredicate = operands.size() > 5;
  const uint32_t q = hasPredicate ? predicate(operands[5]) : 0;
  const std::span<const Operand> results = partsOf(operands[0]);
  const uint32_t d = write(results[0], 4);
  const uint32_t e = results.size() > 1 ? writePredicate(results[1]) : 0;
  Op &op = emit(hasPredicate ? Operation::lop3Pred : Operation::lop3);
  op.d = d, op.a = a, op.b = b, op.c = c, op.e = e, op.f = q;
  op.imm = operands[4].value & 0xff;
  if (hasPredicate)
    op.imm |= (instruction->has(Modifier::opOr) ? 256 : 0) | (operands[5].negated ? 512 : 0);
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

Rounding roundingOf(const Instruction &instruction) {
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
  static constexpr std::pair<Modifier, uint64_t> bits[] = {
      {Modifier::ftz, formFtz},         {Modifier::sat, formSaturate}, {Modifier::nan, formNan},
      {Modifier::xorsign, formXorSign}, {Modifier::relu, formRelu},    {Modifier::oob, formOob}};
  uint64_t form = static_cast<uint64_t>(roundingOf(*instruction));
  for (auto [modifier, bit] : bits)
    if (instruction->has(modifier))
      form |= bit;
  return form;
}

Status Decoder::halfArithmetic(HalfOperation operation) {
  const Modifier type = instruction->type();
  const unsigned bytes = registerBytes(type);
  const bool isBrain = type == Modifier::bf16 || type == Modifier::bf16x2;
  const bool isPair = ptx::bitsOf(type) == 32;
  return emitOperands(isPair ? (isBrain ? Operation::pairBf16 : Operation::pairF16)
                             : (isBrain ? Operation::halfBf16 : Operation::halfF16),
                      OperandBytes::all(bytes), floatForm() | uint64_t(operation) << 32);
}

namespace {
/// The operations of a float instruction: the one for f32, and the one for f16 and bf16 if the
/// instruction has these types.
struct FloatFamily {
  Handler handler;
  Operation first;
  bool hasPlain = false; // whether rounding to nearest without modifiers has its own operation
  std::optional<HalfOperation> half = std::nullopt;
};
} // namespace

static const FloatFamily &familyOf(Handler handler) {
  static constexpr FloatFamily families[] = {
      {Handler::addFloat, Operation::addF32, true, HalfOperation::add},
      {Handler::subFloat, Operation::subF32, true, HalfOperation::subtract},
      {Handler::mulFloat, Operation::mulF32, true, HalfOperation::multiply},
      {Handler::fma, Operation::fmaF32, true, HalfOperation::fused},
      {Handler::minFloat, Operation::minF32, false, HalfOperation::minimum},
      {Handler::maxFloat, Operation::maxF32, false, HalfOperation::maximum},
      {Handler::absFloat, Operation::absF32, false, HalfOperation::absolute},
      {Handler::negFloat, Operation::negF32, false, HalfOperation::negate},
      {Handler::divFloat, Operation::divF32},
      {Handler::divApprox, Operation::divF32},
      {Handler::rcp, Operation::rcpF32},
      {Handler::sqrt, Operation::sqrtF32},
      {Handler::copysign, Operation::copysignF32},
  };
  return *std::ranges::find(families, handler, &FloatFamily::handler);
}

/// min and max of three f32: the first two, then the third.
Status Decoder::extremeOfThree(Operation operation, uint64_t form) {
  uint32_t terms[3];
  for (size_t i = 0; i < 3; ++i) {
    terms[i] = readBytes(operands[1 + i], 4);
    if (!instruction->has(Modifier::absolute))
      continue;
    const uint32_t magnitude = temporary(4);
    Op &op = emit(Operation::absF32);
    op.d = magnitude, op.a = terms[i], op.imm = form;
    terms[i] = magnitude;
  }
  const uint32_t first = temporary(4), d = write(operands[0], 4);
  Op &two = emit(operation);
  two.d = first, two.a = terms[0], two.b = terms[1], two.imm = form;
  Op &three = emit(operation);
  three.d = d, three.a = first, three.b = terms[2], three.imm = form;
  return Status();
}

/// Arithmetic of two f32 in 64 bits: on each half.
Status Decoder::pairOfFloats(Operation operation) {
  uint32_t halves[3][2];
  const size_t inputs = operands.size() - 1;
  for (size_t i = 0; i < inputs; ++i) {
    const uint32_t whole = readBytes(operands[1 + i], 8);
    halves[i][0] = temporary(4), halves[i][1] = temporary(4);
    Op &op = emit(Operation::unpack64);
    op.d = halves[i][0], op.e = halves[i][1], op.a = whole;
  }
  uint32_t results[2];
  for (size_t half = 0; half < 2; ++half) {
    results[half] = temporary(4);
    Op &op = emit(operation);
    op.d = results[half], op.a = halves[0][half], op.b = halves[1][half];
    op.c = inputs > 2 ? halves[2][half] : op.a;
    op.imm = floatForm();
  }
  const uint32_t d = write(operands[0], 8);
  Op &op = emit(Operation::pack64);
  op.d = d, op.a = results[0], op.b = results[1];
  return Status();
}

/// Arithmetic of f32 whose operands but the last are `narrow`: these are widened first.
Status Decoder::mixedFloats(Operation operation, Modifier narrow) {
  uint32_t terms[3];
  const size_t inputs = operands.size() - 1;
  for (size_t i = 0; i + 1 < inputs; ++i) {
    const uint32_t from = readBytes(operands[1 + i], 2);
    terms[i] = temporary(4);
    Op &op = emit(narrow == Modifier::bf16 ? Operation::bf16toF32 : Operation::f16toF32);
    op.d = terms[i], op.a = from;
  }
  terms[inputs - 1] = readBytes(operands[inputs], 4);
  const uint32_t d = write(operands[0], 4);
  Op &op = emit(operation);
  op.d = d, op.a = terms[0], op.b = terms[1], op.c = inputs > 2 ? terms[2] : terms[0];
  op.imm = floatForm();
  return Status();
}

Status Decoder::floating() {
  const FloatFamily &family = familyOf(handler);
  const Modifier type = instruction->type();
  const bool isDouble = type == Modifier::f64;
  if (type == Modifier::f32x2)
    return pairOfFloats(plus(family.first, floatForm() == 0 ? 0 : 8));
  if (const Modifier narrow = instruction->type(1);
      narrow == Modifier::f16 || narrow == Modifier::bf16)
    return mixedFloats(plus(family.first, floatForm() == 0 ? 0 : 8), narrow);
  if (type != Modifier::f32 && !isDouble)
    return family.half ? halfArithmetic(*family.half) : unsupported("");
  const uint64_t form = handler == Handler::divApprox ? floatForm() & ~roundingMask : floatForm();
  // Float.def lists the operations of a family in this order.
  const unsigned index =
      family.hasPlain ? (form == 0 ? 0 : 8) + (isDouble ? 4 : 0) : unsigned(isDouble);
  const bool isExtreme = handler == Handler::minFloat || handler == Handler::maxFloat;
  if (isExtreme && operands.size() == 4)
    return extremeOfThree(plus(family.first, index), form);
  const unsigned bytes = registerBytes(type);
  return emitOperands(plus(family.first, index), OperandBytes::all(bytes), form);
}

Status Decoder::approximation() {
  static constexpr std::pair<Handler, Approximation> table[] = {
      {Handler::rcpApprox, Approximation::rcp},     {Handler::sqrtApprox, Approximation::sqrt},
      {Handler::rsqrtApprox, Approximation::rsqrt}, {Handler::sinApprox, Approximation::sin},
      {Handler::cosApprox, Approximation::cos},     {Handler::lg2Approx, Approximation::lg2},
      {Handler::ex2Approx, Approximation::ex2},     {Handler::tanhApprox, Approximation::tanh}};
  const Approximation which =
      std::ranges::find(table, handler, &std::pair<Handler, Approximation>::first)->second;
  const Modifier type = instruction->type();
  if (type != Modifier::f32 && type != Modifier::f64)
    return halfArithmetic(which == Approximation::ex2 ? HalfOperation::ex2 : HalfOperation::tanh);
  const unsigned bytes = registerBytes(type);
  return emitOperands(type == Modifier::f64 ? Operation::approxF64 : Operation::approxF32,
                      OperandBytes::all(bytes), floatForm() | uint64_t(which) << 32);
}

} // namespace tilewright::vgpu::machine
