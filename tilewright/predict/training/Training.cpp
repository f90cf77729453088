#include "tilewright/predict/training/Training.h"

#include "tilewright/predict/Price.h"
#include "tilewright/predict/Simulate.h"
#include "tilewright/predict/training/Pipeline.h"

#include <algorithm>
#include <cmath>

namespace tilewright::predict {

double Model::attentionParameters() const {
  const double h = double(hidden), d = double(headDim), a = double(heads), g = double(kvHeads);
  if (keyRank > 0) {
    const double query = queryRank > 0
                             ? h * double(queryRank) + double(queryRank) * a * (d + double(ropeDim))
                             : h * a * (d + double(ropeDim));
    return query + h * double(keyRank + ropeDim) + double(keyRank) * a * 2 * d + a * d * h;
  }
  return h * (a + 2 * g) * d + a * d * h;
}

double Model::mlpParameters(bool isExpert) const {
  const double h = double(hidden), products = double(mlpProducts);
  return isExpert ? h * products * (double(experts * expertFfn) + double(sharedFfn)) +
                        h * double(experts)
                  : h * products * double(ffn);
}

double Model::parameters() const {
  const double dense = experts > 0 ? double(denseLayers) : double(layers);
  return double(layers) * attentionParameters() + dense * mlpParameters(false) +
         (double(layers) - dense) * mlpParameters(true) + 2 * double(vocabulary * hidden);
}

namespace {

/// Kernel times of a rank, for one microbatch.
class Costs {
public:
  Costs(const Cluster &cluster, const Model &model, const Layout &layout,
        const KernelFactors &factors)
      : cluster(cluster), model(model), layout(layout), factors(factors),
        tokens(double(layout.microbatch * layout.sequence) / double(layout.context)),
        tensor(double(layout.tensor)) {}

  struct Pass {
    double forward = 0, backward = 0;
    Pass &operator+=(const Pass &other) {
      forward += other.forward, backward += other.backward;
      return *this;
    }
  };

  /// A linear layer: one product forward, two backward.
  Pass linear(double rows, double inputs, double outputs, double batch = 1) const {
    const double forward = product(rows, outputs, inputs, batch);
    return {forward, product(rows, inputs, outputs, batch) + product(inputs, outputs, rows, batch)};
  }
  double memory(double bytes) const { return factors.memory * bytes / cluster.memoryBandwidth; }
  /// Two kernels that stream tensors: backward reads and writes about twice as much.
  Pass stream(double bytes) const {
    constexpr double kernels = 2;
    return {memory(bytes) + kernels * cluster.launch,
            memory(2 * bytes) + 2 * kernels * cluster.launch};
  }

  /// Attention without its linear layers, which a selective recomputation repeats.
  Pass core() const {
    const double heads = double(model.heads) / tensor, d = double(model.headDim),
                 s = double(layout.sequence);
    const double keyDim = d + double(model.ropeDim);
    // The scores and their product with the values; a causal mask halves the work of a fused
    // kernel.
    const double flops = 2 * tokens * s * heads * (keyDim + d) *
                         (layout.hasFlashAttention && layout.isCausal ? 0.5 : 1);
    if (layout.hasFlashAttention) {
      const double rate = 0.5 * peak("bf16");
      return {factors.attention * flops / rate, factors.attention * 2.5 * flops / (0.85 * rate)};
    }
    const double batch = double(layout.microbatch) * heads;
    const double forward = product(s, s, d, batch, "bf16") + product(s, d, s, batch, "bf16");
    const double scores = batch * s * s / double(layout.context);
    // The scores are written, masked and normalised in place, dropped out with a byte of mask per
    // element, and read.
    Pass pass = stream(13 * scores);
    pass.forward += factors.attention * forward;
    pass.backward += factors.attention * 2 * forward;
    return pass;
  }

  Pass attentionBlock() const {
    const double h = double(model.hidden), d = double(model.headDim),
                 a = double(model.heads) / tensor,
                 g = std::max(double(model.kvHeads) / tensor, 1.0);
    Pass pass;
    if (model.keyRank > 0) {
      const double rank = double(model.keyRank), rope = double(model.ropeDim);
      pass += linear(tokens, h, double(model.queryRank));
      pass += linear(tokens, double(model.queryRank), a * (d + rope));
      pass += linear(tokens, h, rank + rope);
      pass += linear(tokens, rank, a * 2 * d);
      pass += stream(tokens * a * (d + rope) * 16);
    } else {
      pass += linear(tokens, h, (a + 2 * g) * d);
      pass += stream(tokens * (a + g) * d * 4);
    }
    pass += linear(tokens, a * d, h);
    pass += between();
    return pass;
  }

