#include "tilewright/interpret/kernels/ReduceWindow.h"

#include "tilewright/interpret/kernels/testing/Tensors.h"

#include <limits>

using namespace tilewright;
using namespace tilewright::interpret;
using testing::HasSubstr;

static const ScalarFunction &sum() {
  static const ScalarFunction function = ScalarFunction::single(ScalarOp::add, ElementType::f32);
  return function;
}

static Result<Tensor> sumWindow(const Tensor &input, std::vector<WindowDimension> window,
                                Context &context) {
  Tensor zero = tensorOf(ElementType::f32, {}, {0});
  TILEWRIGHT_ASSIGN(std::vector<Tensor> results,
                    reduceWindow({&input, 1}, {&zero, 1}, window, sum(), context));
  return results[0];
}

/// The specification's construction for one of a matrix's two dimensions: pad with zeros and holes,
/// then slice. Separable, so a matrix needs it twice.
static std::vector<double> windowSums(const std::vector<double> &row,
                                      const WindowDimension &window) {
  std::vector<double> padded;
  for (size_t i = 0; i < row.size(); ++i) {
    padded.push_back(row[i]);
    if (i + 1 < row.size())
      padded.insert(padded.end(), static_cast<size_t>(window.baseDilation - 1), 0.0);
  }
  if (window.padLow >= 0)
    padded.insert(padded.begin(), static_cast<size_t>(window.padLow), 0.0);
  else
    padded.erase(padded.begin(), padded.begin() - window.padLow);
  padded.resize(static_cast<size_t>(static_cast<int64_t>(padded.size()) + window.padHigh), 0.0);
  std::vector<double> sums;
  const int64_t extent = (window.size - 1) * window.windowDilation + 1;
  for (int64_t at = 0; at + extent <= static_cast<int64_t>(padded.size()); at += window.stride) {
    sums.push_back(0);
    for (int64_t w = 0; w < window.size; ++w)
      sums.back() += padded[static_cast<size_t>(at + w * window.windowDilation)];
  }
  return sums;
}

TEST(ReduceWindow, AgreesWithPaddingAndSlicing) {
  Context context;
  Tensor input = wholeNumbers(ElementType::f32, {7}, 5);
  int cases = 0;
  for (int64_t size : {1, 2, 3})
    for (int64_t stride : {1, 2, 3})
      for (int64_t base : {1, 2, 3})
        for (int64_t dilation : {1, 2, 3})
          for (int64_t low : {-1, 0, 2})
            for (int64_t high : {-2, 0, 3}) {
              const WindowDimension window{size, stride, base, dilation, low, high};
              EXPECT_EQ(valuesOf(*sumWindow(input, {window}, context)),
                        windowSums(valuesOf(input), window))
                  << "size " << size << " stride " << stride << " base " << base << " dilation "
                  << dilation << " padding " << low << ", " << high;
              ++cases;
            }
  EXPECT_EQ(cases, 729);
}

