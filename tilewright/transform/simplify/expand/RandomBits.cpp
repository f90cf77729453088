// Expands rng_bit_generator into integer arithmetic on counters. The generators are those of
// interpret/kernels/RandomBits.h, bit for bit.
#include "tilewright/dialect/stablehlo/ops/UnaryOps.h"
#include "tilewright/transform/simplify/expand/Expand.h"
#include "tilewright/transform/simplify/expand/TensorBuilder.h"

using namespace mlir;

namespace tilewright::simplify {
namespace {

class Expansion {
public:
  Expansion(stablehlo::RngBitGeneratorOp op, RewriterBase &rewriter)
      : op(op), b(rewriter, op.getLoc()), word(rewriter.getIntegerType(32, false)),
        wide(rewriter.getIntegerType(64, false)), result(typeOf(op.getOutput())),
        isWide(result.getElementTypeBitWidth() == 64) {
    key = stateAt(0);
    low = stateAt(1);
    high = typeOf(op.getInitialState()).getDimSize(0) == 3 ? stateAt(2) : key;
  }

  void run(RewriterBase &rewriter) {
    int64_t used = 0;
    Value bits =
        op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY ? threeFry(used) : philox(used);
    rewriter.replaceOp(op, {advanced(used), bits});
  }

private:
  Value stateAt(int64_t at) { return b.reshape(b.sliceAlong(op.getInitialState(), 0, at, 1), {}); }
  /// A word of the state for every element of `shape`.
  Value spread(Value scalar, ArrayRef<int64_t> shape) { return b.broadcast(scalar, shape); }

  Value lowHalf(Value value) { return b.convert(masked(value, 0xffffffff), word); }
  Value highHalf(Value value) { return b.convert(shiftedRight(value, 32), word); }
  Value masked(Value value, uint64_t mask) {
    return b.binary<stablehlo::AndOp>(value, b.integer(typeOf(value), mask));
  }
  Value shiftedRight(Value value, uint64_t bits) {
    return b.binary<stablehlo::ShiftRightLogicalOp>(value, b.integer(typeOf(value), bits));
  }
  Value exclusiveOr(Value lhs, Value rhs) { return b.binary<stablehlo::XorOp>(lhs, rhs); }
  Value plus(Value value, uint64_t number) {
    return b.add(value, b.integer(typeOf(value), number));
  }
  Value rotated(Value value, uint64_t bits) {
    Value left = b.binary<stablehlo::ShiftLeftOp>(value, b.integer(typeOf(value), bits));
    return b.binary<stablehlo::OrOp>(left, shiftedRight(value, 32 - bits));
  }

  /// The numbers 0, 1, 2, … in row-major order.
  Value numbers(ArrayRef<int64_t> shape) {
    const auto count = RankedTensorType::get(shape, wide).getNumElements();
    return b.reshape(b.iota(RankedTensorType::get({count}, wide), 0), shape);
  }

  /// Two words of Threefry for each counter.
  std::pair<Value, Value> threeFryWords(Value counter) {
    static constexpr uint64_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const ArrayRef<int64_t> shape = typeOf(counter).getShape();
    Value first = lowHalf(key), second = highHalf(key);
    Value third = exclusiveOr(first, second);
    third = exclusiveOr(third, b.integer(typeOf(third), 0x1bd11bda));
    const Value keys[3] = {spread(first, shape), spread(second, shape), spread(third, shape)};
    Value x = b.add(lowHalf(counter), keys[0]), y = b.add(highHalf(counter), keys[1]);
    for (uint64_t group = 0; group < 5; ++group) {
      for (uint64_t rotation : rotations[group % 2]) {
        x = b.add(x, y);
        y = exclusiveOr(rotated(y, rotation), x);
      }
      x = b.add(x, keys[(group + 1) % 3]);
      y = plus(b.add(y, keys[(group + 2) % 3]), group + 1);
    }
    return {x, y};
  }

  Value threeFry(int64_t &used) {
    const ArrayRef<int64_t> shape = result.getShape();
    if (isWide) {
      used = result.getNumElements();
      auto [x, y] = threeFryWords(b.add(spread(low, shape), numbers(shape)));
      return asResult(joined(x, y));
    }
    // Two neighbours along one dimension share a counter: along the first dimension of even size,
    // or else along the longest one. Elements are [outer][size][inner], counters [outer][(size + 1)
    // / 2][inner].
    size_t dim = 0;
    for (size_t other = 0; other < shape.size(); ++other) {
      if (shape[other] % 2 == 0) {
        dim = other;
        break;
      }
      if (shape[other] > shape[dim])
        dim = other;
    }
    int64_t outer = 1, inner = 1;
    const int64_t size = shape.empty() ? 1 : shape[dim];
    for (size_t other = 0; other < shape.size(); ++other)
      (other < dim ? outer : inner) *= other == dim ? 1 : shape[other];
    const int64_t pairs = (size + 1) / 2;
    used = outer * pairs * inner;
    const int64_t counters[] = {outer, pairs, 1, inner};
    auto [x, y] = threeFryWords(b.add(spread(low, counters), numbers(counters)));
    Value words = b.reshape(b.concatenate({x, y}, 2), {outer, 2 * pairs, inner});
    return asResult(b.reshape(b.sliceAlong(words, 1, 0, size), shape));
  }

