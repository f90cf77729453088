#include "tilewright/predict/training/Pipeline.h"

#include <gtest/gtest.h>

namespace tilewright::predict {
namespace {

double seconds(PipelineShape shape) {
  Result<double> result = pipelineSeconds(shape);
  EXPECT_TRUE(result.isOk()) << std::move(result).takeStatus().message();
  return result.isOk() ? *result : 0;
}

/// 1F1B takes (microbatches + stages - 1) passes; interleaving divides the bubble by the chunks.
TEST(Pipeline, HasTheBubbleOfItsSchedule) {
  for (int64_t stages : {1, 2, 3, 4, 8, 16})
    for (int64_t microbatches : {16, 32, 48})
      for (int64_t chunks : {1, 2, 3}) {
        if (chunks > 1 && microbatches % stages != 0)
          continue;
        const double passes = double(microbatches) + double(stages - 1) / double(chunks);
        EXPECT_NEAR(seconds({.stages = stages,
                             .chunks = chunks,
                             .microbatches = microbatches,
                             .forward = 1.0 / double(chunks),
                             .backward = 2.0 / double(chunks)}),
                    3 * passes, 1e-9)
            << stages << " stages, " << chunks << " chunks, " << microbatches << " microbatches";
      }
}

TEST(Pipeline, FewerMicrobatchesThanStagesStillEnd) {
  EXPECT_NEAR(seconds({.stages = 8, .microbatches = 1, .forward = 1, .backward = 2}), 24, 1e-9);
  EXPECT_NEAR(seconds({.stages = 4, .microbatches = 2, .forward = 1, .backward = 2}), 15, 1e-9);
}

TEST(Pipeline, AHeavyLastStageSetsThePace) {
  const double even = seconds({.stages = 4, .microbatches = 64, .forward = 1, .backward = 2});
  const double heavy =
      seconds({.stages = 4, .microbatches = 64, .forward = 1, .backward = 2, .lastForward = 1});
  EXPECT_NEAR(heavy - even, 64, 4);
}

TEST(Pipeline, TransfersDelayTheFillAndTheDrain) {
  const PipelineShape plain{.stages = 4, .microbatches = 64, .forward = 1, .backward = 2};
  PipelineShape slow = plain;
  slow.transfer = 0.125;
  EXPECT_GT(seconds(slow), seconds(plain) + 6 * 0.125);
  EXPECT_LT(seconds(slow), seconds(plain) + 64 * 2 * 0.125 + 2);
}

} // namespace
} // namespace tilewright::predict
