// ThreadBuilder: builds the code of one thread, as ops of the llvm and lane dialects and of the
// vendor's.
#ifndef TILEWRIGHT_TARGET_GPU_THREAD_THREADBUILDER_H
#define TILEWRIGHT_TARGET_GPU_THREAD_THREADBUILDER_H

#include "tilewright/support/Status.h"

#include "tilewright/target/gpu/Machine.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <string_view>

namespace tilewright::gpu {

using mlir::Block;
using mlir::Type;
using mlir::Value;

/// One element in registers (see the lane dialect).
struct Lanes {
  Value value = nullptr; // of a complex number, the real part
  Value imag = nullptr;
};

/// A tile in registers: one element per register that the tile's layout assigns to a thread.
using Tile = llvm::SmallVector<Lanes>;

/// The width of a scalar or of all elements of a vector.
unsigned bitsOf(Type type);

/// Which results of an integer operation never wrap.
using mlir::LLVM::IntegerOverflowFlags;
inline constexpr IntegerOverflowFlags neverWraps =
    IntegerOverflowFlags::nuw | IntegerOverflowFlags::nsw;

/// A builder for one function, which also records the first failure. Constants are unique within
/// the function, so that equal constants are the same value.
class ThreadBuilder {
public:
  /// Builds functions at the end of `module`.
  ThreadBuilder(mlir::ModuleOp module, const Machine &machine);

  mlir::OpBuilder op;
  mlir::ModuleOp module;
  const Machine &machine;
  const Type i1Type, i8Type, i16Type, i32Type, i64Type, f16Type, bf16Type, f32Type;

  /// Where in the program the ops come from that are built now.
  mlir::Location location;

  /// The first failure. After a failure, the code is discarded.
  Status failure;
  void fail(Status status) {
    if (failure.isOk())
      failure = std::move(status);
  }

  // --- Functions and blocks ---
  /// Begins a kernel: an entry block for what depends only on the thread, which ends with a branch
  /// to a second block, where the insertion point is.
  mlir::LLVM::LLVMFuncOp beginKernel(llvm::StringRef name, llvm::ArrayRef<Type> parameters);
  mlir::LLVM::LLVMFuncOp function;
  /// A new block at the end of the function.
  Block *newBlock(llvm::ArrayRef<Type> arguments = {});
  Block *block() { return op.getInsertionBlock(); }
  /// Continues at the end of a block.
  void moveTo(Block *block) { op.setInsertionPointToEnd(block); }
  /// Continues at the end of the entry block, before its branch.
  void moveToEntry();
  void branch(Block *to, llvm::ArrayRef<Value> arguments = {});
  void branchIf(Value condition, Block *then, Block *otherwise,
                llvm::ArrayRef<Value> thenArguments = {}, llvm::ArrayRef<Value> elseArguments = {});
  void ret();

  // --- Types ---
  Type intType(unsigned bits) { return op.getIntegerType(bits); }
  Type vectorOf(Type type, unsigned count) { return mlir::VectorType::get(count, type); }
  Type structOf(llvm::ArrayRef<Type> types);
  Type pointerIn(unsigned space);
  /// The type of one part of an element in registers: f32 for bf16.
  Type computeType(Type element);
  /// The type of one part of an element in memory: i16 for bf16, i8 for i1.
  Type storageType(Type element);
  static bool isComplex(Type element) { return mlir::isa<mlir::ComplexType>(element); }

  // --- Constants ---
  Value constant(mlir::TypedAttr value);
  Value integer(Type type, int64_t value);
  Value integer(Type type, const llvm::APInt &value);
  Value real(Type type, double value);
  Value zero(Type type);
  Value i16(int64_t value) { return integer(i16Type, value); }
  Value i32(int64_t value) { return integer(i32Type, value); }
  Value i64(int64_t value) { return integer(i64Type, value); }
  Value truth(bool value) { return integer(i1Type, value); }
  Value poisonOf(Type type);
  /// An element of this type with an arbitrary value.
  Lanes poison(Type element);

