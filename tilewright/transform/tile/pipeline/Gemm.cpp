#include "tilewright/transform/tile/pipeline/Gemm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace tilewright::pipeline {
namespace {

int64_t ceilDivide(double amount, double rate) {
  return std::max<int64_t>(1, int64_t(std::ceil(amount / rate)));
}

/// Bytes of one iteration's operands.
struct StepBytes {
  int64_t lhs, rhs;
};
StepBytes stepBytes(const Gemm &gemm, const GemmChoice &choice) {
  return {choice.m * choice.k * gemm.lhsBits / 8, choice.n * choice.k * gemm.rhsBits / 8};
}

/// The part of a processor's tile that one warp multiplies, for products from registers.
struct WarpTile {
  int64_t m, n, warps;
};
WarpTile warpTile(const GemmChoice &choice) {
  WarpGrid grid = warpGrid(choice);
  return {choice.m / grid.m, choice.n / grid.n, grid.m * grid.n};
}

/// Cycles between the products of two iterations in which the tensor core has nothing: without
/// roles all warps meet at a barrier and start the next copies; with them it is a wait that has
/// long been over. Estimates from the issue cycles of peers' loops beside their products'.
int64_t stepOverhead(MatrixUnit unit) {
  switch (unit) {
  case MatrixUnit::mmaSync:
    return 48;
  case MatrixUnit::wgmma:
    return 16;
  case MatrixUnit::tcgen05:
    return 8;
  }
  return 0;
}

/// Instructions of a warp for each element of a left side that it computes: half a load, a
/// conversion, an operation or two in f32, half a conversion of a pair. Counted in the machine code
/// of bf16 from f8, which has 3.1, and of s8 and i4 with scales, which have more.
constexpr double prologueInstructions = 4;

/// Cycles of one iteration's product, and what it is that takes them.
struct ProductCycles {
  int64_t cycles;
  const char *limit;
};
ProductCycles productCycles(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  int64_t pair = machine.matrixUnit == MatrixUnit::tcgen05 && choice.clusterM == 2 ? 2 : 1;
  int64_t rate = machine.products.lookup(gemm.type);
  int64_t tensor = ceilDivide(double(choice.m) * choice.n * choice.k, double(rate));
  StepBytes bytes = stepBytes(gemm, choice);
  // What is read from shared memory: by each group its rows and all columns, by each warp likewise.
  int64_t read = bytes.lhs + bytes.rhs / pair;
  if (machine.matrixUnit == MatrixUnit::wgmma) {
    read = bytes.lhs + bytes.rhs * llvm::divideCeil(choice.m, 64);
  } else if (machine.matrixUnit == MatrixUnit::mmaSync) {
    WarpTile warp = warpTile(choice);
    read = warp.warps * choice.k * (warp.m * gemm.lhsBits + warp.n * gemm.rhsBits) / 8;
  }
  int64_t shared = ceilDivide(read, double(machine.sharedBytesPerCycle));
  // Four schedulers issue one instruction of a warp, for 32 elements, in a cycle each.
  int64_t issue = gemm.lhsInRegisters
                      ? ceilDivide(double(choice.m) * choice.k * prologueInstructions, 4 * 32)
                      : 0;
  ProductCycles product{tensor, "the tensor core"};
  if (shared > product.cycles)
    product = {shared, "shared memory"};
  if (issue > product.cycles)
    product = {issue, "what is computed on the way to the product"};
  product.cycles += stepOverhead(machine.matrixUnit);
  return product;
}

enum : unsigned { copies, tensor };

/// Bytes that barriers and tables take in shared memory, and the alignment of swizzled slots.
constexpr int64_t reservedBytes = 2048;
/// Registers of a thread besides its accumulators: addresses, phases, descriptors, and what the
/// epilogue has at once.
constexpr int64_t mathRegisters = 56, loadRegisters = 40;
/// Registers of a thread for a left side that is computed: the side as the instruction takes it,
/// and as it was read, of which two bytes take a register.
int64_t prologueRegisters(const Gemm &gemm, const GemmChoice &choice, int64_t groups) {
  if (!gemm.lhsInRegisters)
    return 0;
  int64_t elements = choice.m * choice.k / (128 * groups);
  return elements * gemm.rhsBits / 32 + elements * std::max<int64_t>(16, gemm.lhsBits) / 32;
}
/// Fragments of both operands for two steps of a warp's product: an instruction is 256 bits deep.
int64_t fragmentRegisters(const GemmChoice &choice) {
  WarpTile warp = warpTile(choice);
  return 2 * (warp.m + warp.n) * 256 / 32 / 32;
}

} // namespace

