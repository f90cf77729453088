#include "tilewright/target/gpu/thread/ThreadBuilder.h"

#include "tilewright/dialect/lane/LaneDialect.h"
#include "tilewright/target/lanes/Lanes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tilewright::gpu {

unsigned bitsOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return unsigned(vector.getNumElements()) * vector.getElementTypeBitWidth();
  return type.getIntOrFloatBitWidth();
}

ThreadBuilder::ThreadBuilder(ModuleOp module, const Machine &machine)
    : op(module.getContext()), module(module), machine(machine), i1Type(op.getI1Type()),
      i8Type(op.getI8Type()), i16Type(op.getI16Type()), i32Type(op.getI32Type()),
      i64Type(op.getI64Type()), f16Type(op.getF16Type()), bf16Type(op.getBF16Type()),
      f32Type(op.getF32Type()), location(op.getUnknownLoc()) {}

// --- Functions and blocks ---

LLVM::LLVMFuncOp ThreadBuilder::beginKernel(StringRef name, ArrayRef<Type> parameters) {
  op.setInsertionPointToEnd(module.getBody());
  constants.clear();
  poisons.clear();
  function = LLVM::LLVMFuncOp::create(
      op, location, name,
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(op.getContext()), parameters));
  Block *entry = function.addEntryBlock(op);
  Block *body = newBlock();
  moveTo(entry);
  branch(body);
  moveTo(body);
  return function;
}

Block *ThreadBuilder::newBlock(ArrayRef<Type> arguments) {
  auto *made = new Block;
  function.getBody().push_back(made);
  for (Type type : arguments)
    made->addArgument(type, location);
  return made;
}

void ThreadBuilder::moveToEntry() {
  op.setInsertionPoint(function.getBody().front().getTerminator());
}

void ThreadBuilder::branch(Block *to, ArrayRef<Value> arguments) {
  LLVM::BrOp::create(op, location, arguments, to);
}

void ThreadBuilder::branchIf(Value condition, Block *then, Block *otherwise,
                             ArrayRef<Value> thenArguments, ArrayRef<Value> elseArguments) {
  LLVM::CondBrOp::create(op, location, condition, then, thenArguments, otherwise, elseArguments);
}

void ThreadBuilder::ret() { LLVM::ReturnOp::create(op, location, ValueRange()); }

// --- Types ---

Type ThreadBuilder::structOf(ArrayRef<Type> types) {
  return LLVM::LLVMStructType::getLiteral(op.getContext(), types);
}

Type ThreadBuilder::pointerIn(unsigned space) {
  return LLVM::LLVMPointerType::get(op.getContext(), space);
}

Type ThreadBuilder::computeType(Type element) { return lane::registerType(element); }

Type ThreadBuilder::storageType(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  if (element.isF32() || element.isF64())
    return element;
  return intType(unsigned(lanes::storageBytes(element)) * 8);
}

// --- Constants ---

template <typename Make> Value ThreadBuilder::atStart(Make make) {
  OpBuilder::InsertionGuard guard(op);
  op.setInsertionPointToStart(&function.getBody().front());
  return make();
}

Value ThreadBuilder::constant(TypedAttr value) {
  Value &known = constants[value];
  if (!known)
    known = atStart([&] { return LLVM::ConstantOp::create(op, location, value).getResult(); });
  return known;
}

Value ThreadBuilder::integer(Type type, int64_t value) {
  return integer(type, APInt(64, uint64_t(value), true).sextOrTrunc(bitsOf(type)));
}

Value ThreadBuilder::integer(Type type, const APInt &value) {
  return constant(IntegerAttr::get(type, value));
}

Value ThreadBuilder::real(Type type, double value) { return constant(FloatAttr::get(type, value)); }

Value ThreadBuilder::zero(Type type) {
  return isa<FloatType>(type) ? real(type, 0.0) : integer(type, 0);
}

Value ThreadBuilder::poisonOf(Type type) {
  Value &known = poisons[type];
  if (!known)
    known = atStart([&] { return LLVM::PoisonOp::create(op, location, type).getResult(); });
  return known;
}

Lanes ThreadBuilder::poison(Type element) {
  Value value = poisonOf(computeType(element));
  return {value, isComplex(element) ? value : nullptr};
}