  // --- Integers ---
  Value add(Value a, Value b, IntegerOverflowFlags flags = IntegerOverflowFlags::none);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b, IntegerOverflowFlags flags = IntegerOverflowFlags::none);
  Value udiv(Value a, Value b);
  Value urem(Value a, Value b);
  Value sdiv(Value a, Value b);
  Value srem(Value a, Value b);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  Value shl(Value a, Value count);
  Value lshr(Value a, Value count);
  Value equal(Value a, Value b) { return compare(mlir::LLVM::ICmpPredicate::eq, a, b); }
  Value notEqual(Value a, Value b) { return compare(mlir::LLVM::ICmpPredicate::ne, a, b); }
  Value less(Value a, Value b) { return compare(mlir::LLVM::ICmpPredicate::slt, a, b); }
  Value unsignedLess(Value a, Value b) { return compare(mlir::LLVM::ICmpPredicate::ult, a, b); }
  Value unsignedMore(Value a, Value b) { return compare(mlir::LLVM::ICmpPredicate::ugt, a, b); }
  Value unsignedAtLeast(Value a, Value b) { return compare(mlir::LLVM::ICmpPredicate::uge, a, b); }
  Value compare(mlir::LLVM::ICmpPredicate predicate, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Lanes select(Value condition, Lanes a, Lanes b);

  // --- Conversions; none if the type does not change ---
  Value trunc(Value value, Type type);
  Value zext(Value value, Type type, bool isNonNegative = false);
  Value sext(Value value, Type type);
  Value zextOrTrunc(Value value, Type type);
  Value sextOrTrunc(Value value, Type type);
  Value bitcast(Value value, Type type);
  Value fpext(Value value, Type type);
  Value ptrToInt(Value pointer, Type type);
  /// The pointer in the generic address space.
  Value generic(Value pointer);
  /// The pointer to an address in shared memory, an i32. Address space 7 is that of the cluster.
  Value sharedPointer(Value address, unsigned space = 3);

  // --- Aggregates ---
  Value extractValue(Value aggregate, unsigned index);
  Value extractElement(Value vector, unsigned index);
  Value insertElement(Value vector, Value element, unsigned index);

  // --- Memory ---
  /// The pointer `bytes` further.
  Value advance(Value pointer, Value bytes);
  Value advance(Value pointer, int64_t bytes, bool isInBounds = false);
  /// The pointer `index` elements further.
  Value elementOf(Value pointer, Type element, Value index);
  /// Accesses have the natural alignment of the type unless one is given.
  Value load(Type type, Value pointer, unsigned alignment = 0);
  void store(Value value, Value pointer, unsigned alignment = 0);
  /// A variable of each thread, in the entry block.
  Value variable(Type type);

  // --- Instructions ---
  /// Makes an op of any dialect.
  template <typename Op, typename... Args> Op make(Args &&...args) {
    return Op::create(op, location, std::forward<Args>(args)...);
  }
  /// Calls one of LLVM's intrinsics for which no dialect has an op. A null `type` is void.
  Value intrinsic(Type type, llvm::StringRef name, llvm::ArrayRef<Value> operands);
  /// Calls a function of a device library, which must be linked (LinkLibrary.h). Convergent. A null
  /// `type` is void.
  Value call(Type type, llvm::StringRef name, llvm::ArrayRef<Value> operands);
  /// Inline assembly, for instructions without an intrinsic. Convergent: no pass may sink it into
  /// one side of a branch or duplicate it. A null `type` is void.
  Value assembly(Type type, const llvm::Twine &text, const llvm::Twine &constraints,
                 llvm::ArrayRef<Value> operands);
  /// Inline assembly that may be moved into branches.
  Value plainAssembly(Type type, std::string_view text, std::string_view constraints,
                      llvm::ArrayRef<Value> operands);
  /// Convergent inline assembly without effects: its results are all it does.
  Value pureAssembly(Type type, std::string_view text, std::string_view constraints,
                     llvm::ArrayRef<Value> operands);

  // --- Scalar code (lane dialect) ---
  Value decode(Value stored, Type element);
  Value encode(Value value, Type element);
  /// The float of type f16 or bf16 that a value in registers represents.
  Value narrow(Value value, Type type);
  /// Applies a block of scalar ops to the arguments of each application. Returns the elements that
  /// the block yields, for each application.
  llvm::SmallVector<llvm::SmallVector<Lanes, 2>>
  applyEach(Block &body, llvm::ArrayRef<llvm::SmallVector<Lanes>> applications);
  llvm::SmallVector<Lanes, 2> apply(Block &body, llvm::ArrayRef<Lanes> arguments);
  /// Applies one scalar op.
  llvm::SmallVector<Lanes, 2> applyOp(mlir::Operation *op, llvm::ArrayRef<Lanes> operands);
  /// The value of an affine expression of i64 values.
  Value affine(mlir::AffineExpr expr, llvm::ArrayRef<Value> dims, llvm::ArrayRef<Value> symbols);

private:
  template <typename Op> Value binary(Value a, Value b);
  template <typename Op> Value convert(Value value, Type type);
  llvm::DenseMap<mlir::Attribute, Value> constants;
  llvm::DenseMap<Type, Value> poisons;
  /// Makes a constant op at the start of the function.
  template <typename Make> Value atStart(Make make);
  mlir::LLVM::InlineAsmOp makeAssembly(Type type, llvm::StringRef text, llvm::StringRef constraints,
                                       llvm::ArrayRef<Value> operands, bool hasEffects);
};

} // namespace tilewright::gpu

#endif // TILEWRIGHT_TARGET_GPU_THREAD_THREADBUILDER_H