Machine withWarpProducts(Machine machine) {
  // H100 reaches 63% of its rate with mma.sync ("Benchmarking and Dissecting the Nvidia Hopper GPU
  // Architecture via Microbenchmarking"). For later chips nothing is published: taken as H100's.
  int64_t part = machine.matrixUnit == MatrixUnit::mmaSync ? 16
                 : machine.matrixUnit == MatrixUnit::wgmma ? 10
                                                           : 5;
  for (auto &entry : machine.products)
    entry.second = entry.second * part / 16;
  machine.matrixUnit = MatrixUnit::mmaSync;
  machine.cluster = 1;
  machine.limits.movesRegisters = false;
  return machine;
}

WarpGrid warpGrid(const GemmChoice &choice) {
  // Squares read least: as many warps along a side as keep 64 (or all) of it to each.
  int64_t alongM = std::max<int64_t>(1, choice.m / 64),
          alongN = std::max<int64_t>(1, choice.n / 64);
  while (alongM * alongN > 8)
    (alongM > alongN ? alongM : alongN) /= 2;
  while (alongM * alongN < 4 && (choice.m / alongM > 16 || choice.n / alongN > 16))
    (choice.m / alongM >= choice.n / alongN ? alongM : alongN) *= 2;
  return {alongM, alongN};
}

PipelineProblem gemmProblem(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  PipelineProblem problem;
  StepBytes bytes = stepBytes(gemm, choice);
  bool pair = machine.matrixUnit == MatrixUnit::tcgen05 && choice.clusterM == 2;
  // A CTA of a pair has half of the tile's columns; its rows are its own.
  int64_t rhsBytes = pair ? bytes.rhs / 2 : bytes.rhs;
  // From L2 a cluster reads what its CTAs share once.
  double l2 = double(machine.l2BytesPerCycle) / machine.processors;
  int64_t lhsCopy = ceilDivide(bytes.lhs / double(choice.clusterN), l2);
  int64_t rhsCopy = ceilDivide(pair ? rhsBytes : bytes.rhs / double(choice.clusterM), l2);
  const auto [product, limit] = productCycles(gemm, machine, choice);

  bool roles = machine.matrixUnit != MatrixUnit::mmaSync;
  problem.loop.units = {{"the way from L2", 1, true}, {limit, 1, roles}};
  problem.loop.ops = {{"copy of lhs", copies, lhsCopy, machine.copyLatency + lhsCopy},
                      {"copy of rhs", copies, rhsCopy, machine.copyLatency + rhsCopy},
                      {"product", tensor, product, product + machine.matrixLatency}};
  problem.loop.dependences = {
      {0, 2, problem.loop.ops[0].latency}, {1, 2, problem.loop.ops[1].latency}, {2, 2, product, 1}};
  problem.buffers = {{"lhs", 0, {{2, 0}}, Space::shared, bytes.lhs},
                     {"rhs", 1, {{2, 0}}, Space::shared, rhsBytes}};
  problem.channels = {{"operands", {0, 1}}};
  problem.iterations = llvm::divideCeil(gemm.k, choice.k);
  problem.limits = machine.limits;
  problem.limits.sharedReserved = reservedBytes;
  int64_t groups = std::min<int64_t>(2, llvm::divideCeil(choice.m, 64));
  if (machine.matrixUnit == MatrixUnit::wgmma) {
    problem.roles = {{"load", {copies}, 4, loadRegisters, 0, 1},
                     {"math",
                      {tensor},
                      4,
                      mathRegisters + prologueRegisters(gemm, choice, groups),
                      choice.m * choice.n,
                      groups,
                      groups}};
  } else if (machine.matrixUnit == MatrixUnit::tcgen05) {
    // The accumulator is in tensor memory, N columns for each of (at most) two tiles under way.
    problem.roles = {{"load", {copies}, 1, loadRegisters, 0, 1},
                     {"mma", {tensor}, 1, loadRegisters, 0, 1},
                     {"epilogue", {}, 4, 96, 0, 1}};
  } else {
    WarpTile warp = warpTile(choice);
    problem.roles = {{"all",
                      {copies, tensor},
                      warp.warps,
                      mathRegisters + fragmentRegisters(choice),
                      choice.m * choice.n,
                      1}};
  }
  return problem;
}

