// Training: steps of transformer training, generated from a model's dimensions and a layout.
#ifndef TILEWRIGHT_PREDICT_TRAINING_TRAINING_H
#define TILEWRIGHT_PREDICT_TRAINING_TRAINING_H

#include "tilewright/predict/Cluster.h"
#include "tilewright/support/Status.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace tilewright::predict {

/// The dimensions of a decoder.
struct Model {
  int64_t layers = 1, hidden = 1, ffn = 1, heads = 1, kvHeads = 1, headDim = 128, vocabulary = 1;
  int64_t mlpProducts = 2; // matrices of the MLP: 3 if it is gated
  /// Mixture of experts; 0 experts for a dense model.
  int64_t experts = 0, expertsPerToken = 0, expertFfn = 0, sharedFfn = 0, denseLayers = 0;
  /// Multi-head latent attention: ranks of the compressed queries and keys, 0 for none.
  int64_t queryRank = 0, keyRank = 0, ropeDim = 0;

  double attentionParameters() const;
  double mlpParameters(bool isExpert) const; // of all experts
  double parameters() const;
};

/// How a run divides the model and the batch over chips.
struct Layout {
  int64_t chips = 1;
  int64_t tensor = 1, pipeline = 1, chunks = 1, context = 1, expert = 1;
  int64_t batch = 1; // sequences of all chips
  int64_t microbatch = 1, sequence = 2048;
  enum class Shards : uint8_t {
    none,
    optimizer,
    all,
    allKept
  } shards = Shards::none; // allKept: no regather
  /// The part that the backward pass recomputes: nothing, the attention core, every second product
  /// and all elementwise kernels, or the whole layer.
  enum class Recompute : uint8_t { none, attention, half, all } recompute = Recompute::none;
  bool isSequenceParallel = false; // activations between blocks divided over `tensor`
  bool hasFlashAttention = true;
  bool overlapsTensor = false; // collectives of `tensor` decomposed and hidden behind products
  /// In the backward pass, the collective of a gradient with respect to activations overlaps with
  /// the product that computes the gradient with respect to weights, as in Megatron-LM.
  bool overlapsWeightGradients = false;
  bool overlapsGradients = true;
  bool isCausal = true;      // kernels skip what the mask removes
  std::string type = "bf16"; // of products
  double gradientBytes = 2;  // of an element that is reduced

  int64_t replicas() const { return chips / (tensor * pipeline * context); }
  int64_t microbatches() const { return std::max<int64_t>(batch / (replicas() * microbatch), 1); }
};

/// The factors by which kernels of each class are slower than the tables say, calibrated for a chip
/// and a software stack.
struct KernelFactors {
  double product = 1, attention = 1, memory = 1;
};

/// Seconds of one training step: forward and backward of all microbatches, collectives of each kind
/// of parallelism, the optimizer. Layers and pipelines run in the simulator.
Result<double> trainingStep(const Cluster &cluster, const Model &model, const Layout &layout,
                            const KernelFactors &factors);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_TRAINING_TRAINING_H
