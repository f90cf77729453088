// Elements in registers: how each element type is held while computing, and how in memory.
#ifndef TILEWRIGHT_TARGET_ELEMENTS_LANES_H
#define TILEWRIGHT_TARGET_ELEMENTS_LANES_H

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

/// One element, or one for each lane of a vector. Integers are themselves (pred is i1, index is
/// i64), f32 and f64 too; every smaller float is an f32 that the small type can represent, so
/// that a chain of operations converts once on the way in and rounds after each operation; a
/// complex number is two values.
struct Lanes {
  llvm::Value *value = nullptr; // of a complex number, the real part
  llvm::Value *imag = nullptr;
};

/// What the instructions of a machine do, as far as elements are concerned.
struct Machine {
  /// a * b + c in one rounding.
  bool hasFma = false;
  /// Conversions between f16 or bf16 and f32, to nearest even, in an instruction.
  bool hasHalf = false, hasBfloat = false;
  /// Vectors are loaded from anywhere, elements of four bytes or more.
  bool hasGather = false;
  /// Masked loads and stores of every element width cost what plain ones do.
  bool hasMasks = false;
  /// Code may call the C library's mathematics and the scalar table of the runtime
  /// (`tw_scalar_call`). Where it may not, everything is emitted, or refused with `refusal`.
  bool hasLibrary = false;
  /// The widest register that is worth using; 0 where a lane is a thread.
  unsigned vectorBytes = 0;
  Error refusal = Error::cpuScalarOp;
};

/// Bytes that an element takes in memory.
int64_t storageBytes(mlir::Type type);

/// The element type as the half without LLVM knows it, if it does.
std::optional<numerics::ElementType> elementTypeOf(mlir::Type type);

/// An IRBuilder that knows element types and the machine, and keeps the first failure.
class LaneBuilder {
public:
  LaneBuilder(llvm::Module &module, const Machine &machine)
      : ir(module.getContext()), module(module), machine(machine) {}

  llvm::IRBuilder<> ir;
  llvm::Module &module;
  const Machine machine;

  /// The first failure since creation; emission goes on with poison and is thrown away.
  Status failure;
  void fail(Status status) {
    if (failure.isOk())
      failure = std::move(status);
  }
  /// The op that is being emitted, which messages name; null between ops.
  mlir::Operation *current = nullptr;
  /// Fails with the machine's code: the current op, its type, its line, and `why`. Gives poison.
  llvm::Value *refuse(llvm::Type *type, std::string_view why);

  // --- Types ---
  /// What holds one part of an element while computing: float for bf16.
  llvm::Type *computeType(mlir::Type type);
  /// What one part of an element is in memory: i16 for bf16, i8 for i1.
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
  /// A constant of the shape of `like`.
  llvm::Value *real(llvm::Value *like, double value) {
    return llvm::ConstantFP::get(like->getType(), value);
  }
  llvm::Value *integer(llvm::Value *like, int64_t value) {
    return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(value), true);
  }
  llvm::Value *i64(int64_t value) { return ir.getInt64(static_cast<uint64_t>(value)); }
  /// The first lanes on, the rest off.
  llvm::Constant *firstLanes(unsigned on, unsigned lanes);
  /// 0, 1, 2 … as i64.
  llvm::Constant *laneNumbers(unsigned lanes);
  /// The same lanes as integers of the same width, and back.
  llvm::Value *bits(llvm::Value *value);
  llvm::Value *asFloat(llvm::Value *value);
  llvm::Value *intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value *> operands) {
    return ir.CreateIntrinsic(operands[0]->getType(), id, operands);
  }
  /// a * b + c in one rounding where the machine has that, in two otherwise.
  llvm::Value *multiplyAdd(llvm::Value *a, llvm::Value *b, llvm::Value *c);

  // --- Formats ---
  /// What `type` makes of a result computed in its compute type.
  llvm::Value *round(llvm::Value *value, mlir::Type type);
  /// One part of an element between memory and registers. What is encoded is a value of `type`,
  /// except f16 and smaller floats but bf16, which are rounded.
  llvm::Value *decode(llvm::Value *stored, mlir::Type type);
  llvm::Value *encode(llvm::Value *value, mlir::Type type);
  /// A 64-bit integer to f64, so that rounding again to a shorter format rounds once in all.
  llvm::Value *integerToOdd(llvm::Value *value, bool isSigned);
  /// f64 to f32 so that rounding again to a shorter format rounds once in all.
  llvm::Value *roundToOdd(llvm::Value *value);
  /// Float or integer of any type to a float of any type.
  llvm::Value *convertFloat(llvm::Value *value, mlir::Type from, mlir::Type to);

  // --- Memory. Addresses are in elements of `type`. ---
  /// Consecutive elements; `mask` null is all of them, others are zero.
  Lanes load(mlir::Type type, llvm::Value *base, llvm::Value *index, unsigned lanes,
             llvm::Value *mask);
  void store(Lanes value, mlir::Type type, llvm::Value *base, llvm::Value *index,
             llvm::Value *mask);
  /// Elements that lie `stride` apart.
  Lanes loadStrided(mlir::Type type, llvm::Value *base, llvm::Value *index, int64_t stride,
                    unsigned lanes, llvm::Value *mask);
  /// Elements anywhere: `index` is a vector.
  Lanes gather(mlir::Type type, llvm::Value *base, llvm::Value *index, llvm::Value *mask);
  void scatter(Lanes value, mlir::Type type, llvm::Value *base, llvm::Value *index,
               llvm::Value *mask);

  // --- Control ---
  /// Runs `body` for 0 ≤ i < count at the insertion point, and goes on after it.
  void loop(llvm::Value *count, const std::function<void(llvm::Value *)> &body);
  /// A slot on the stack of the function, in its first block.
  llvm::AllocaInst *slot(llvm::Type *type);

  /// Calls the scalar ground truth of the runtime for each lane.
  Lanes scalarCall(llvm::StringRef op, mlir::Type operand, mlir::Type result,
                   llvm::ArrayRef<Lanes> operands);

private:
  /// Of what round() gave, the bits that it went through.
  llvm::DenseMap<std::pair<llvm::Value *, mlir::Type>, llvm::Value *> encodings;
  llvm::Value *encodePowerOfTwo(llvm::Value *value);
  llvm::Value *decodeSmall(llvm::Value *stored, numerics::ElementType type);
  llvm::Value *encodeSmall(llvm::Value *value, numerics::ElementType type);
  Lanes deinterleave(llvm::Value *vector, unsigned lanes);
  llvm::Value *interleave(Lanes value);
};

} // namespace tilewright::lanes

#endif // TILEWRIGHT_TARGET_ELEMENTS_LANES_H
