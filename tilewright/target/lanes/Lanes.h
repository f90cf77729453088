// Lanes: how each element type is represented in registers and in memory.
#ifndef TILEWRIGHT_TARGET_LANES_LANES_H
#define TILEWRIGHT_TARGET_LANES_LANES_H

#include "tilewright/numerics/ElementType.h"
#include "tilewright/support/Errors.h"
#include "tilewright/support/Status.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

#include <functional>
#include <optional>

namespace tilewright::lanes {

/// One element, or one per lane of a vector. Integers (pred is i1, index is i64), f32 and f64 have
/// their own types. Every smaller float is an f32 whose value the small type can represent, so that
/// a chain of operations converts once at the start and rounds after each operation. A complex
/// number is two values.
struct Lanes {
  llvm::Value *value = nullptr; // of a complex number, the real part
  llvm::Value *imag = nullptr;
};

/// The instruction set properties that the code for elements depends on.
struct Machine {
  /// a * b + c in one rounding.
  bool hasFma = false;
  /// Instructions that convert between f16 or bf16 and f32, rounding to nearest even.
  bool hasHalf = false, hasBfloat = false;
  /// Gathers exist for elements of four bytes or more.
  bool hasGather = false;
  /// Masked loads and stores of every element width cost the same as plain ones.
  bool hasMasks = false;
  /// Code may call the C library's math functions and the runtime's scalar table
  /// (`tw_scalar_call`). Otherwise everything is emitted inline, or rejected with the error
  /// `refusal`.
  bool hasLibrary = false;
  /// The intrinsic for 2^x of f32 with an error of 2 ulp, in which subnormal numbers are 0; 0 if
  /// there is none. Ops that may approximate (`afn`) use it.
  llvm::Intrinsic::ID fastExp2 = llvm::Intrinsic::not_intrinsic;
  /// Intrinsics of f32 for ops that may approximate (`afn`): a / b within 2 ulp, and 1 / sqrt(x).
  llvm::Intrinsic::ID fastDivide = llvm::Intrinsic::not_intrinsic;
  llvm::Intrinsic::ID fastRsqrt = llvm::Intrinsic::not_intrinsic;
  /// 1 / x of f32 within 1 ulp if x and the result are normal. Divisions that may multiply with a
  /// reciprocal (`arcp`) use it.
  llvm::Intrinsic::ID fastReciprocal = llvm::Intrinsic::not_intrinsic;
  /// f32 clamped to [0, 1], where NaN becomes 0.
  llvm::Intrinsic::ID saturate = llvm::Intrinsic::not_intrinsic;
  /// The widest vector register that is worth using; 0 if a lane is a GPU thread.
  unsigned vectorBytes = 0;
  Error refusal = Error::cpuScalarOp;
};

/// The size of an element in memory, in bytes.
int64_t storageBytes(mlir::Type type);

/// The corresponding ElementType of numerics, if there is one.
std::optional<numerics::ElementType> elementTypeOf(mlir::Type type);

/// An IRBuilder that handles element types and machine properties, and records the first failure.
class LaneBuilder {
public:
  LaneBuilder(llvm::Module &module, const Machine &machine)
      : ir(module.getContext()), module(module), machine(machine) {}

  llvm::IRBuilder<> ir;
  llvm::Module &module;
  const Machine machine;

  /// The first failure. After a failure, emission continues with poison, and the code is discarded.
  Status failure;
  void fail(Status status) {
    if (failure.isOk())
      failure = std::move(status);
  }
  /// The line of a location, for the instructions of an op; empty: instructions have no lines.
  std::function<llvm::DILocation *(mlir::Location)> lineOf;
  /// The op being emitted, for error messages; null between ops.
  mlir::Operation *current = nullptr;
  /// Fails with the machine's error code; the message has the current op, its type, its line, and
  /// `why`. Returns poison.
  llvm::Value *refuse(llvm::Type *type, std::string_view why);

  // --- Types ---
  /// The type of one part of an element in registers: float for bf16.
  llvm::Type *computeType(mlir::Type type);
  /// The type of one part of an element in memory: i16 for bf16, i8 for i1.
  llvm::Type *storageType(mlir::Type type);
  static bool isComplex(mlir::Type type) { return mlir::isa<mlir::ComplexType>(type); }
  static llvm::Type *vectorOf(llvm::Type *type, unsigned lanes) {
    return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
  }
  static unsigned lanesOf(llvm::Value *value) {
    auto *type = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
    return type ? type->getNumElements() : 1;
  }