namespace {

/// Cycles to bring a tile of the result to memory, after its last product.
int64_t epilogueCycles(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  // Written to shared memory and read again, then on its way to L2.
  double bytes = double(choice.m) * choice.n * gemm.resultBits / 8;
  double l2 = double(machine.l2BytesPerCycle) / machine.processors;
  return ceilDivide(2 * bytes, double(machine.sharedBytesPerCycle)) + ceilDivide(bytes, l2) +
         machine.matrixLatency;
}

/// Bytes from memory for all waves when tiles go down `raster` rows first: a wave's tiles cover
/// some rows and some columns, and read each of them once, because they go through K together.
double memoryBytes(const Gemm &gemm, const GemmChoice &choice, int64_t rowsOfTiles,
                   int64_t columnsOfTiles, int64_t slots, int64_t raster) {
  int64_t perBatch = rowsOfTiles * columnsOfTiles;
  int64_t wave = std::min(slots, perBatch);
  int64_t rows = std::min({raster, rowsOfTiles, wave});
  int64_t columns = std::min<int64_t>(llvm::divideCeil(wave, rows), columnsOfTiles);
  rows = std::min<int64_t>(rowsOfTiles, std::max<int64_t>(rows, llvm::divideCeil(wave, columns)));
  double one =
      (double(rows) * choice.m * gemm.lhsBits + double(columns) * choice.n * gemm.rhsBits) / 8 *
      gemm.k;
  double waves = double(perBatch) / wave;
  double least = (double(gemm.m) * gemm.lhsBits + double(gemm.n) * gemm.rhsBits) / 8 * gemm.k;
  double result = double(gemm.m) * gemm.n * gemm.resultBits / 8;
  return gemm.batch * (std::max(least, waves * one) + result);
}

} // namespace