// --- Integers ---

template <typename Op> Value ThreadBuilder::binary(Value a, Value b) {
  return Op::create(op, location, a, b);
}

Value ThreadBuilder::add(Value a, Value b, IntegerOverflowFlags flags) {
  return LLVM::AddOp::create(op, location, a, b, flags);
}
Value ThreadBuilder::sub(Value a, Value b) { return binary<LLVM::SubOp>(a, b); }
Value ThreadBuilder::mul(Value a, Value b, IntegerOverflowFlags flags) {
  return LLVM::MulOp::create(op, location, a, b, flags);
}
Value ThreadBuilder::udiv(Value a, Value b) { return binary<LLVM::UDivOp>(a, b); }
Value ThreadBuilder::urem(Value a, Value b) { return binary<LLVM::URemOp>(a, b); }
Value ThreadBuilder::sdiv(Value a, Value b) { return binary<LLVM::SDivOp>(a, b); }
Value ThreadBuilder::srem(Value a, Value b) { return binary<LLVM::SRemOp>(a, b); }
Value ThreadBuilder::bitAnd(Value a, Value b) { return binary<LLVM::AndOp>(a, b); }
Value ThreadBuilder::bitOr(Value a, Value b) { return binary<LLVM::OrOp>(a, b); }
Value ThreadBuilder::bitXor(Value a, Value b) { return binary<LLVM::XOrOp>(a, b); }
Value ThreadBuilder::shl(Value a, Value count) { return binary<LLVM::ShlOp>(a, count); }
Value ThreadBuilder::lshr(Value a, Value count) { return binary<LLVM::LShrOp>(a, count); }

Value ThreadBuilder::compare(LLVM::ICmpPredicate predicate, Value a, Value b) {
  return LLVM::ICmpOp::create(op, location, predicate, a, b);
}

Value ThreadBuilder::select(Value condition, Value a, Value b) {
  return LLVM::SelectOp::create(op, location, condition, a, b);
}

Lanes ThreadBuilder::select(Value condition, Lanes a, Lanes b) {
  return {select(condition, a.value, b.value),
          a.imag ? select(condition, a.imag, b.imag) : nullptr};
}

// --- Conversions ---

template <typename Op> Value ThreadBuilder::convert(Value value, Type type) {
  return value.getType() == type ? value : Op::create(op, location, type, value).getResult();
}

Value ThreadBuilder::trunc(Value value, Type type) { return convert<LLVM::TruncOp>(value, type); }
Value ThreadBuilder::zext(Value value, Type type, bool isNonNegative) {
  return value.getType() == type
             ? value
             : LLVM::ZExtOp::create(op, location, type, value, isNonNegative).getResult();
}
Value ThreadBuilder::sext(Value value, Type type) { return convert<LLVM::SExtOp>(value, type); }
Value ThreadBuilder::zextOrTrunc(Value value, Type type) {
  return bitsOf(value.getType()) < bitsOf(type) ? zext(value, type) : trunc(value, type);
}
Value ThreadBuilder::sextOrTrunc(Value value, Type type) {
  return bitsOf(value.getType()) < bitsOf(type) ? sext(value, type) : trunc(value, type);
}
Value ThreadBuilder::bitcast(Value value, Type type) {
  return convert<LLVM::BitcastOp>(value, type);
}
Value ThreadBuilder::fpext(Value value, Type type) { return convert<LLVM::FPExtOp>(value, type); }
Value ThreadBuilder::generic(Value pointer) {
  return LLVM::AddrSpaceCastOp::create(op, location, pointerIn(0), pointer);
}

Value ThreadBuilder::ptrToInt(Value pointer, Type type) {
  return convert<LLVM::PtrToIntOp>(pointer, type);
}

Value ThreadBuilder::sharedPointer(Value address, unsigned space) {
  return convert<LLVM::IntToPtrOp>(address, pointerIn(space));
}

// --- Aggregates ---

Value ThreadBuilder::extractValue(Value aggregate, unsigned index) {
  return LLVM::ExtractValueOp::create(op, location, aggregate, int64_t(index));
}
Value ThreadBuilder::extractElement(Value vector, unsigned index) {
  return LLVM::ExtractElementOp::create(op, location, vector, i64(index));
}
Value ThreadBuilder::insertElement(Value vector, Value element, unsigned index) {
  return LLVM::InsertElementOp::create(op, location, vector, element, i64(index));
}