  Pass mlpBlock(bool isExpert) const {
    const double h = double(model.hidden), up = double(model.mlpProducts - 1);
    Pass pass = between();
    auto dense = [&](double rows, double ffn, double batch) {
      pass += linear(rows, h, up * ffn, batch);
      pass += linear(rows, ffn, h, batch);
      pass += stream(batch * rows * ffn * 2 * (up + 1));
    };
    if (!isExpert) {
      dense(tokens, double(model.ffn) / tensor, 1);
      return pass;
    }
    // Tokens are spread evenly over experts.
    const double local = std::max(double(model.experts) / double(layout.expert), 1.0);
    const double routed = tokens * double(model.expertsPerToken) / tensor;
    dense(routed / local, double(model.expertFfn), local);
    if (model.sharedFfn > 0)
      dense(tokens, double(model.sharedFfn) / tensor, 1);
    pass += linear(tokens / tensor, h, double(model.experts));
    pass += stream(routed * h * 2 * 6); // permuted before and after, combined
    return pass;
  }

  Pass head() const {
    const double vocabulary = double(model.vocabulary) / tensor;
    Pass pass = linear(tokens, double(model.hidden), vocabulary);
    pass += Pass{memory(tokens * vocabulary * 12), memory(tokens * vocabulary * 8)};
    return pass;
  }
  Pass embedding() const { return stream(tokens * double(model.hidden) * 8); }

  /// Adam on this rank's part of the parameters: gradient, two moments and a master copy.
  double optimizer(double parameters) const { return memory(36 * parameters); }

private:
  double peak(const std::string &type) const {
    auto found = cluster.peak.find(type);
    return found == cluster.peak.end() ? cluster.peak.at("bf16") : found->second;
  }
  double product(double m, double n, double k, double batch = 1, std::string_view type = {}) const {
    Work work;
    work.type = type.empty() ? std::string_view(layout.type) : type;
    work.batch = batch, work.m = m, work.n = n, work.k = k;
    work.flops = 2 * batch * m * n * k;
    // Narrow operands are quantized before the product, from two bytes to one.
    const bool isNarrow = work.type == "f8";
    work.bytes = 2 * batch * (m * k + k * n + m * n);
    return factors.product * (secondsOf(cluster, work) - cluster.launch) +
           (isNarrow ? memory(3 * batch * (m * k + k * n)) : 0) + cluster.launch;
  }
  /// A normalisation and a residual addition; divided over `tensor` only with sequence parallelism.
  Pass between() const {
    const double rows = layout.isSequenceParallel ? tokens / tensor : tokens;
    return stream(rows * double(model.hidden) * 10);
  }

public:
  const Cluster &cluster;
  const Model &model;
  const Layout &layout;
  const KernelFactors &factors;
  const double tokens, tensor;
};

/// Builds the program of one pass through `layers` equal layers.
class LayerProgram {
public:
  explicit LayerProgram(const Costs &costs) : costs(costs), layout(costs.layout) {}