std::optional<GemmChoice> costOfTile(const Gemm &gemm, const Machine &machine, GemmChoice choice,
                                     std::string &reason) {
  if (machine.products.lookup(gemm.type) == 0) {
    reason = llvm::formatv("{0} does not multiply {1}", machine.chip, gemm.type).str();
    return std::nullopt;
  }
  PipelineProblem problem = gemmProblem(gemm, machine, choice);
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  if (!plan)
    return std::nullopt;
  choice.plan = *plan;
  int64_t rows = llvm::divideCeil(gemm.m, choice.m), columns = llvm::divideCeil(gemm.n, choice.n);
  bool pair = machine.matrixUnit == MatrixUnit::tcgen05 && choice.clusterM == 2;
  // Clusters are whole: the grid is padded to them. A pair is two rows of tiles of its own.
  int64_t padded = llvm::alignTo(rows, choice.clusterM) * llvm::alignTo(columns, choice.clusterN);
  choice.tiles = padded * gemm.batch;
  int64_t clusterSize = choice.clusterM * choice.clusterN;
  int64_t resident = 1;
  if (machine.matrixUnit == MatrixUnit::mmaSync) {
    int64_t threads = plan->threads;
    int64_t registers = std::min<int64_t>(machine.limits.maxRegisters,
                                          problem.roles[0].registers +
                                              llvm::divideCeil(choice.m * choice.n, threads));
    resident = std::max<int64_t>(
        1, std::min({machine.limits.sharedBytes / std::max<int64_t>(plan->sharedBytes, 1),
                     machine.limits.registers / (threads * registers), int64_t(2)}));
  }
  int64_t slots = machine.processors / clusterSize * clusterSize;
  choice.waves = llvm::divideCeil(choice.tiles, slots);
  int64_t epilogue = epilogueCycles(gemm, machine, choice);
  int64_t mainloop = problem.iterations * plan->schedule.interval;
  // Whose registers hold the accumulator cannot multiply during its epilogue, unless another CTA
  // does.
  int64_t exposed = pair || machine.matrixUnit == MatrixUnit::tcgen05
                        ? std::max<int64_t>(0, epilogue - mainloop)
                        : epilogue / resident;
  // The first copies of a persistent kernel's next tile run under the epilogue; without roles each
  // tile begins anew.
  int64_t fill =
      machine.copyLatency + problem.loop.ops[0].occupancy + problem.loop.ops[1].occupancy;
  bool roles = machine.matrixUnit != MatrixUnit::mmaSync;
  int64_t perTile = mainloop + exposed + (roles ? 0 : fill / resident);
  choice.computeCycles = choice.waves * perTile + (roles ? fill : 0) + epilogue - exposed;
  double best = 0;
  for (int64_t raster : {1, 2, 4, 8, 16}) {
    double bytes = memoryBytes(gemm, choice, rows, columns, slots, raster);
    if (best == 0 || bytes < best * 0.999) {
      best = bytes;
      choice.raster = raster;
    }
  }
  choice.memoryCycles = ceilDivide(best, double(machine.memoryBytesPerCycle)) + machine.copyLatency;
  choice.cycles = std::max(choice.computeCycles, choice.memoryCycles);
  double products = double(gemm.m) * gemm.n * gemm.k * gemm.batch;
  choice.efficiency =
      products / (double(machine.products.lookup(gemm.type)) * machine.processors * choice.cycles);

  auto percent = [](double part) { return int64_t(std::lround(part * 100)); };
  double used = double(choice.tiles) / (double(choice.waves) * slots);
  choice.reasons.push_back(llvm::formatv("{0} tiles on {1} processors are {2} wave{3}, {4}% full",
                                         choice.tiles, slots, choice.waves,
                                         choice.waves == 1 ? "" : "s", percent(used))
                               .str());
  double filled = double(gemm.m) * gemm.n / (double(rows) * choice.m * columns * choice.n);
  if (filled < 0.995)
    choice.reasons.push_back(
        llvm::formatv("{0}% of the tiles' elements are in the result", percent(filled)).str());
  StepBytes bytes = stepBytes(gemm, choice);
  choice.reasons.push_back(llvm::formatv("{0} products for each byte that a processor loads",
                                         percent(double(choice.m) * choice.n * choice.k /
                                                 (double(bytes.lhs) / choice.clusterN +
                                                  double(bytes.rhs) / choice.clusterM)) /
                                             100)
                               .str());
  if (gemm.lhsInRegisters)
    choice.reasons.push_back(
        llvm::formatv(
            "its left side goes through registers, because it is computed from what is "
            "loaded: {0} registers of a thread hold it",
            prologueRegisters(gemm, choice, std::min<int64_t>(2, llvm::divideCeil(choice.m, 64))))
            .str());
  if (clusterSize > 1)
    choice.reasons.push_back(
        llvm::formatv("{0} processors share {1} of their tiles, so L2 is read for {2} bytes "
                      "instead of {3} in each iteration",
                      clusterSize, choice.clusterM > 1 ? "the columns" : "the rows",
                      bytes.lhs / choice.clusterN + bytes.rhs / choice.clusterM,
                      bytes.lhs + bytes.rhs)
            .str());
  if (choice.memoryCycles > choice.computeCycles)
    choice.reasons.push_back(
        llvm::formatv("memory is in the way: {0} cycles to read and write, {1} to multiply",
                      choice.memoryCycles, choice.computeCycles)
            .str());
  if (choice.waves * slots < choice.tiles + slots && choice.raster > 1)
    choice.reasons.push_back(llvm::formatv("tiles go down {0} rows before the next column, so that "
                                           "a wave reads {1} MB from memory",
                                           choice.raster, int64_t(best / choice.waves / 1e6))
                                 .str());
  if (machine.matrixUnit == MatrixUnit::mmaSync) {
    WarpGrid grid = warpGrid(choice);
    choice.reasons.push_back(
        llvm::formatv("{0} warps in {1} rows and {2} columns multiply {3}x{4} each, so each reads "
                      "{5} bytes of an iteration's operands",
                      grid.m * grid.n, grid.m, grid.n, choice.m / grid.m, choice.n / grid.n,
                      bytes.lhs / grid.m + bytes.rhs / grid.n)
            .str());
  }
  llvm::append_range(choice.reasons, plan->reasons);
  return choice;
}