  /// Four words of Philox for each counter.
  std::array<Value, 4> philoxWords(Value counter) {
    const ArrayRef<int64_t> shape = typeOf(counter).getShape();
    Value sum = b.add(spread(low, shape), counter);
    Value carries = b.compare(sum, stablehlo::ComparisonDirection::LT, spread(low, shape));
    Value upper = b.add(spread(high, shape), b.convert(carries, wide));
    std::array<Value, 4> words = {lowHalf(sum), highHalf(sum), lowHalf(upper), highHalf(upper)};
    Value first = lowHalf(key), second = highHalf(key);
    auto times = [&](Value value, uint64_t factor) {
      Value product = b.convert(value, wide);
      return b.multiply(product, b.integer(typeOf(product), factor));
    };
    for (int round = 0; round < 10; ++round) {
      Value even = times(words[0], 0xd2511f53), odd = times(words[2], 0xcd9e8d57);
      words = {
          exclusiveOr(exclusiveOr(highHalf(odd), words[1]), spread(first, shape)), lowHalf(odd),
          exclusiveOr(exclusiveOr(highHalf(even), words[3]), spread(second, shape)), lowHalf(even)};
      first = plus(first, 0x9e3779b9);
      second = plus(second, 0xbb67ae85);
    }
    return words;
  }

  Value philox(int64_t &used) {
    const int64_t perCounter = isWide ? 2 : 4;
    const int64_t count = result.getNumElements();
    used = (count + perCounter - 1) / perCounter;
    const std::array<Value, 4> words = philoxWords(numbers({used, 1}));
    Value all = isWide ? b.concatenate({joined(words[0], words[1]), joined(words[2], words[3])}, 1)
                       : b.concatenate(words, 1);
    all = b.sliceAlong(b.reshape(all, {used * perCounter}), 0, 0, count);
    return asResult(b.reshape(all, result.getShape()));
  }

  /// Joins two words to 64 bits.
  Value joined(Value lowWord, Value highWord) {
    Value upper = b.convert(highWord, wide);
    upper = b.binary<stablehlo::ShiftLeftOp>(upper, b.integer(typeOf(upper), 32));
    return b.binary<stablehlo::OrOp>(b.convert(lowWord, wide), upper);
  }

  /// The low bits of words as elements of the result.
  Value asResult(Value words) {
    const unsigned width = result.getElementTypeBitWidth();
    if (width < 32)
      words = masked(words, (uint64_t(1) << width) - 1);
    return b.bitcast(b.convert(words, b.builder.getIntegerType(width, false)),
                     result.getElementType());
  }

  /// The state after `used` counters.
  Value advanced(int64_t used) {
    Value state = op.getInitialState(), next = plus(low, static_cast<uint64_t>(used));
    RankedTensorType type = typeOf(state);
    auto at = [&](int64_t place, Value value, Value otherwise) {
      Value here = b.compare(b.iota(type, 0), stablehlo::ComparisonDirection::EQ, place);
      return b.select(here, spread(value, type.getShape()), otherwise);
    };
    state = at(1, next, state);
    if (type.getDimSize(0) < 3)
      return state;
    Value carries = b.compare(next, stablehlo::ComparisonDirection::LT, low);
    return at(2, b.add(high, b.convert(carries, wide)), state);
  }

  stablehlo::RngBitGeneratorOp op;
  TensorBuilder b;
  Type word, wide;
  RankedTensorType result;
  bool isWide; // elements have 64 bits
  Value key, low, high;
};

} // namespace

LogicalResult expandRandomBits(stablehlo::RngBitGeneratorOp op, RewriterBase &rewriter) {
  RankedTensorType state = typeOf(op.getInitialState());
  Type element = typeOf(op.getOutput()).getElementType();
  if (!element.isIntOrFloat())
    return rewriter.notifyMatchFailure(op, "the elements are not integers or floats");
  const unsigned width = element.getIntOrFloatBitWidth();
  if (width != 64 && width != 32 && width != 16 && width != 8 && width != 4 && width != 2)
    return rewriter.notifyMatchFailure(op, "no integer type has the width of the elements");
  const bool isThreeFry = op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY;
  if (!state.hasStaticShape() || state.getRank() != 1 ||
      !state.getElementType().isUnsignedInteger(64) ||
      (state.getDimSize(0) != 2 && (state.getDimSize(0) != 3 || isThreeFry)))
    return rewriter.notifyMatchFailure(op, "the state does not have the size of the algorithm");
  if (RankedTensorType type = typeOf(op.getOutput()); type.getNumElements() == 0) {
    TensorBuilder b(rewriter, op.getLoc());
    Value zero = b.number(RankedTensorType::get({}, element), 0);
    rewriter.replaceOp(op, {op.getInitialState(), b.broadcast(zero, type.getShape())});
    return success();
  }
  Expansion(op, rewriter).run(rewriter);
  return success();
}

} // namespace tilewright::simplify
