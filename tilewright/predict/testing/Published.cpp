#include "tilewright/predict/testing/Published.h"

#include <cstdlib>
#include <map>
#include <sstream>

namespace tilewright::predict {

namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    parts.push_back(part);
  return parts;
}

double number(const std::string &text) { return std::strtod(text.c_str(), nullptr); }
bool has(const std::string &text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

/// The number after a word: 8 for "tp8" in "l12_tp8_pp1"; `otherwise` if it does not occur.
int64_t after(const std::string &text, const std::string &word, int64_t otherwise) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '_';
    const size_t digits = at + word.size();
    if (begins && digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])))
      return std::atoll(text.c_str() + digits);
  }
  return otherwise;
}

Model gpt(int64_t layers, int64_t hidden, int64_t heads, int64_t vocabulary) {
  Model model;
  model.layers = layers, model.hidden = hidden, model.ffn = 4 * hidden;
  model.heads = model.kvHeads = heads, model.headDim = hidden / heads;
  model.vocabulary = vocabulary;
  return model;
}
Model llama(int64_t layers, int64_t hidden, int64_t ffn, int64_t heads, int64_t kvHeads,
            int64_t vocabulary) {
  Model model = gpt(layers, hidden, heads, vocabulary);
  model.ffn = ffn, model.kvHeads = kvHeads, model.mlpProducts = 3;
  return model;
}
Model moe(Model model, int64_t experts, int64_t perToken, int64_t expertFfn, int64_t sharedFfn,
          int64_t dense) {
  model.experts = experts, model.expertsPerToken = perToken, model.expertFfn = expertFfn;
  model.sharedFfn = sharedFfn, model.denseLayers = dense;
  return model;
}
Model latent(Model model, int64_t queryRank) {
  model.headDim = 128, model.queryRank = queryRank, model.keyRank = 512, model.ropeDim = 64;
  return model;
}

Model modelNamed(const std::string &name) {
  static const std::pair<const char *, Model> models[] = {
      {"MPT-125m", gpt(12, 768, 12, 50368)},
      {"MPT-350m", gpt(24, 1024, 16, 50368)},
      {"MPT-760m", gpt(24, 1536, 12, 50368)},
      {"MPT-1b", gpt(24, 2048, 16, 50368)},
      {"MPT-3b", gpt(32, 2560, 20, 50368)},
      {"MPT-7b", gpt(32, 4096, 32, 50368)},
      {"MPT-13b", gpt(40, 5120, 40, 50368)},
      {"MPT-30b", gpt(48, 7168, 56, 50368)},
      {"MPT-70b", gpt(80, 8192, 64, 50368)},
      {"Llama3.1-8B", llama(32, 4096, 14336, 32, 8, 128256)},
      {"Llama3-8B", llama(32, 4096, 14336, 32, 8, 128256)},
      {"Llama3.1-70B", llama(80, 8192, 28672, 64, 8, 128256)},
      {"Llama3-70B", llama(80, 8192, 28672, 64, 8, 128256)},
      {"llama3_70b", llama(80, 8192, 28672, 64, 8, 128256)},
      {"Llama3.1-405B", llama(126, 16384, 53248, 128, 8, 128256)},
      {"Llama3 405B", llama(126, 16384, 53248, 128, 8, 128256)},
      {"llama3_405b", llama(126, 16384, 53248, 128, 8, 128256)},
      {"Llama2 7B", llama(32, 4096, 11008, 32, 32, 32000)},
      {"GPT3 5B", gpt(24, 4096, 32, 50257)},
      {"GPT3 175B", gpt(96, 12288, 96, 50257)},
      {"GPT 22B", gpt(48, 6144, 64, 51200)},
      {"GPT 175B l96", gpt(96, 12288, 128, 64000)},
      {"GPT 175B", gpt(96, 12288, 96, 51200)},
      {"GPT 530B", gpt(105, 20480, 128, 51200)},
      {"GPT 1T", gpt(128, 25600, 160, 51200)},
      {"deepseekv2",
       moe(latent(llama(60, 5120, 12288, 128, 128, 102400), 1536), 160, 6, 1536, 2 * 1536, 1)},
      {"deepseekv3",
       moe(latent(llama(61, 7168, 18432, 128, 128, 129280), 1536), 256, 8, 2048, 2048, 3)},
      {"DeepSeekV3",
       moe(latent(llama(61, 7168, 18432, 128, 128, 129280), 1536), 256, 8, 2048, 2048, 3)},
      {"Qwen3-30B", moe(llama(48, 2048, 6144, 32, 4, 151936), 128, 8, 768, 0, 0)},
      {"Qwen3-235B", moe(llama(94, 4096, 12288, 64, 4, 151936), 128, 8, 1536, 0, 0)},
  };
  for (const auto &[prefix, model] : models)
    if (name.starts_with(prefix)) {
      Model found = model;
      if (name.starts_with("Qwen3"))
        found.headDim = 128;
      return found;
    }
  // "GPT 1.7B l24 h2304 a24 V51200"
  return gpt(after(name, "l", 1), after(name, "h", 1), after(name, "a", 1), after(name, "V", 1));
}