TEST(ReduceWindow, InTwoDimensions) {
  Context context;
  Tensor input = tensorOf(ElementType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  // The specification's example: strides 4 and 1, base dilation 2 and 1, window dilation 3 and 1.
  EXPECT_EQ(sumWindow(input, {{2, 4, 2, 3, 2, 1}, {1, 1, 1, 1, 0, 0}}, context)->toString(),
            "[[0, 0], [3, 4]]");
  EXPECT_EQ(sumWindow(input, {{2, 1}, {2, 1}}, context)->toString(), "[[10], [18]]");
}

TEST(ReduceWindow, SeveralInputsTogether) {
  Context context;
  std::vector<Tensor> inputs = {tensorOf(ElementType::f32, {4}, {1, 3, 2, 2}),
                                tensorOf(ElementType::i32, {4}, {0, 1, 2, 3})};
  const std::vector<WindowDimension> window = {{2}};
  std::vector<Tensor> results = *reduceWindow(inputs, argmaxInits(), window, argmax(), context);
  EXPECT_EQ(results[0].toString(), "[3, 3, 2]");
  EXPECT_EQ(results[1].toString(), "[1, 1, 2]");
}

TEST(ReduceWindow, ScalarsAndEmptyInputs) {
  Context context;
  EXPECT_EQ(sumWindow(tensorOf(ElementType::f32, {}, {3}), {}, context)->toString(), "3");
  EXPECT_EQ(sumWindow(tensorOf(ElementType::f32, {0}, {}), {{2}}, context)->elementCount(), 0);
  EXPECT_EQ(
      sumWindow(tensorOf(ElementType::f32, {0}, {}), {{2, 1, 1, 1, 1, 2}}, context)->toString(),
      "[0, 0]");
}

TEST(ReduceWindow, PaddingThatCutsOffEverythingLeavesNoPosition) {
  Context context;
  Tensor input = wholeNumbers(ElementType::f32, {4}, 1);
  EXPECT_EQ(sumWindow(input, {{2, 1, 1, 1, -3, -3}}, context)->elementCount(), 0);
}

TEST(ReduceWindow, WindowsThatDoNotFitAreRefused) {
  Context context;
  Tensor input = wholeNumbers(ElementType::f32, {4}, 1);
  Status status = sumWindow(input, {{2}, {2}}, context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("the window has 2 dimensions, but the operand has 1"));
  EXPECT_THAT(sumWindow(input, {{2, 0}}, context).takeStatus().message(),
              HasSubstr("must be positive"));
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (const WindowDimension &window :
       {WindowDimension{2, 1, huge}, WindowDimension{huge, 1, 1, huge},
        WindowDimension{2, 1, 1, 1, huge, huge}, WindowDimension{2, 1, 1, 1, -huge, huge}})
    EXPECT_THAT(sumWindow(input, {window}, context).takeStatus().message(),
                HasSubstr("does not fit in 62 bits"));
  // A window over padding alone has 2^61 positions: too many steps, or bytes, but it must not
  // crash.
  EXPECT_EQ(
      sumWindow(input, {{1 << 20, 1, 1, 1, int64_t(1) << 58, 0}}, context).takeStatus().code(),
      Code::resourceExhausted);
}

TEST(SelectAndScatter, GivesEachSourceToItsMaximum) {
  Context context;
  Tensor operand = tensorOf(ElementType::f32, {4, 2}, {1, 5, 2, 5, 3, 6, 4, 4});
  Tensor source = tensorOf(ElementType::f32, {2, 2}, {5, 6, 7, 8});
  Tensor zero = tensorOf(ElementType::f32, {}, {0});
  const ScalarFunction ge = ScalarFunction::single(ScalarOp::compareGe, ElementType::f32);
  // The specification's example: window 3x1, stride 2x1, padding (0, 1) in rows.
  const std::vector<WindowDimension> window = {{3, 2, 1, 1, 0, 1}, {1}};
  EXPECT_EQ(selectAndScatter(operand, source, zero, window, ge, sum(), context)->toString(),
            "[[0, 0], [0, 0], [5, 14], [7, 0]]");
}

TEST(SelectAndScatter, AWindowOverPaddingChoosesNothing) {
  Context context;
  Tensor operand = tensorOf(ElementType::f32, {1}, {2}),
         source = tensorOf(ElementType::f32, {3}, {1, 10, 100});
  Tensor zero = tensorOf(ElementType::f32, {}, {0});
  const ScalarFunction ge = ScalarFunction::single(ScalarOp::compareGe, ElementType::f32);
  const std::vector<WindowDimension> window = {{1, 1, 1, 1, 1, 1}};
  EXPECT_EQ(selectAndScatter(operand, source, zero, window, ge, sum(), context)->toString(),
            "[10]");
}

TEST(SelectAndScatter, OperandsThatDoNotFitAreRefused) {
  Context context;
  Tensor operand = wholeNumbers(ElementType::f32, {4}, 1),
         zero = tensorOf(ElementType::f32, {}, {0});
  const ScalarFunction ge = ScalarFunction::single(ScalarOp::compareGe, ElementType::f32);
  const std::vector<WindowDimension> window = {{2, 2}};
  Status status = selectAndScatter(operand, operand, zero, window, ge, sum(), context).takeStatus();
  EXPECT_EQ(status.error(), Error::interpretShape);
  EXPECT_THAT(status.message(), HasSubstr("one element per window position, shape 2, got 4"));
  status = selectAndScatter(operand, operand, zero, window, sum(), sum(), context).takeStatus();
  EXPECT_EQ(status.error(), Error::operandType);
  EXPECT_THAT(status.message(), HasSubstr("return i1"));
}
