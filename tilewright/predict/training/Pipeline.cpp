#include "tilewright/predict/training/Pipeline.h"

#include "tilewright/predict/Simulate.h"

#include <algorithm>

namespace tilewright::predict {

namespace {

/// The exchanges of a pipeline. Stage s sends forward to s + 1; the last stage sends the results of
/// a chunk to the first, which computes the next chunk. Backward passes go the other way.
class PipelineProgram {
public:
  explicit PipelineProgram(const PipelineShape &shape)
      : shape(shape), stages(static_cast<uint32_t>(shape.stages)) {
    program.names = {"forward", "backward"};
    program.nodes.resize(1);
    program.nodes[0].ops.resize(stages);
    for (uint32_t stage = 0; stage < stages; ++stage)
      program.classes.push_back({"stage " + std::to_string(stage), 1});
    // Every boundary between stages has its own lanes, so that messages do not queue behind others.
    for (bool isBackward : {false, true})
      for (uint32_t stage = 0; stage < stages; ++stage) {
        const uint32_t next = (stage + 1) % stages;
        const uint32_t lane = (isBackward ? 3 : 0) + (stage + 1 == stages ? 2 : stage % 2);
        program.exchanges.push_back({isBackward ? "gradient" : "activation",
                                     shape.transfer,
                                     lane,
                                     lane,
                                     {stage, next},
                                     0,
                                     1});
      }
  }

  Program build() {
    for (uint32_t stage = 0; stage < stages; ++stage)
      addStage(stage);
    return std::move(program);
  }

private:
  uint32_t boundary(uint32_t stage, bool isBackward) const {
    return stage + (isBackward ? stages : 0);
  }
  /// The chunk of a stage's n-th pass: microbatches run in groups of as many as there are stages,
  /// and each group runs through all chunks, one after the other.
  int64_t chunkOf(int64_t pass, bool isBackward) const {
    const int64_t group = shape.stages * shape.chunks;
    const int64_t chunk = pass % group / shape.stages;
    return isBackward ? shape.chunks - 1 - chunk : chunk;
  }

  void addPass(uint32_t stage, int64_t pass, bool isBackward) {
    std::vector<Op> &ops = program.nodes[0].ops[stage];
    const int64_t chunk = chunkOf(pass, isBackward);
    const bool isFirst = stage == 0 && chunk == 0,
               isLast = stage + 1 == stages && chunk + 1 == shape.chunks;
    const uint32_t before = boundary((stage + stages - 1) % stages, isBackward),
                   after = boundary(stage, isBackward);
    if (!(isBackward ? isLast : isFirst)) {
      const uint32_t from = isBackward ? after : before;
      ops.push_back({Op::Kind::start, from, 0});
      ops.push_back({Op::Kind::done, from, 0});
    }
    double seconds = isBackward ? shape.backward : shape.forward;
    if (isFirst)
      seconds += isBackward ? shape.firstBackward : shape.firstForward;
    if (isLast)
      seconds += isBackward ? shape.lastBackward : shape.lastForward;
    ops.push_back({Op::Kind::compute, isBackward, seconds});
    if (!(isBackward ? isFirst : isLast))
      ops.push_back({Op::Kind::start, isBackward ? before : after, 0});
  }

  void addStage(uint32_t stage) {
    const int64_t passes = shape.microbatches * shape.chunks;
    const int64_t later = shape.stages - 1 - stage;
    const int64_t warmUp =
        std::min(passes, shape.chunks == 1 ? later : 2 * later + (shape.chunks - 1) * shape.stages);
    int64_t forward = 0, backward = 0;
    while (forward < warmUp)
      addPass(stage, forward++, false);
    while (forward < passes) {
      addPass(stage, forward++, false);
      addPass(stage, backward++, true);
    }
    while (backward < passes)
      addPass(stage, backward++, true);
  }

  const PipelineShape &shape;
  const uint32_t stages;
  Program program;
};

} // namespace

Result<double> pipelineSeconds(const PipelineShape &shape) {
  if (shape.stages == 1)
    return double(shape.microbatches) *
           (double(shape.chunks) * (shape.forward + shape.backward) + shape.firstForward +
            shape.firstBackward + shape.lastForward + shape.lastBackward);
  PipelineShape whole = shape;
  // Interleaving needs complete groups of microbatches; the remaining ones run without it.
  if (whole.chunks > 1 && whole.microbatches % whole.stages != 0) {
    whole.forward *= double(whole.chunks), whole.backward *= double(whole.chunks);
    whole.chunks = 1;
  }
  TILEWRIGHT_ASSIGN(Outcome outcome, simulate(PipelineProgram(whole).build(), {}));
  return outcome.seconds;
}

} // namespace tilewright::predict