std::string typeOf(const std::string &precision) { return has(precision, "fp8") ? "f8" : "bf16"; }

/// FLOPs of a step as the Megatron papers count them.
double megatronFlops(const Model &model, const Layout &layout) {
  const double b = double(layout.batch), s = double(layout.sequence), l = double(model.layers),
               h = double(model.hidden), v = double(model.vocabulary);
  return 96 * b * s * l * h * h * (1 + s / (6 * h) + v / (16 * l * h));
}
/// 6 FLOPs for each parameter and token, and attention under a causal mask.
double modelFlops(const Model &model, const Layout &layout) {
  const double tokens = double(layout.batch * layout.sequence);
  const double embedding = double(model.vocabulary * model.hidden);
  return 6 * tokens * (model.parameters() - embedding) +
         6 * tokens * double(model.layers * model.hidden) * double(layout.sequence);
}

class Reader {
public:
  explicit Reader(const Row &row) : row(row), values(split(row.at("value"), ';')) {
    const std::string &id = row.at("id");
    step.source = id.substr(0, id.find_first_of("_0123456789"));
    step.id = id;
    step.model = modelNamed(row.at("model"));
    Layout &layout = step.layout;
    layout.chips = static_cast<int64_t>(number(row.at("chips")));
    layout.batch = static_cast<int64_t>(number(row.at("global_batch_seqs")));
    layout.sequence = static_cast<int64_t>(number(row.at("seq")));
    layout.type = typeOf(row.at("precision"));
    const std::string &parallelism = row.at("parallelism");
    layout.tensor = after(parallelism, "TP", 1);
    layout.pipeline = after(parallelism, "PP", 1);
    layout.chunks = after(parallelism, "VP", after(parallelism, "v", 1));
    layout.context = after(parallelism, "CP", 1);
    layout.expert = after(parallelism, "EP", 1);
    const std::string &chip = row.at("chip");
    for (auto [part, cluster] : {std::pair("GB200", "gb200"),
                                 {"GB300", "gb300"},
                                 {"B200", "b200"},
                                 {"H100", "h100"},
                                 {"h100", "h100"},
                                 {"A100", "a100"},
                                 {"a100", "a100"}})
      if (step.cluster.empty() && has(chip, part))
        step.cluster = cluster;
    step.wider = step.source + " " + chip;
    step.stack = step.wider + " " + layout.type;
  }