  /// Kernels scatter by the cluster's jitter, and every exchange waits for its slowest member.
  Result<double> run(double layers, bool isExpert, bool isBackward) {
    Program program;
    program.classes = {{"all ranks", layout.chips}};
    program.names = {"kernels"};
    Node body;
    body.ops.resize(1);
    ops = &body.ops[0];
    exchanges = &program.exchanges;
    const Costs::Pass attention = costs.attentionBlock(), core = costs.core(),
                      mlp = costs.mlpBlock(isExpert);
    const bool regathers = layout.shards == Layout::Shards::all;
    const bool shards = regathers || layout.shards == Layout::Shards::allKept;
    const double parameters =
        (costs.model.attentionParameters() + costs.model.mlpParameters(isExpert)) / costs.tensor;
    // While this layer computes, the parameters of the next one are gathered and the gradients of
    // the previous one reduced. In a pipeline, parameters stay gathered between microbatches.
    std::vector<uint32_t> hidden;
    if (shards && layout.pipeline == 1) {
      if (!isBackward || regathers)
        hidden.push_back(dataExchange(CollectiveKind::allGather, 2 * parameters, 0));
      if (isBackward)
        hidden.push_back(
            dataExchange(CollectiveKind::reduceScatter, layout.gradientBytes * parameters, 1));
    }
    for (uint32_t exchange : hidden)
      ops->push_back({Op::Kind::start, exchange, 0});
    auto forward = [&](double share) {
      tensorBlock(share * attention.forward + core.forward, false);
      expertBlock(share * mlp.forward, isExpert, false);
    };
    if (!isBackward) {
      forward(1);
    } else {
      if (layout.recompute == Layout::Recompute::all)
        forward(1);
      const double again = layout.recompute == Layout::Recompute::half ? 0.5 : 0;
      const double coreAgain = layout.recompute == Layout::Recompute::attention ? core.forward : 0;
      expertBlock(again * mlp.forward + mlp.backward, isExpert, true);
      tensorBlock(again * attention.forward + coreAgain + core.backward + attention.backward, true);
    }
    for (uint32_t exchange : hidden)
      ops->push_back({Op::Kind::done, exchange, 0});
    Node loop;
    loop.iterations = std::max<int64_t>(static_cast<int64_t>(std::llround(layers)), 1);
    loop.body = {std::move(body)};
    program.nodes = {std::move(loop)};
    TILEWRIGHT_ASSIGN(Outcome outcome, simulate(program, {.jitter = costs.cluster.jitter,
                                                          .contention = costs.cluster.contention}));
    return outcome.seconds * layers / double(program.nodes[0].iterations);
  }

private:
  /// An exchange of `ranks` ranks, which wait for the slowest of them.
  uint32_t add(double seconds, uint32_t lane, int64_t ranks) {
    exchanges->push_back({"exchange", seconds, lane, lane, {0}, 0, ranks});
    return static_cast<uint32_t>(exchanges->size() - 1);
  }
  /// An exchange between the replicas that hold the same part of the model.
  uint32_t dataExchange(CollectiveKind kind, double bytes, uint32_t lane) {
    const int64_t members = layout.replicas() * layout.context;
    return add(
        secondsOf(costs.cluster, kind, bytes, shapeAlong(costs.cluster, members, layout.tensor)),
        lane, members);
  }
  void compute(double seconds) { ops->push_back({Op::Kind::compute, 0, seconds}); }

  /// A block between two collectives of tensor parallelism, with an attention whose sequence may be
  /// divided.
  void tensorBlock(double seconds, bool isBackward) {
    betweenCollectives(seconds, isBackward, [this](double part) { contextBlock(part); });
  }

  template <typename Compute>
  void betweenCollectives(double seconds, bool isBackward, Compute computePart) {
    if (layout.tensor == 1)
      return computePart(seconds);
    const double bytes = 2 * costs.tokens * double(costs.model.hidden);
    auto exchange = [&](CollectiveKind kind) {
      return add(secondsOf(costs.cluster, kind, bytes, shapeAlong(costs.cluster, layout.tensor, 1)),
                 2, layout.tensor);
    };
    // About half of a backward pass computes gradients of weights, which need no collective.
    const bool hides = isBackward && layout.overlapsWeightGradients;
    if (!layout.isSequenceParallel) {
      computePart(hides ? seconds / 2 : seconds);
      beside(exchange(CollectiveKind::allReduce), hides ? seconds / 2 : 0);
      return;
    }
    const uint32_t gather = exchange(CollectiveKind::allGather),
                   scatter = exchange(CollectiveKind::reduceScatter);
    if (layout.overlapsTensor) {
      beside(gather, seconds / 2);
      beside(scatter, seconds / 2);
      return;
    }
    blocking(gather);
    computePart(hides ? seconds / 2 : seconds);
    beside(scatter, hides ? seconds / 2 : 0);
  }
  /// An exchange that overlaps with kernels.
  void beside(uint32_t exchange, double seconds) {
    ops->push_back({Op::Kind::start, exchange, 0});
    if (seconds > 0)
      compute(seconds);
    ops->push_back({Op::Kind::done, exchange, 0});
  }
  void blocking(uint32_t exchange) {
    ops->push_back({Op::Kind::start, exchange, 0});
    ops->push_back({Op::Kind::done, exchange, 0});
  }
  /// Keys and values travel around the ranks that divide a sequence while attention computes.
  void contextBlock(double seconds) {
    if (layout.context == 1) {
      compute(seconds);
      return;
    }
    const double kv =
        2 * 2 * costs.tokens * double(costs.model.kvHeads * costs.model.headDim) / costs.tensor;
    const double hop = secondsOf(costs.cluster, CollectiveKind::permute, kv,
                                 shapeAlong(costs.cluster, layout.context, layout.tensor));
    beside(add(hop * double(layout.context - 1), 3, layout.context), seconds);
  }
  void expertBlock(double seconds, bool isExpert, bool isBackward) {
    if (!isExpert || layout.expert == 1)
      return betweenCollectives(seconds, isBackward, [this](double part) { compute(part); });
    const double bytes =
        2 * costs.tokens * double(costs.model.expertsPerToken * costs.model.hidden) / costs.tensor;
    const double exchange = secondsOf(costs.cluster, CollectiveKind::allToAll, bytes,
                                      shapeAlong(costs.cluster, layout.expert, 1));
    blocking(add(exchange, 2, layout.expert)); // dispatch
    compute(seconds);
    blocking(add(exchange, 2, layout.expert)); // combine
  }

