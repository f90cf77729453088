// Generator: builds a program. A rule picks existing values and adds ops.
#ifndef TEST_RANDOM_GENERATOR_H
#define TEST_RANDOM_GENERATOR_H

#include "test/random/Draw.h"
#include "test/random/Program.h"
#include "tilewright/dialect/stablehlo/StablehloOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace tilewright::random {

using Dims = llvm::SmallVector<int64_t, 4>;

/// The kind of numbers in an input or a constant.
enum class Numbers : uint8_t {
  small,       // eighths below 4 in size, integers below 7: sums of them are exact
  wide,        // all bits at random, finite
  edges,       // ends of the range, zeros of both signs, infinities, NaN, subnormal numbers
  normalEdges, // the same without subnormal numbers
  ties,        // three different numbers, NaN among them
  nothing,     // zeros
  indices,     // from -3 to 9, now and then far outside
  positive,    // eighths from 1/4 to 4
};

/// A tensor of such numbers.
interpret::Tensor drawTensor(Draw &draw, interpret::ElementType type, llvm::ArrayRef<int64_t> dims,
                             Numbers numbers);

class Generator {
public:
  Generator(mlir::MLIRContext &context, uint64_t seed, const Wishes &wishes);
  RandomProgram make();

private:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using TensorType = mlir::RankedTensorType;
  using Named = mlir::NamedAttribute;

  struct Rule {
    void (Generator::*write)();
    int weight;
    std::initializer_list<Flavour> favours;
    /// Whether jaxlib's programs have it: README.md lists what they leave out.
    bool isForJaxlib = true;
  };
  static llvm::ArrayRef<Rule> rules();

  // --- types and shapes ---
  static TensorType typeOf(Value value) { return llvm::cast<TensorType>(value.getType()); }
  static Type elementOf(Value value) { return typeOf(value).getElementType(); }
  static Dims dimsOf(Value value) { return Dims(typeOf(value).getShape()); }
  static int64_t volume(llvm::ArrayRef<int64_t> dims);
  static bool isFloat(Type type) { return llvm::isa<mlir::FloatType>(type); }
  static bool isComplex(Type type) { return llvm::isa<mlir::ComplexType>(type); }
  static bool isPred(Type type) { return type.isInteger(1); }
  static bool isInt(Type type) { return llvm::isa<mlir::IntegerType>(type) && !isPred(type); }
  static bool isUnsigned(Type type) { return type.isUnsignedInteger(); }
  static bool isWideFloat(Type type) { return type.isF32() || type.isF64(); }
  static unsigned widthOf(Type type);
  Type drawElement();
  Dims drawDims(int64_t maxRank = 4);
  TensorType tensor(llvm::ArrayRef<int64_t> dims, Type element) {
    return TensorType::get(dims, element);
  }
  Type named(llvm::StringRef name);

  // --- values ---
  bool has(Flavour wanted) const { return flavour == wanted; }
  /// A value that satisfies `wanted`, preferring newer ones; null if there is none.
  Value pick(llvm::function_ref<bool(Value)> wanted);
  Value any() {
    return pick([](Value) { return true; });
  }
  Value ranked(int64_t least = 1) {
    return pick([&](Value v) { return typeOf(v).getRank() >= least; });
  }
  /// A value of this type: an existing or a new one.
  Value of(TensorType type);
  Value like(Value model) { return of(typeOf(model)); }
  /// A new input, or a constant if the program takes no inputs.
  Value fresh(TensorType type, Numbers numbers);
  Value fresh(TensorType type) { return fresh(type, numbersFor(type.getElementType())); }
  Value fresh(TensorType type, const interpret::Tensor &tensor);
  Value constant(TensorType type, const interpret::Tensor &tensor);
  Value constant(TensorType type, Numbers numbers);
  Value integers(llvm::ArrayRef<int64_t> values, Type element);
  Value scalarIndex(Type element, int64_t size);
  Numbers numbersFor(Type element);