  // --- Vectors ---
  llvm::Value *splat(llvm::Value *value, unsigned lanes) {
    return lanes == lanesOf(value) ? value : ir.CreateVectorSplat(lanes, value);
  }
  Lanes splat(Lanes value, unsigned lanes) {
    return {splat(value.value, lanes), value.imag ? splat(value.imag, lanes) : nullptr};
  }
  Lanes select(llvm::Value *condition, Lanes a, Lanes b);
  /// `count` lanes from `first` on.
  Lanes slice(Lanes value, unsigned first, unsigned count);
  /// A constant with the type of `like`.
  llvm::Value *real(llvm::Value *like, double value) {
    return llvm::ConstantFP::get(like->getType(), value);
  }
  llvm::Value *integer(llvm::Value *like, int64_t value) {
    return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(value), true);
  }
  llvm::Value *i32(int64_t value) { return ir.getInt32(static_cast<uint32_t>(value)); }
  llvm::Value *i64(int64_t value) { return ir.getInt64(static_cast<uint64_t>(value)); }
  /// Elements of this type with arbitrary values.
  Lanes poison(mlir::Type type, unsigned lanes = 1) {
    llvm::Value *value = llvm::PoisonValue::get(vectorOf(computeType(type), lanes));
    return {value, isComplex(type) ? value : nullptr};
  }
  /// A mask with the first `on` lanes set.
  llvm::Constant *firstLanes(unsigned on, unsigned lanes);
  /// 0, 1, 2 … as i64.
  llvm::Constant *laneNumbers(unsigned lanes);
  /// Reinterprets the lanes as integers of the same width, and back.
  llvm::Value *bits(llvm::Value *value);
  llvm::Value *asFloat(llvm::Value *value);
  llvm::Value *intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> operands) {
    return ir.CreateIntrinsic(operands[0]->getType(), id, operands);
  }
  /// a * b + c with one rounding if the machine has fma, otherwise with two.
  llvm::Value *multiplyAdd(llvm::Value *a, llvm::Value *b, llvm::Value *c);

  // --- Formats ---
  /// Rounds a result in the compute type to `type`.
  llvm::Value *round(llvm::Value *value, mlir::Type type);
  /// Converts one part of an element between memory and registers. encode() expects a value that is
  /// already rounded to `type`, except for f16 and smaller floats other than bf16, which it rounds
  /// itself.
  llvm::Value *decode(llvm::Value *stored, mlir::Type type);
  llvm::Value *encode(llvm::Value *value, mlir::Type type);
  /// Converts a 64-bit integer to f64, rounding to odd, so that a further rounding to a shorter
  /// format gives the correctly rounded integer.
  llvm::Value *integerToOdd(llvm::Value *value, bool isSigned);
  /// Converts f64 to f32, rounding to odd, so that a further rounding to a shorter format gives the
  /// correctly rounded f64.
  llvm::Value *roundToOdd(llvm::Value *value);
  /// Converts a float or integer of any type to a float of any type.
  llvm::Value *convertFloat(llvm::Value *value, mlir::Type from, mlir::Type to);

  // --- Memory. Addresses are in elements of `type`. ---
  /// Consecutive elements; a null `mask` loads all, masked-off elements are zero.
  Lanes load(mlir::Type type, llvm::Value *base, llvm::Value *index, unsigned lanes,
             llvm::Value *mask);
  /// With `isStreamed`, writes past the caches: addresses are multiples of the vector's size, or of
  /// 64, and there is no mask.
  void store(Lanes value, mlir::Type type, llvm::Value *base, llvm::Value *index, llvm::Value *mask,
             bool isStreamed = false);
  /// Elements at distance `stride`.
  Lanes loadStrided(mlir::Type type, llvm::Value *base, llvm::Value *index, int64_t stride,
                    unsigned lanes, llvm::Value *mask);
  /// Elements at arbitrary positions: `index` is a vector.
  Lanes gather(mlir::Type type, llvm::Value *base, llvm::Value *index, llvm::Value *mask);
  void scatter(Lanes value, mlir::Type type, llvm::Value *base, llvm::Value *index,
               llvm::Value *mask);

  // --- Control ---
  /// Runs `body` for 0 ≤ i < count at the insertion point, and continues after it.
  void loop(llvm::Value *count, const std::function<void(llvm::Value *)> &body);
  /// A stack slot in the function's entry block.
  llvm::AllocaInst *slot(llvm::Type *type);

  /// Calls the runtime's scalar reference implementation for each lane.
  Lanes scalarCall(llvm::StringRef op, mlir::Type operand, mlir::Type result,
                   llvm::ArrayRef<Lanes> operands);

private:
  /// For each result of round(), the encoded bits that it was decoded from.
  llvm::DenseMap<std::pair<llvm::Value *, mlir::Type>, llvm::Value *> encodings;
  llvm::Value *encodePowerOfTwo(llvm::Value *value);
  llvm::Value *decodeSmall(llvm::Value *stored, numerics::ElementType type);
  llvm::Value *encodeSmall(llvm::Value *value, numerics::ElementType type);
  Lanes deinterleave(llvm::Value *vector, unsigned lanes);
  llvm::Value *interleave(Lanes value);
};

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_LANES_LANES_H