  const Costs &costs;
  const Layout &layout;
  std::vector<Op> *ops = nullptr;
  std::vector<Exchange> *exchanges = nullptr;
};

} // namespace

Result<double> trainingStep(const Cluster &cluster, const Model &model, const Layout &layout,
                            const KernelFactors &factors) {
  const Costs costs(cluster, model, layout, factors);
  LayerProgram layers(costs);
  const bool isMoe = model.experts > 0;
  const double dense = isMoe ? double(model.denseLayers) : double(model.layers);
  const double moe = double(model.layers) - dense;
  // Forward and backward of all layers, for one microbatch.
  double forward = 0, backward = 0;
  for (auto [count, isExpert] : {std::pair(dense, false), {moe, true}}) {
    if (count <= 0)
      continue;
    TILEWRIGHT_ASSIGN(double one, layers.run(count, isExpert, false));
    TILEWRIGHT_ASSIGN(double other, layers.run(count, isExpert, true));
    forward += one, backward += other;
  }
  const Costs::Pass head = costs.head(), embedding = costs.embedding();

  PipelineShape pipeline;
  pipeline.stages = layout.pipeline;
  pipeline.chunks = layout.chunks;
  pipeline.microbatches = layout.microbatches();
  const double parts = double(layout.pipeline * layout.chunks);
  pipeline.forward = forward / parts;
  pipeline.backward = backward / parts;
  pipeline.firstForward = embedding.forward, pipeline.firstBackward = embedding.backward;
  pipeline.lastForward = head.forward, pipeline.lastBackward = head.backward;
  if (layout.pipeline > 1) {
    // Each rank of a tensor group sends its part; without sequence parallelism, the receivers then
    // gather the whole tensor inside their group.
    const double bytes = 2 * costs.tokens * double(model.hidden);
    pipeline.transfer = secondsOf(cluster, CollectiveKind::permute, bytes / costs.tensor,
                                  shapeAlong(cluster, 2, layout.chips / layout.pipeline));
    if (!layout.isSequenceParallel)
      pipeline.transfer += secondsOf(cluster, CollectiveKind::allGather, bytes,
                                     shapeAlong(cluster, layout.tensor, 1));
  }
  TILEWRIGHT_ASSIGN(double seconds, pipelineSeconds(pipeline));

  // Once per step: the gradients, and the parameters after a sharded optimizer.
  const double expertParameters =
      isMoe ? moe * double(model.experts * model.expertFfn * model.mlpProducts * model.hidden) : 0;
  const double others = model.parameters() - expertParameters;
  const double local =
      (others / costs.tensor + expertParameters / double(layout.expert * layout.tensor)) /
      double(layout.pipeline);
  const int64_t members = layout.replicas() * layout.context;
  const GroupShape shape = shapeAlong(cluster, members, layout.tensor);
  const bool isSharded =
      layout.shards == Layout::Shards::all || layout.shards == Layout::Shards::allKept;
  const double divided = layout.shards == Layout::Shards::none ? 1 : double(members);
  double exchange = 0;
  if (members > 1 && !(isSharded && layout.pipeline == 1)) {
    const bool isDivided = layout.shards != Layout::Shards::none;
    exchange = isDivided ? secondsOf(cluster, CollectiveKind::reduceScatter,
                                     layout.gradientBytes * local, shape) +
                               secondsOf(cluster, CollectiveKind::allGather, 2 * local, shape)
                         : secondsOf(cluster, CollectiveKind::allReduce,
                                     layout.gradientBytes * local, shape);
    // This exchange overlaps with the backward pass of the last microbatch; the gather overlaps
    // with the first forward pass.
    if (layout.overlapsGradients)
      exchange =
          std::max(exchange - 0.5 * (forward + backward) / double(layout.pipeline), 0.1 * exchange);
  }
  return seconds + exchange + costs.optimizer(local / divided);
}

} // namespace tilewright::predict