  // --- ops ---
  using Build = llvm::function_ref<void(mlir::Block &)>;
  mlir::Operation *create(llvm::StringRef name, mlir::TypeRange results, mlir::ValueRange operands,
                          llvm::ArrayRef<Named> attributes = {},
                          llvm::ArrayRef<Build> regions = {});
  /// The same for an op with one result, which becomes available to rules.
  Value add(llvm::StringRef name, Type result, mlir::ValueRange operands,
            llvm::ArrayRef<Named> attributes = {}, llvm::ArrayRef<Build> regions = {});
  /// A constant of a scalar type of integers.
  mlir::Value integer(mlir::RankedTensorType type, int64_t value);
  /// A scatter of one tensor, with operand, indices and updates. It combines by `op`, or replaces
  /// if `op` is empty.
  void addScatter(mlir::ValueRange operands, mlir::Attribute numbers, llvm::StringRef op);
  Named list(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  Named number(llvm::StringRef name, int64_t value, unsigned bits = 64);
  Named flag(llvm::StringRef name, bool value);
  Named attribute(llvm::StringRef name, mlir::Attribute value);
  Named padding(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  Named comparison(llvm::StringRef direction);
  void keep(mlir::ValueRange made);
  void returns(mlir::Block &block, mlir::ValueRange values);
  /// The region of a reduction: one op on two scalars.
  void body(mlir::Block &block, Type element, llvm::StringRef op);
  /// The op of a reduction over this type, and its start value.
  llvm::StringRef combiner(Type element);
  Value startOf(llvm::StringRef combiner, Type element);
  Value compareScalars(Value x, Value y, llvm::StringRef direction, bool total);
  /// Adds a few random ops to a region and returns values of these types from it.
  void nested(mlir::Block &block, mlir::TypeRange results, int ops);
  /// Adds a loop that counts its first value up to `limit`; `write` returns the next values of the
  /// others.
  void countTo(mlir::Value limit, mlir::ValueRange state, const Build &write);
  /// The type of a slice's start index.
  Type drawIndexType();
  void randomOp();

  // --- rules: Elementwise.cpp ---
  void unary();
  void binary();
  void shift();
  void compareAndSelect();
  void clamp();
  void convert();
  void bitcast();
  void complexParts();
  void precision();
  void identity();
  // --- Movement.cpp ---
  void reshape();
  void transpose();
  void broadcast();
  void slice();
  void reverse();
  void pad();
  void concatenate();
  void iota();
  void dynamicSlice();
  void dynamicUpdateSlice();
  void gather();
  void scatter();
  void indexSelect();
  void shapeByValue();
  // --- Indexing.cpp ---
  /// The dimensions of a gather or scatter.
  struct Windows {
    Dims batching, indexed, dropped, kept; // dimensions of the operand
    Dims sizes;                            // of a window, for each dimension of the operand
    Dims indices, indexBatching;           // the shape of the indices, their batching dimensions
    int64_t vectorDim = 0;
    Dims result, windowDims; // the shape of the gather's result, and the window in it
  };
  Windows drawWindows(Value x);
  Value drawIndices(const Windows &windows);
  Value combineUpdate(Value old, Value update, bool isAlone);
  void gatherAny();
  void scatterAny();
  void updateLoop();
  void topK();
  // --- Reductions.cpp ---
  /// Which dimensions of x a reduction removes, at least one, and the sizes of the others.
  std::pair<Dims, Dims> reducedDims(mlir::Value x);
  void reduce();
  void orderedReduce();
  void argReduce();
  void reduceWindow();
  void selectAndScatter();
  void sort();
  void map();
  // --- Products.cpp ---
  void dot();
  bool isProduct(Type operand, Type result);
  void dotGeneral();
  void einsum();
  Dims drawLayout(Dims &dims);
  void convolution();
  void linearAlgebra();
  void fourier();
  void batchNorm();
  // --- Large.cpp ---
  stablehlo::DotAlgorithmAttr drawAlgorithm();
  void wideProduct();
  void sumOver(Value x, int64_t dim);
  void attention();
  void raggedDot();
  Value selectedProducts(mlir::ValueRange arguments, TensorType type);
  void longRow();
  void prefixes();
  void prefix(Value x, int64_t dim);
  void sortByKeys();
  void sortBy(Value x, int64_t dim);
  // --- ControlFlow.cpp ---
  void branch();
  void switchCase();
  void loop();
  void constantLoop();
  void carryLoop();
  void callFunction();
  void composite();
  void barrier();
  void tuple();
  void randomBits();

  void finish();
  void donate(llvm::SmallVectorImpl<Value> &results);

  mlir::MLIRContext &context;
  Draw draw;
  const Wishes wishes;
  Flavour flavour;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main;
  std::vector<Value> values; // in scope
  interpret::RuntimeValues inputs;
  std::vector<Type> elements; // of this program
  Dims sizes;                 // of this program
  int depth = 0;              // of regions
  bool isolated = false;      // inside a function of its own: inputs of @main are not visible
  int functions = 0;
};

} // namespace tilewright::random

#endif // TEST_RANDOM_GENERATOR_H