std::vector<GemmChoice> rankTiles(const Gemm &gemm, const Machine &machine) {
  std::vector<GemmChoice> ranked;
  std::string reason;
  if (machine.products.lookup(gemm.type) == 0)
    return ranked;
  // A left side that is computed is as long as the right one, whatever it is in memory.
  int64_t widest = gemm.lhsInRegisters ? gemm.rhsBits : std::max(gemm.lhsBits, gemm.rhsBits);
  bool registers = machine.matrixUnit == MatrixUnit::mmaSync;
  llvm::SmallVector<int64_t> sidesM, sidesN, depths;
  if (registers) {
    sidesM = {16, 32, 64, 128, 256};
    sidesN = {16, 32, 64, 128, 256};
    depths = {128 * 8 / widest};
  } else if (machine.matrixUnit == MatrixUnit::wgmma) {
    sidesM = {64, 128, 256};
    sidesN = {8, 16, 32, 64, 96, 128, 160, 192, 224, 256};
    depths = {128 * 8 / widest};
  } else {
    sidesM = {64, 128};
    sidesN = {16, 32, 64, 96, 128, 160, 192, 224, 256};
    depths = {128 * 8 / widest};
  }
  struct Shared {
    int64_t m, n;
  };
  llvm::SmallVector<Shared> clusters{{1, 1}};
  if (machine.cluster >= 2) {
    clusters.push_back({2, 1});
    clusters.push_back({1, 2});
  }
  for (int64_t m : sidesM)
    for (int64_t n : sidesN)
      for (int64_t k : depths)
        for (Shared cluster : clusters) {
          if (n % gemm.columnStep != 0 && gemm.columnStep > 8)
            continue;
          GemmChoice choice;
          choice.m = m;
          choice.n = n;
          choice.k = k;
          choice.clusterM = cluster.m;
          choice.clusterN = cluster.n;
          // A cluster with nothing in its second CTA.
          if (cluster.m > 1 && gemm.m <= m)
            continue;
          if (cluster.n > 1 && gemm.n <= n)
            continue;
          if (std::optional<GemmChoice> cost = costOfTile(gemm, machine, choice, reason))
            ranked.push_back(std::move(*cost));
        }
  // Of equals the one that loads least, then the simpler one.
  llvm::sort(ranked, [](const GemmChoice &left, const GemmChoice &right) {
    auto key = [](const GemmChoice &choice) {
      return std::make_tuple(choice.cycles, choice.memoryCycles, choice.clusterM * choice.clusterN,
                             choice.m, choice.n, choice.k);
    };
    return key(left) < key(right);
  });
  return ranked;
}

std::string explainChoice(const Gemm &gemm, const Machine &machine,
                          llvm::ArrayRef<GemmChoice> ranked) {
  if (ranked.empty())
    return llvm::formatv("{0} has no tile for a product of {1}", machine.chip, gemm.type).str();
  const GemmChoice &best = ranked.front();
  auto title = [](const GemmChoice &choice) {
    std::string text = llvm::formatv("{0}x{1}x{2}", choice.m, choice.n, choice.k).str();
    if (choice.clusterM * choice.clusterN > 1)
      text += llvm::formatv(" in clusters of {0}x{1}", choice.clusterM, choice.clusterN).str();
    return text;
  };
  std::string text =
      llvm::formatv(
          "tile {0} for {1}x{2}x{3} of {4} on {5}: {6} cycles, {7}% of the tensor cores' rate\n",
          title(best), gemm.m, gemm.n, gemm.k, gemm.type, machine.chip, best.cycles,
          int64_t(std::lround(best.efficiency * 100)))
          .str();
  for (const std::string &reason : best.reasons)
    text += "  " + reason + "\n";
  for (const GemmChoice &other : ranked.drop_front()) {
    if (other.m == best.m && other.n == best.n)
      continue;
    text += llvm::formatv("  next is {0} with {1} cycles: {2}\n", title(other), other.cycles,
                          other.reasons.front())
                .str();
    break;
  }
  text += llvm::formatv("  {0} tiles can be built\n", ranked.size()).str();
  return text;
}

} // namespace tilewright::pipeline