// --- Memory ---

Value ThreadBuilder::advance(Value pointer, Value bytes) {
  return elementOf(pointer, i8Type, bytes);
}

Value ThreadBuilder::advance(Value pointer, int64_t bytes, bool isInBounds) {
  return LLVM::GEPOp::create(
      op, location, pointer.getType(), i8Type, pointer, ArrayRef<Value>{i64(bytes)},
      isInBounds ? LLVM::GEPNoWrapFlags::inbounds : LLVM::GEPNoWrapFlags::none);
}

Value ThreadBuilder::elementOf(Value pointer, Type element, Value index) {
  return LLVM::GEPOp::create(op, location, pointer.getType(), element, pointer,
                             ArrayRef<Value>{index});
}

Value ThreadBuilder::load(Type type, Value pointer, unsigned alignment) {
  return LLVM::LoadOp::create(op, location, type, pointer, alignment);
}

void ThreadBuilder::store(Value value, Value pointer, unsigned alignment) {
  LLVM::StoreOp::create(op, location, value, pointer, alignment);
}

Value ThreadBuilder::variable(Type type) {
  OpBuilder::InsertionGuard guard(op);
  moveToEntry();
  return LLVM::AllocaOp::create(op, location, pointerIn(machine.limits.variableSpace), type,
                                i32(1));
}

// --- Instructions ---

Value ThreadBuilder::intrinsic(Type type, StringRef name, ArrayRef<Value> operands) {
  StringAttr symbol = op.getStringAttr(name);
  if (type)
    return LLVM::CallIntrinsicOp::create(op, location, type, symbol, operands).getResult(0);
  LLVM::CallIntrinsicOp::create(op, location, symbol, operands);
  return nullptr;
}

LLVM::InlineAsmOp ThreadBuilder::makeAssembly(Type type, StringRef text, StringRef constraints,
                                              ArrayRef<Value> operands, bool hasEffects) {
  return LLVM::InlineAsmOp::create(
      op, location, type ? TypeRange(type) : TypeRange(), operands, text, constraints, hasEffects,
      /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(op.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/nullptr);
}

static Value resultOf(LLVM::InlineAsmOp assembly) {
  return assembly->getNumResults() ? assembly->getResult(0) : Value();
}

Value ThreadBuilder::call(Type type, StringRef name, ArrayRef<Value> operands) {
  auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!callee) {
    OpBuilder::InsertionGuard guard(op);
    op.setInsertionPointToStart(module.getBody());
    SmallVector<Type> types;
    for (Value operand : operands)
      types.push_back(operand.getType());
    Type result = type ? type : LLVM::LLVMVoidType::get(op.getContext());
    callee = LLVM::LLVMFuncOp::create(op, op.getUnknownLoc(), name,
                                      LLVM::LLVMFunctionType::get(result, types));
    callee.setConvergent(true);
  }
  auto made = LLVM::CallOp::create(op, location, callee, operands);
  made.setConvergent(true);
  return type ? made.getResult() : Value();
}

Value ThreadBuilder::assembly(Type type, const Twine &text, const Twine &constraints,
                              ArrayRef<Value> operands) {
  auto made = makeAssembly(type, text.str(), constraints.str(), operands, /*hasEffects=*/true);
  made->setAttr(lane::convergentAttr, op.getUnitAttr());
  return resultOf(made);
}

Value ThreadBuilder::plainAssembly(Type type, std::string_view text, std::string_view constraints,
                                   ArrayRef<Value> operands) {
  return resultOf(makeAssembly(type, text, constraints, operands, /*hasEffects=*/true));
}

Value ThreadBuilder::pureAssembly(Type type, std::string_view text, std::string_view constraints,
                                  ArrayRef<Value> operands) {
  auto made = makeAssembly(type, text, constraints, operands, /*hasEffects=*/false);
  made->setAttr(lane::convergentAttr, op.getUnitAttr());
  return resultOf(made);
}

// --- Scalar code ---

Value ThreadBuilder::decode(Value stored, Type element) {
  Type type = computeType(element);
  if (stored.getType() == type && element == type)
    return stored;
  return lane::DecodeOp::create(op, location, type, stored, element);
}