  std::vector<PublishedStep> read() {
    const std::string &source = step.source;
    if (source == "mpt")
      mpt();
    else if (source == "simumax")
      simumax();
    else if (source == "titan")
      titan();
    else if (source == "megatron")
      megatron();
    else if (source == "seqsel")
      seqsel();
    else if (source == "megascale")
      megascale();
    else if (source == "llama")
      llama3();
    else if (source == "bridge")
      bridge();
    else if (source == "pax")
      pax();
    else if (source == "maxtext" && step.cluster == "h100")
      maxtext();
    else
      for (size_t i = 0; i < values.size(); ++i)
        missing("there are no measurements of TPUs", i);
    return std::move(steps);
  }

private:
  void add(double seconds, const std::string &suffix = "") {
    steps.push_back(step);
    steps.back().id += suffix;
    steps.back().seconds = seconds;
  }
  void missing(const std::string &why, size_t value) {
    steps.push_back(step);
    steps.back().id += "#" + std::to_string(value);
    steps.back().missing = why;
  }
  double tokensPerSecond(double perChip) const {
    return double(step.layout.batch * step.layout.sequence) / (perChip * double(step.layout.chips));
  }

  void mpt() {
    Layout &layout = step.layout;
    const std::string &how = row.at("parallelism");
    layout.shards = has(how, "FULL_SHARD") ? Layout::Shards::all : Layout::Shards::allKept;
    layout.recompute = has(how, "actckpt=True") ? Layout::Recompute::all : Layout::Recompute::none;
    layout.microbatch = after(how, "mbs=", 1);
    add(tokensPerSecond(number(values[0])));
  }

  void simumax() {
    Layout &layout = step.layout;
    const std::string &name = row.at("model");
    step.model.layers = after(name, "l", step.model.layers);
    step.model.denseLayers = std::min<int64_t>(step.model.denseLayers, 1);
    layout.tensor = after(name, "tp", 1), layout.pipeline = after(name, "pp", 1);
    layout.context = after(name, "cp", 1), layout.expert = after(name, "ep", 1);
    layout.sequence = after(name, "seq", 4096);
    layout.isSequenceParallel = layout.tensor > 1;
    layout.shards = Layout::Shards::optimizer;
    layout.gradientBytes = 4;
    layout.overlapsGradients = false;
    layout.batch = after(name, "mbc", 1) * layout.replicas();
    add(number(values[0]) * 1e-3);
    steps.back().rival = number(values[1]) * 1e-3;
  }

  void titan() {
    Layout &layout = step.layout;
    const std::string &how = row.at("parallelism");
    const bool isLarge = !has(row.at("model"), "8B");
    layout.shards = Layout::Shards::all;
    layout.gradientBytes = 4;
    layout.isSequenceParallel = layout.tensor > 1;
    layout.recompute = isLarge ? Layout::Recompute::all : Layout::Recompute::half;
    if (const int64_t local = after(how, "lbs", 0); local > 0)
      layout.batch = local * layout.replicas();
    layout.overlapsTensor = has(how, "asyncTP");
    layout.chunks = has(how, "interleaved") ? 2 : 1;
    // By default a pipeline has as many microbatches as stages, chunks included.
    const int64_t microbatches = layout.pipeline > 1 ? layout.pipeline * layout.chunks : 1;
    layout.microbatch = std::max<int64_t>(layout.batch / layout.replicas() / microbatches, 1);
    // Narrow products are always compiled; bf16 runs without the compiler are a stack of their own.
    const bool isEager =
        layout.type == "bf16" && layout.chips <= 128 && !has(how, "compile") && !has(how, "lbs");
    step.stack += isEager ? " eager" : " compiled";
    if (values.size() == 1) {
      add(tokensPerSecond(number(values[0])));
      return;
    }
    add(tokensPerSecond(number(values[0])), " plain");
    step.layout.overlapsTensor = true;
    add(tokensPerSecond(number(values[1])), " async");
  }

  void megatron() {
    Layout &layout = step.layout;
    layout.recompute = Layout::Recompute::all;
    layout.hasFlashAttention = false;
    layout.overlapsGradients = false;
    layout.gradientBytes = 2;
    layout.microbatch = layout.pipeline == 1 ? 4 : 1;
    layout.chunks = layout.pipeline > 1 ? 2 : 1;
    layout.overlapsWeightGradients = true;
    step.stack = "megatron a100"; // the row of 8 chips is in the next paper of the same group
    add(megatronFlops(step.model, layout) / (double(layout.chips) * number(values[0]) * 1e12));
  }

