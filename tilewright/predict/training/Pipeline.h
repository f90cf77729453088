// Pipeline: the time of all microbatches through the stages of a pipeline (1F1B, interleaved).
#ifndef TILEWRIGHT_PREDICT_TRAINING_PIPELINE_H
#define TILEWRIGHT_PREDICT_TRAINING_PIPELINE_H

#include "tilewright/support/Status.h"

#include <cstdint>

namespace tilewright::predict {

/// A pipeline of equal stages, each with `chunks` parts of the model.
struct PipelineShape {
  int64_t stages = 1, chunks = 1, microbatches = 1;
  double forward = 0, backward = 0;           // seconds of one chunk and one microbatch
  double firstForward = 0, firstBackward = 0; // added to the first chunk: the embedding
  double lastForward = 0, lastBackward = 0;   // added to the last chunk: the head and the loss
  double transfer = 0;                        // seconds to send activations to the next stage
};

/// Seconds until all stages have ended: each stage is a class of the simulator. With one chunk a
/// stage alternates one forward and one backward pass (1F1B); with several, chunks are interleaved
/// as Megatron-LM does.
Result<double> pipelineSeconds(const PipelineShape &shape);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_TRAINING_PIPELINE_H