Value ThreadBuilder::encode(Value value, Type element) {
  Type type = storageType(element);
  if (value.getType() == type && element == type)
    return value;
  return lane::EncodeOp::create(op, location, type, value, element);
}

Value ThreadBuilder::narrow(Value value, Type type) {
  return lane::EncodeOp::create(op, location, type, value, type);
}

static void flatten(ArrayRef<Lanes> elements, SmallVectorImpl<Value> &flat) {
  for (Lanes lanes : elements) {
    flat.push_back(lanes.value);
    if (lanes.imag)
      flat.push_back(lanes.imag);
  }
}

SmallVector<SmallVector<Lanes, 2>>
ThreadBuilder::applyEach(Block &body, ArrayRef<SmallVector<Lanes>> applications) {
  Operation *end = body.getTerminator();
  SmallVector<Value> operands;
  for (const SmallVector<Lanes> &arguments : applications)
    flatten(arguments, operands);
  SmallVector<Type> types;
  for (size_t i = 0; i < applications.size(); ++i)
    for (Type element : end->getOperandTypes())
      types.append(lane::registersOf(element), computeType(element));
  auto map = lane::MapOp::create(op, location, types, operands);
  {
    OpBuilder::InsertionGuard guard(op);
    Block *block = op.createBlock(&map.getBody());
    IRMapping mapping;
    for (BlockArgument argument : body.getArguments())
      mapping.map(argument, block->addArgument(argument.getType(), argument.getLoc()));
    for (Operation &inner : body.without_terminator())
      op.clone(inner, mapping);
    SmallVector<Value> yielded;
    for (Value value : end->getOperands())
      yielded.push_back(mapping.lookupOrDefault(value));
    lane::YieldOp::create(op, location, yielded);
  }
  SmallVector<SmallVector<Lanes, 2>> results(applications.size());
  unsigned at = 0;
  for (SmallVector<Lanes, 2> &application : results)
    for (Type element : end->getOperandTypes()) {
      Lanes lanes{map.getResult(at++)};
      if (isComplex(element))
        lanes.imag = map.getResult(at++);
      application.push_back(lanes);
    }
  return results;
}

SmallVector<Lanes, 2> ThreadBuilder::apply(Block &body, ArrayRef<Lanes> arguments) {
  const SmallVector<Lanes> once(arguments);
  return applyEach(body, ArrayRef<SmallVector<Lanes>>(once)).front();
}

SmallVector<Lanes, 2> ThreadBuilder::applyOp(Operation *scalar, ArrayRef<Lanes> operands) {
  // The op alone in a block, with its operands as arguments.
  Block body;
  IRMapping mapping;
  OpBuilder::InsertionGuard guard(op);
  SmallVector<Value> arguments;
  for (Value operand : scalar->getOperands())
    arguments.push_back(body.addArgument(operand.getType(), operand.getLoc()));
  const OpBuilder::InsertPoint here = op.saveInsertionPoint();
  op.setInsertionPointToStart(&body);
  Operation *copy = op.clone(*scalar);
  copy->setOperands(arguments);
  lane::YieldOp::create(op, location, copy->getResults());
  op.restoreInsertionPoint(here);
  SmallVector<Lanes, 2> results = apply(body, operands);
  return results;
}

Value ThreadBuilder::affine(AffineExpr expr, ArrayRef<Value> dims, ArrayRef<Value> symbols) {
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return i64(number.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto both = cast<AffineBinaryOpExpr>(expr);
  Value left = affine(both.getLHS(), dims, symbols);
  Value right = affine(both.getRHS(), dims, symbols);
  if (expr.getKind() == AffineExprKind::Add)
    return add(left, right);
  if (expr.getKind() == AffineExprKind::Mul)
    return mul(left, right);
  Value remainder = srem(left, right);
  remainder = select(less(remainder, i64(0)), add(remainder, right), remainder);
  if (expr.getKind() == AffineExprKind::Mod)
    return remainder;
  Value quotient = sdiv(sub(left, remainder), right);
  if (expr.getKind() == AffineExprKind::FloorDiv)
    return quotient;
  return add(quotient, zext(notEqual(remainder, i64(0)), i64Type));
}

} // namespace tilewright::gpu