  void seqsel() {
    Layout &layout = step.layout;
    layout.hasFlashAttention = false;
    layout.overlapsGradients = false;
    layout.microbatch = layout.pipeline == 1 ? 4 : 1;
    layout.overlapsWeightGradients = true;
    step.stack = "megatron a100";
    layout.recompute = Layout::Recompute::all;
    add(number(values[0]), " full");
    layout.recompute = Layout::Recompute::attention;
    layout.isSequenceParallel = true;
    add(number(values[1]), " selective");
  }

  void megascale() {
    Layout &layout = step.layout;
    step.cluster = "a100";
    layout.hasFlashAttention = false;
    layout.overlapsGradients = false;
    layout.recompute = Layout::Recompute::attention;
    layout.isSequenceParallel = true;
    layout.shards = Layout::Shards::optimizer;
    layout.overlapsWeightGradients = true;
    layout.gradientBytes = 4; // Megatron-LM reduces the gradients of bf16 models in f32
    step.stack = "megatron a100";
    add(number(values[0]), " Megatron-LM");
    missing("MegaScale changes the model and its kernels", 1);
  }

  void llama3() {
    Layout &layout = step.layout;
    layout.shards = Layout::Shards::optimizer;
    layout.isSequenceParallel = true;
    layout.gradientBytes = 4; // reduced in f32, as the paper says
    layout.chunks = 4;
    add(modelFlops(step.model, layout) / (double(layout.chips) * number(values[0]) * 1e12));
  }

  void bridge() {
    Layout &layout = step.layout;
    const bool isSharded = has(row.at("parallelism"), "FSDP");
    layout.shards = isSharded ? Layout::Shards::all : Layout::Shards::optimizer;
    layout.isSequenceParallel = layout.tensor > 1;
    layout.overlapsTensor = layout.tensor > 1;
    add(tokensPerSecond(number(values[0])));
  }

  void pax() {
    Layout &layout = step.layout;
    layout.shards = Layout::Shards::all;
    layout.recompute = Layout::Recompute::all;
    layout.hasFlashAttention = has(row.at("precision"), "TE");
    layout.microbatch = layout.batch / layout.replicas();
    // MaxText's run of 8 chips in the same repository has the same compiler.
    step.wider = "jax-toolbox " + step.cluster;
    add(number(values[1]));
  }

  void maxtext() {
    Layout &layout = step.layout;
    layout.shards = Layout::Shards::all;
    layout.sequence = 4096;
    layout.recompute = Layout::Recompute::attention;
    if (layout.batch == 0)
      layout.batch = 4 * layout.chips; // of the configuration that the page names
    layout.microbatch = layout.batch / layout.replicas();
    if (row.at("metric") == "step_s") {
      step.wider = "jax-toolbox " + step.cluster;
      add(number(values[0]));
      return;
    }
    step.networkBandwidth = 200e9 / 8 / 2; // A3: four ports of 200 Gbit/s for eight chips
    add(modelFlops(step.model, layout) / (double(layout.chips) * number(values[0]) * 1e12));
  }

  const Row &row;
  const std::vector<std::string> values;
  PublishedStep step;
  std::vector<PublishedStep> steps;
};

} // namespace

std::vector<PublishedStep> readPublishedSteps(const std::string &csv) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = split(line, ',');
  std::vector<PublishedStep> steps;
  while (std::getline(lines, line)) {
    Row row;
    const std::vector<std::string> fields = split(line, ',');
    for (size_t i = 0; i < std::min(names.size(), fields.size()); ++i)
      row[names[i]] = fields[i];
    for (PublishedStep &step : Reader(row).read())
      steps.push_back(std::move(step));
  }
  return steps;
}

} // namespace tilewright::predict
