#include "tilewright/transform/tile/pipeline/Gemm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace tilewright::pipeline {
namespace {

int64_t ceilDivide(double amount, double rate) {
  return std::max<int64_t>(1, int64_t(std::ceil(amount / rate)));
}

/// Bytes per cycle between L2 and one multiprocessor: its share of the L2 bandwidth if all are
/// busy, but at most 64, the assumed bandwidth of its own port.
double l2Share(const Machine &machine) {
  return std::min(64.0, double(machine.l2BytesPerCycle) / machine.processors);
}

/// The bytes of the operands of one iteration.
struct StepBytes {
  int64_t lhs, rhs;
};
StepBytes stepBytes(const Gemm &gemm, const GemmChoice &choice) {
  // Each buffer of a slot begins at a multiple of 1024 bytes, which matters for those of scales.
  auto scales = [&](int64_t rows) {
    return int64_t(llvm::alignTo(uint64_t(scaledRows(rows) * gemm.scaleBytes), 1024));
  };
  return {choice.m * choice.k * gemm.lhsBits / 8 + scales(choice.m),
          choice.n * choice.k * gemm.rhsBits / 8 + scales(choice.n)};
}

/// The bytes of the right operand of one iteration where the instruction reads it.
int64_t multipliedBytes(const Gemm &gemm, const GemmChoice &choice) {
  return gemm.rhsIsComputed ? choice.n * choice.k * gemm.computedBits / 8
                            : stepBytes(gemm, choice).rhs;
}

/// The bytes of the result tile of one multiprocessor.
int64_t resultBytes(const Gemm &gemm, const GemmChoice &choice) {
  return choice.m * choice.n * gemm.resultBits / 8;
}

/// The part of a multiprocessor's tile that one warp multiplies with mma.sync.
struct WarpTile {
  int64_t m, n, warps;
};
WarpTile warpTile(const GemmChoice &choice) {
  WarpGrid grid = warpGrid(choice);
  return {choice.m / grid.m, choice.n / grid.n, grid.m * grid.n};
}

/// Cycles between two iterations' MMAs in which the tensor core is idle. Without warp
/// specialization, all warps wait at a barrier and start the next copies; with it, a warp only
/// tests an mbarrier, which has usually completed. The numbers are estimates from the non-MMA issue
/// cycles in the loops of other libraries.
int64_t stepOverhead(MatrixUnit unit) {
  switch (unit) {
  case MatrixUnit::mma:
    return 48;
  case MatrixUnit::wgmma:
    return 16;
  case MatrixUnit::tcgen05:
    return 8;
  }
  return 0;
}

/// Warp instructions per element of an operand that has a prologue. Measured in machine code
/// for sm_90a, in addition to the instructions of a plain matmul: 1.9 per element for bf16 from f8,
/// 3.4 from s8, 5.7 from i4 with group scales.
constexpr double prologueInstructions = 4;

/// The cycles in which threads compute `rows` rows (or columns) of an operand for one iteration.
/// Four schedulers each issue one warp instruction per cycle, for 32 elements.
int64_t prologueCycles(int64_t rows, const GemmChoice &choice) {
  return ceilDivide(double(rows) * choice.k * prologueInstructions, 4 * 32);
}

/// The cycles in which threads compute one iteration's left operand.
int64_t prologueCycles(const Gemm &gemm, const GemmChoice &choice) {
  return gemm.lhsIsComputed ? prologueCycles(choice.m, choice) : 0;
}

/// Whether two CTAs multiply one tile together with tcgen05.
bool isPair(const Machine &machine, const GemmChoice &choice) {
  return machine.matrixUnit == MatrixUnit::tcgen05 && choice.clusterM == 2;
}

/// The cycles of one iteration's MMAs, and the resource that limits them.
struct ProductCycles {
  int64_t cycles;
  const char *limit;
};
ProductCycles productCycles(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  int64_t pair = isPair(machine, choice) ? 2 : 1;
  int64_t rate = machine.products.lookup(gemm.type);
  // A warp can use only the tensor core of its quarter of the multiprocessor.
  if (machine.matrixUnit == MatrixUnit::mma)
    rate = rate * std::min<int64_t>(4, warpTile(choice).warps) / 4;
  // An accumulator of 64 rows occupies half of the lanes of tensor memory.
  if (machine.matrixUnit == MatrixUnit::tcgen05 && choice.m == 64)
    rate /= 2;
  int64_t tensor = ceilDivide(double(choice.m) * choice.n * choice.k, double(rate));
  StepBytes bytes = stepBytes(gemm, choice);
  // Reads from shared memory: wgmma reads all columns for every 64 rows; with mma.sync, each warp
  // reads the rows and columns of its own tile.
  int64_t read = bytes.lhs + bytes.rhs / pair;
  if (machine.matrixUnit == MatrixUnit::wgmma) {
    read = bytes.lhs + multipliedBytes(gemm, choice) * llvm::divideCeil(choice.m, 64);
    // A role reads the raw right operand and writes the computed one.
    if (gemm.rhsIsComputed)
      read += bytes.rhs + multipliedBytes(gemm, choice);
  } else if (machine.matrixUnit == MatrixUnit::mma) {
    WarpTile warp = warpTile(choice);
    read = warp.warps * choice.k * (warp.m * gemm.lhsBits + warp.n * gemm.rhsBits) / 8;
  }
  int64_t shared = ceilDivide(read, double(machine.sharedBytesPerCycle));
  ProductCycles product{tensor, "the tensor core"};
  if (shared > product.cycles)
    product = {shared, "shared memory"};
  // With wgmma the warps that compute the left operand multiply, too. Those that compute the right
  // one share the schedulers with them.
  if (const int64_t issue = prologueCycles(gemm, choice) +
                            (gemm.rhsIsComputed ? prologueCycles(choice.n, choice) : 0);
      machine.matrixUnit == MatrixUnit::wgmma && issue > product.cycles)
    product = {issue, "the prologue"};
  product.cycles += stepOverhead(machine.matrixUnit);
  return product;
}

enum : unsigned { copies, tensor, lanes };

/// Bytes of shared memory for mbarriers, tables and the alignment of swizzled slots. Kernels with
/// MFMA have none of these.
int64_t reservedBytes(const Machine &machine) { return hasMfma(machine) ? 0 : 2048; }
/// Registers per thread besides the accumulators: addresses, phases, descriptors, and live values
/// of the epilogue.
constexpr int64_t mathRegisters = 56, loadRegisters = 40;
/// The same for MFMA: addresses that all lanes share are in scalar registers.
constexpr int64_t mfmaRegisters = 32;
/// The number of warp groups that multiply with wgmma, each at least 64 rows.
int64_t warpGroups(const GemmChoice &choice) {
  return std::min<int64_t>(2, llvm::divideCeil(choice.m, 64));
}
/// The columns of tensor memory in a slot of a computed left operand: its depth is one line.
constexpr int64_t lineColumns = 128 / 4;
/// Registers per thread for a left operand with a prologue: the operand as the instruction reads
/// it, and the raw data as it was loaded, at most two elements per register.
int64_t prologueRegisters(const Gemm &gemm, const GemmChoice &choice, int64_t groups) {
  if (!gemm.lhsIsComputed)
    return 0;
  int64_t elements = choice.m * choice.k / (128 * groups);
  return elements * multipliedBits(gemm) / 32 + elements * std::max<int64_t>(16, gemm.lhsBits) / 32;
}
/// Registers per thread of the warpgroup that computes the right operand: the raw data of an
/// iteration, and 16 bytes of the result with what they are computed from.
int64_t computeRegisters(const Gemm &gemm, const GemmChoice &choice) {
  return choice.n * choice.k / 128 * gemm.rhsBits / 32 + 40;
}
/// Registers per thread for the fragments of both operands for two steps of a warp's MMAs. An
/// instruction has a depth of 256 bits. The fragments of MFMA have 512 bits; each replaces that of
/// the step before, one by one, and a slot that is copied through registers takes some. Words of
/// scales, of four blocks each, last for several steps or are loaded again for each; one for 32
/// rows is counted.
int64_t fragmentRegisters(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  WarpTile warp = warpTile(choice);
  if (hasMfma(machine)) {
    const StepBytes bytes = stepBytes(gemm, choice);
    const int64_t threads = warp.warps * machine.limits.warpSize;
    return (warp.m + warp.n) * 512 / 32 / machine.limits.warpSize +
           (machine.copiesToShared ? 0 : (bytes.lhs + bytes.rhs) / 4 / threads);
  }
  const int64_t scales = gemm.scaleBytes ? (warp.m + warp.n) / 32 : 0;
  return 2 * (warp.m + warp.n) * 256 / 32 / 32 + scales;
}

} // namespace

int64_t scaledRows(int64_t rows) { return int64_t(llvm::alignTo(uint64_t(rows), 128)); }

int64_t scaleColumns(const Gemm &gemm, int64_t m, int64_t n) {
  return (scaledRows(m) + scaledRows(n)) / 128 * gemm.scaleBytes;
}

int64_t accumulatorSlots(const Gemm &gemm, const Machine &machine, int64_t m, int64_t n) {
  // One slot of a computed operand is written while another is multiplied.
  const int64_t others = scaleColumns(gemm, m, n) + (gemm.lhsIsComputed ? 2 * lineColumns : 0);
  return others == 0 || 2 * n + others <= machine.limits.tensorColumns ? 2 : 1;
}

Machine withWarpProducts(Machine machine) {
  // H100 reaches 63% of its rate with mma.sync ("Benchmarking and Dissecting the Nvidia Hopper GPU
  // Architecture via Microbenchmarking"). No numbers are published for later chips; we assume the
  // same absolute rate as for H100.
  int64_t part = machine.matrixUnit == MatrixUnit::mma     ? 16
                 : machine.matrixUnit == MatrixUnit::wgmma ? 10
                                                           : 5;
  for (auto &entry : machine.products)
    if (!machine.warpTypes.contains(entry.first()))
      entry.second = entry.second * part / 16;
  machine.warpTypes.clear();
  machine.matrixUnit = MatrixUnit::mma;
  machine.cluster = 1;
  machine.limits.movesRegisters = false;
  return machine;
}

/// The most nearly square division of a tile among a number of warps; a warp multiplies at least 16
/// rows and 16 columns.
static std::optional<WarpGrid> gridOfWarps(const GemmChoice &choice) {
  std::optional<WarpGrid> best;
  auto length = [&](const WarpGrid &grid) { return choice.m / grid.m + choice.n / grid.n; };
  for (int64_t alongM = 1; alongM <= choice.warps; alongM *= 2) {
    const WarpGrid grid{alongM, choice.warps / alongM};
    if (alongM * grid.n == choice.warps && choice.m / grid.m >= 16 && choice.n / grid.n >= 16 &&
        (!best || length(grid) < length(*best)))
      best = grid;
  }
  return best;
}

WarpGrid warpGrid(const GemmChoice &choice) {
  if (choice.warps)
    if (std::optional<WarpGrid> grid = gridOfWarps(choice))
      return *grid;
  // Square warp tiles read the fewest bytes. Use as many warps along each side as possible such
  // that a warp has at least 64 elements of it (or the whole side).
  int64_t alongM = std::max<int64_t>(1, choice.m / 64),
          alongN = std::max<int64_t>(1, choice.n / 64);
  while (alongM * alongN > 8)
    (alongM > alongN ? alongM : alongN) /= 2;
  while (alongM * alongN < 4 && (choice.m / alongM > 16 || choice.n / alongN > 16))
    (choice.m / alongM >= choice.n / alongN ? alongM : alongN) *= 2;
  return {alongM, alongN};
}

/// Lets a role of its own compute the left operand: from a slot of shared memory to one of tensor
/// memory, where the instruction reads it.
static void computeLhs(PipelineProblem &problem, const Gemm &gemm, const Machine &machine,
                       const GemmChoice &choice) {
  const int64_t cycles = prologueCycles(gemm, choice), done = cycles + machine.matrixLatency;
  problem.loop.units.push_back({"the warps that compute", 1});
  problem.loop.ops.push_back({"computing lhs", lanes, cycles, done});
  problem.loop.dependences[0] = {0, 3, problem.loop.ops[0].latency};
  problem.loop.dependences.push_back({3, 2, done});
  problem.buffers[0].readers = {{3, 0}};
  problem.buffers.push_back({"computed lhs", 3, {{2, 0}}, Space::tensor, lineColumns});
  problem.channels = {
      {"lhs", {0}, gemm.hint.stages}, {"rhs", {1}, gemm.hint.stages}, {"computed lhs", {2}}};
}

/// Lets a role of its own compute the right operand: from a slot of shared memory to another one,
/// where wgmma reads it.
static void computeRhs(PipelineProblem &problem, const Gemm &gemm, const GemmChoice &choice) {
  // One warp of each scheduler computes: it waits for its own instructions, too.
  const int64_t cycles = prologueCycles(choice.n, choice);
  problem.loop.units.push_back({"the warps that compute", 1});
  problem.loop.ops.push_back({"computing rhs", lanes, cycles, cycles});
  problem.loop.dependences[1] = {1, 3, problem.loop.ops[1].latency};
  problem.loop.dependences.push_back({3, 2, cycles});
  problem.buffers[1].readers = {{3, 0}};
  problem.buffers.push_back(
      {"computed rhs", 3, {{2, 0}}, Space::shared, multipliedBytes(gemm, choice)});
  problem.channels = {
      {"lhs", {0}, gemm.hint.stages}, {"rhs", {1}, gemm.hint.stages}, {"computed rhs", {2}}};
}

PipelineProblem gemmProblem(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  PipelineProblem problem;
  StepBytes bytes = stepBytes(gemm, choice);
  bool pair = isPair(machine, choice);
  // Each CTA of a tcgen05 pair holds half of the tile's columns and all of its own rows.
  int64_t rhsBytes = pair ? bytes.rhs / 2 : bytes.rhs;
  // A cluster reads data that its CTAs share from L2 only once.
  double l2 = l2Share(machine);
  int64_t lhsCopy = ceilDivide(bytes.lhs / double(choice.clusterN), l2);
  int64_t rhsCopy = ceilDivide(pair ? rhsBytes : bytes.rhs / double(choice.clusterM), l2);
  const auto [product, limit] = productCycles(gemm, machine, choice);

  bool roles = machine.matrixUnit != MatrixUnit::mma;
  const bool inTensorMemory = machine.matrixUnit == MatrixUnit::tcgen05;
  problem.loop.units = {{"the L2 link", 1, true}, {limit, 1, roles, inTensorMemory}};
  problem.loop.ops = {{"copy of lhs", copies, lhsCopy, machine.copyLatency + lhsCopy},
                      {"copy of rhs", copies, rhsCopy, machine.copyLatency + rhsCopy},
                      {"product", tensor, product, product + machine.matrixLatency}};
  problem.loop.dependences = {
      {0, 2, problem.loop.ops[0].latency}, {1, 2, problem.loop.ops[1].latency}, {2, 2, product, 1}};
  problem.buffers = {{"lhs", 0, {{2, 0}}, Space::shared, bytes.lhs},
                     {"rhs", 1, {{2, 0}}, Space::shared, rhsBytes}};
  problem.channels = {{"operands", {0, 1}, gemm.hint.stages}};
  if (inTensorMemory && gemm.lhsIsComputed)
    computeLhs(problem, gemm, machine, choice);
  if (gemm.rhsIsComputed)
    computeRhs(problem, gemm, choice);
  problem.iterations = llvm::divideCeil(gemm.k, choice.k);
  problem.rounds = roles ? std::max<int64_t>(choice.waves, 1) : 1;
  problem.limits = machine.limits;
  // One of the slots is in registers.
  if (!machine.copiesToShared)
    problem.limits.sharedBytes += bytes.lhs + bytes.rhs;
  problem.limits.sharedReserved = reservedBytes(machine);
  if (inTensorMemory) {
    problem.limits.tensorColumns -= scaleColumns(gemm, choice.m, choice.n);
    problem.roundChannels.push_back({"accumulator", tensorMma, tensorEpilogue,
                                     /*depth=*/choice.accumulators, /*tensorColumns=*/choice.n});
  }
  if (choice.staged) {
    problem.limits.sharedReserved += resultBytes(gemm, choice);
    const unsigned role = inTensorMemory ? tensorEpilogue : 1;
    problem.roundChannels.push_back({"result", role, role});
  }
  if (machine.matrixUnit == MatrixUnit::wgmma) {
    int64_t groups = warpGroups(choice);
    problem.roles = {{"load", {copies}, 4, loadRegisters, 0, 1},
                     {"math",
                      {tensor},
                      4,
                      mathRegisters + prologueRegisters(gemm, choice, groups),
                      choice.m * choice.n,
                      groups,
                      groups}};
    if (gemm.rhsIsComputed)
      problem.roles.push_back(
          {"compute", {lanes}, 4, loadRegisters + computeRegisters(gemm, choice), 0, 1});
  } else if (inTensorMemory) {
    // The accumulator is in tensor memory: N columns for each of two tiles in flight. Only the
    // epilogue needs registers for it. Only whole warpgroups can pass registers to each other, and
    // the roles that copy and multiply have one warp each.
    problem.limits.movesRegisters &= gemm.lhsIsComputed;
    problem.roles = {
        {"load", {copies}, 1, loadRegisters, 0, 1},
        {"mma", {tensor}, 1, loadRegisters, 0, 1},
        {"epilogue", {}, 4, mathRegisters, choice.m * choice.n, choice.m == 64 ? 1 : 2}};
    if (gemm.lhsIsComputed)
      problem.roles.append(
          {{"compute", {lanes}, 4, mathRegisters + prologueRegisters(gemm, choice, 1), 0, 1},
           {"idle", {}, 2, loadRegisters, 0, 1}});
  } else {
    WarpTile warp = warpTile(choice);
    problem.roles = {{"all",
                      {copies, tensor},
                      warp.warps,
                      (hasMfma(machine) ? mfmaRegisters : mathRegisters) +
                          fragmentRegisters(gemm, machine, choice),
                      choice.m * choice.n,
                      1}};
  }
  return problem;
}

namespace {

/// Cycles from a tile's last MMA until its result is stored: `own` delays the next MMAs, `rest` is
/// spent by the copy engine.
struct Epilogue {
  int64_t own, rest = 0;
};
Epilogue epilogueCycles(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  double bytes = double(resultBytes(gemm, choice));
  int64_t shared = ceilDivide(bytes, double(machine.sharedBytesPerCycle));
  int64_t toL2 = ceilDivide(bytes, l2Share(machine));
  // The warps write to shared memory and pass two barriers; the copy engine stores the tile.
  constexpr int64_t barriers = 64;
  if (choice.staged)
    return {shared + machine.matrixLatency + barriers, shared + toL2};
  // The threads exchange values, which takes as long as writing and reading shared memory, and then
  // store to L2.
  return {2 * shared + toL2 + machine.matrixLatency};
}

/// The order of the grid's points, and the memory traffic that it causes.
struct Raster {
  int64_t rows = 1;
  /// The bytes of the operands and the result of the whole product.
  double bytes = 0;
};

/// Chooses the number of rows in a band: consecutive points go down the rows of a band before they
/// move to the next column. The points of a wave advance through K together, so a wave reads each
/// of its operand rows and columns once. The waves of a band share the band's rows, which are read
/// once if they and the columns of two waves fit in L2. (L2 has two halves, each with its own copy,
/// so only half of its size counts.) If all columns fit in L2 beside the rows, all bands share the
/// columns too.
Raster bestRaster(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  int64_t tileM = choice.m * choice.clusterM, tileN = choice.n * choice.clusterN;
  // Exchange rows and columns if M is the last grid coordinate, which varies fastest.
  bool alongN = gemm.order != Gemm::Order::alongM;
  double lhs = double(tileM) * gemm.k * gemm.lhsBits / 8,
         rhs = double(tileN) * gemm.k * gemm.rhsBits / 8;
  double rowBytes = alongN ? lhs : rhs, columnBytes = alongN ? rhs : lhs;
  int64_t rows = llvm::divideCeil(gemm.m, tileM), columns = llvm::divideCeil(gemm.n, tileN);
  if (!alongN)
    std::swap(rows, columns);
  int64_t clusters = std::max<int64_t>(1, machine.processors / (choice.clusterM * choice.clusterN));
  int64_t wave = std::min(clusters, rows * columns);
  double half = machine.l2Bytes / 2.0;
  double least = rows * rowBytes + columns * columnBytes;
  Raster best;
  for (int64_t band : {1, 2, 4, 8, 16}) {
    if (band > 1 && (band > rows || gemm.order == Gemm::Order::fixed || wave == rows * columns))
      break;
    // A wave covers whole bands, or a part of one band.
    double waveRows =
        std::min<double>(rows, std::max<int64_t>(band, llvm::divideCeil(wave, columns)));
    double waveColumns = std::min<double>(columns, std::ceil(double(wave) / waveRows));
    double bands = std::ceil(rows / waveRows);
    double bytes =
        double(rows * columns) / wave * (waveRows * rowBytes + waveColumns * columnBytes);
    if (waveRows * rowBytes + 2 * waveColumns * columnBytes <= half)
      bytes = std::min(bytes, rows * rowBytes + bands * columns * columnBytes);
    if (waveRows * rowBytes + columns * columnBytes <= half)
      bytes = least;
    bytes = std::max(bytes, least);
    if (best.bytes == 0 || bytes < best.bytes * 0.999)
      best = {band, bytes};
  }
  best.bytes = gemm.batch * (best.bytes + double(gemm.m) * gemm.n * gemm.resultBits / 8);
  return best;
}

/// The tiles of a product, and the multiprocessors that compute them.
struct Grid {
  int64_t rows, columns; // tiles along M and N, before padding to whole clusters
  int64_t clusterSize;
  int64_t slots; // multiprocessors in whole clusters
};
Grid gridOf(const Gemm &gemm, const Machine &machine, const GemmChoice &choice) {
  int64_t clusterSize = choice.clusterM * choice.clusterN;
  return {int64_t(llvm::divideCeil(gemm.m, choice.m)), int64_t(llvm::divideCeil(gemm.n, choice.n)),
          clusterSize, machine.processors / clusterSize * clusterSize};
}

KernelCounts countsOf(const Gemm &gemm, const GemmChoice &choice, const Grid &grid) {
  const int64_t rows = int64_t(llvm::alignTo(uint64_t(grid.rows), choice.clusterM)),
                columns = int64_t(llvm::alignTo(uint64_t(grid.columns), choice.clusterN));
  const int64_t iterations = llvm::divideCeil(gemm.k, choice.k);
  // Copies load only what is inside of the matrices. The CTAs of a cluster load shared tiles once.
  const int64_t depth = gemm.depthInMemory ? gemm.depthInMemory : gemm.k;
  // Of a line of 128 bytes, a single iteration multiplies only the part that the product has.
  const int64_t multiplied = iterations == 1 ? std::min(gemm.k, choice.k) : iterations * choice.k;
  const int64_t lhs = gemm.m * depth * gemm.lhsBits / 8, rhs = gemm.n * depth * gemm.rhsBits / 8;
  return {.multiplyAdds = gemm.batch * rows * columns * choice.m * choice.n * multiplied,
          .loadedBytes =
              gemm.batch * (lhs * (columns / choice.clusterN) + rhs * (rows / choice.clusterM)),
          .storedBytes = gemm.batch * gemm.m * gemm.n * gemm.resultBits / 8};
}

/// The number of CTAs that one multiprocessor holds at once.
int64_t residentCtas(const Machine &machine, const GemmChoice &choice,
                     const PipelineProblem &problem) {
  if (machine.matrixUnit != MatrixUnit::mma)
    return 1;
  const PipelinePlan &plan = choice.plan;
  int64_t threads = plan.threads;
  int64_t registers = std::min<int64_t>(machine.limits.maxRegisters,
                                        problem.roles[0].registers +
                                            llvm::divideCeil(choice.m * choice.n, threads));
  return std::max<int64_t>(
      1, std::min({machine.limits.sharedBytes / std::max<int64_t>(plan.sharedBytes, 1),
                   machine.limits.registers / (threads * registers), int64_t(2)}));
}

/// The cycles to compute all tiles, if memory is fast enough.
struct TileCycles {
  int64_t ctaPerTile; // each tile has a CTA of its own
  int64_t persistent; // each CTA computes several tiles in sequence
  /// The cycles that a CTA waits for the first copies and for the last stores of a tile.
  int64_t wait;
};
TileCycles tileCycles(const Gemm &gemm, const Machine &machine, const GemmChoice &choice,
                      const PipelineProblem &problem) {
  int64_t resident = residentCtas(machine, choice, problem);
  auto [epilogue, rest] = epilogueCycles(gemm, machine, choice);
  int64_t mainloop = problem.iterations * choice.plan.schedule.interval;
  // Warps that hold the accumulator in registers cannot issue MMAs during their epilogue. If two
  // CTAs are resident, the other CTA can.
  int64_t exposed = machine.matrixUnit == MatrixUnit::tcgen05 && choice.accumulators > 1
                        ? std::max<int64_t>(0, epilogue - mainloop)
                        : epilogue / resident;
  // In a persistent kernel, the first copies of the next tile overlap the epilogue. Otherwise each
  // tile fills the pipeline again.
  int64_t fill =
      machine.copyLatency + problem.loop.ops[0].occupancy + problem.loop.ops[1].occupancy;
  if (problem.loop.ops.size() > 3)
    fill += problem.loop.ops[3].latency;
  int64_t perTile = mainloop + exposed;
  return {choice.waves * (perTile + rest + fill / resident) + epilogue - exposed,
          choice.waves * perTile + fill + epilogue - exposed + rest, fill + rest};
}

int64_t percent(double part) { return int64_t(std::lround(part * 100)); }

template <typename... Values>
void addReason(GemmChoice &choice, const char *format, Values &&...values) {
  choice.reasons.push_back(llvm::formatv(format, std::forward<Values>(values)...).str());
}

/// Explains how the tiles cover the result, and how their operands are loaded.
void explainTiles(GemmChoice &choice, const Gemm &gemm, const Grid &grid) {
  double used = double(choice.tiles) / (double(choice.waves) * grid.slots);
  addReason(choice, "{0} tiles on {1} multiprocessors are {2} wave{3}, {4}% full", choice.tiles,
            grid.slots, choice.waves, choice.waves == 1 ? "" : "s", percent(used));
  double filled =
      double(gemm.m) * gemm.n / (double(grid.rows) * choice.m * grid.columns * choice.n);
  if (filled < 0.995)
    addReason(choice, "{0}% of the tiles' elements are in the result", percent(filled));
  StepBytes bytes = stepBytes(gemm, choice);
  addReason(choice, "{0} products for each byte that a multiprocessor loads",
            percent(double(choice.m) * choice.n * choice.k /
                    (double(bytes.lhs) / choice.clusterN + double(bytes.rhs) / choice.clusterM)) /
                100);
  addReason(choice, "{0} multiply-adds, {1} bytes of operands loaded, {2} bytes stored",
            choice.counts.multiplyAdds, choice.counts.loadedBytes, choice.counts.storedBytes);
  if (gemm.rhsIsComputed)
    addReason(choice,
              "both operands have a prologue: the left one goes through registers, {0} per thread, "
              "and four warps compute the right one, in {1} cycles for each iteration, and write "
              "it to {2} slots of shared memory",
              prologueRegisters(gemm, choice, warpGroups(choice)), prologueCycles(choice.n, choice),
              choice.plan.channels[computedRhs].depth);
  else if (gemm.lhsIsComputed && choice.plan.channels.size() > tensorLhs)
    addReason(choice,
              "its left operand has a prologue: four warps compute it, in {0} cycles for each "
              "iteration, and write it to {1} slots of tensor memory",
              prologueCycles(gemm, choice), choice.plan.channels[tensorLhs].depth);
  else if (gemm.lhsIsComputed)
    addReason(choice,
              "its left operand goes through registers, because it has a prologue, and takes {0} "
              "registers per thread",
              prologueRegisters(gemm, choice, warpGroups(choice)));
  if (grid.clusterSize > 1)
    addReason(choice,
              "{0} multiprocessors share {1} of their tiles, so each iteration reads {2} bytes "
              "from L2 instead of {3}",
              grid.clusterSize, choice.clusterM > 1 ? "the columns" : "the rows",
              bytes.lhs / choice.clusterN + bytes.rhs / choice.clusterM, bytes.lhs + bytes.rhs);
}

/// Explains the order in which CTAs and warps compute the tiles, and what limits them.
void explainLaunch(GemmChoice &choice, const Gemm &gemm, const Machine &machine, int64_t slots,
                   const TileCycles &cycles, const Raster &raster) {
  if (choice.memoryCycles > choice.computeCycles)
    addReason(choice, "memory-bound: {0} cycles to read and write, {1} to multiply",
              choice.memoryCycles, choice.computeCycles);
  if (choice.persistent)
    addReason(choice,
              "{0} CTAs compute one tile after the other, in {1} cycles: with a CTA for each tile "
              "it would be {2}, because each CTA waits {3} cycles for copies",
              std::min(slots, choice.tiles), cycles.persistent, cycles.ctaPerTile, cycles.wait);
  if (choice.persistent && machine.matrixUnit == MatrixUnit::tcgen05)
    choice.reasons.push_back(
        "a CTA that is done takes the tile of one that has not started (cluster launch control)");
  if (!choice.persistent && machine.matrixUnit != MatrixUnit::mma)
    choice.reasons.push_back("each tile has a CTA of its own: they all run at once");
  if (choice.raster > 1)
    addReason(choice,
              "points go down {0} rows before the next column, so that {1} MB are moved between "
              "memory and L2",
              choice.raster, int64_t(raster.bytes / 1e6));
  if (machine.matrixUnit == MatrixUnit::mma) {
    WarpGrid grid = warpGrid(choice);
    StepBytes bytes = stepBytes(gemm, choice);
    addReason(choice,
              "{0} warps in {1} rows and {2} columns multiply {3}x{4} each, so each reads {5} "
              "bytes of an iteration's operands",
              grid.m * grid.n, grid.m, grid.n, choice.m / grid.m, choice.n / grid.n,
              bytes.lhs / grid.m + bytes.rhs / grid.n);
  }
}

/// Why a tile is not as the user wants it; nullopt if it is.
std::optional<std::string> whyNotHint(const Gemm &gemm, const Machine &machine,
                                      const GemmChoice &choice) {
  const exec::Hint &hint = gemm.hint;
  if (!hint.tile.empty() && (choice.m != hint.tile[0] || choice.n != hint.tile[1]))
    return llvm::formatv("a CTA would compute {0}x{1}", choice.m, choice.n).str();
  if (!hint.cluster.empty() &&
      (choice.clusterM != hint.cluster[0] || choice.clusterN != hint.cluster[1]))
    return llvm::formatv("a cluster would have {0}x{1} CTAs", choice.clusterM, choice.clusterN)
        .str();
  const bool isOfWarps = machine.matrixUnit == MatrixUnit::mma;
  if (hint.persistent.value_or(false) && isOfWarps)
    return "kernels that multiply with mma.sync are not persistent";
  if (!hint.warps)
    return std::nullopt;
  if (isOfWarps &&
      !(llvm::isPowerOf2_64(uint64_t(hint.warps)) && hint.warps <= 16 && gridOfWarps(choice)))
    return llvm::formatv("{0} warps cannot divide a tile of {1}x{2}: each multiplies at least "
                         "16x16, and their number is a power of two up to 16",
                         hint.warps, choice.m, choice.n)
        .str();
  const int64_t warps = machine.matrixUnit == MatrixUnit::wgmma ? 4 * warpGroups(choice) : 1;
  if (!isOfWarps && hint.warps != warps)
    return llvm::formatv("{0} warp{1} multiply a tile of {2}x{3} on {4}, not {5}", warps,
                         warps == 1 ? "" : "s", choice.m, choice.n, machine.chip, hint.warps)
        .str();
  return std::nullopt;
}

/// Like costOfTile(), for the given value of `choice.staged`.
std::optional<GemmChoice> costOfVariant(const Gemm &gemm, const Machine &machine, GemmChoice choice,
                                        std::string &reason) {
  const int64_t rate = machine.products.lookup(gemm.type);
  if (rate == 0) {
    reason = llvm::formatv("{0} does not multiply {1}", machine.chip, gemm.type).str();
    return std::nullopt;
  }
  if (machine.warpTypes.contains(gemm.type)) {
    reason = llvm::formatv("{0} multiplies {1} only with mma.sync", machine.chip, gemm.type).str();
    return std::nullopt;
  }
  // Only with 128 rows per CTA: an accumulator of 128 rows for the whole pair would put half of its
  // columns into other lanes.
  const int64_t pairStep = 2 * std::max<int64_t>(16, gemm.columnStep);
  if (isPair(machine, choice) && (choice.m != 128 || choice.n % pairStep != 0)) {
    reason = llvm::formatv("a pair of CTAs needs 128 rows each and multiples of {0} columns, got "
                           "{1}x{2}",
                           pairStep, choice.m, choice.n)
                 .str();
    return std::nullopt;
  }
  choice.accumulators = accumulatorSlots(gemm, machine, choice.m, choice.n);
  if (choice.clusterM * choice.clusterN > machine.processors) {
    reason = llvm::formatv("a cluster of {0} does not fit on {1} multiprocessors",
                           choice.clusterM * choice.clusterN, machine.processors)
                 .str();
    return std::nullopt;
  }
  if (std::optional<std::string> why = whyNotHint(gemm, machine, choice)) {
    reason = *why;
    return std::nullopt;
  }
  if (machine.matrixUnit == MatrixUnit::mma)
    choice.warps = gemm.hint.warps;
  choice.isMfma = hasMfma(machine);
  choice.refillsEarly = choice.isMfma && machine.copiesToShared;
  const Grid grid = gridOf(gemm, machine, choice);
  // The grid is padded to whole clusters. A tcgen05 pair covers two rows of tiles.
  int64_t padded =
      llvm::alignTo(grid.rows, choice.clusterM) * llvm::alignTo(grid.columns, choice.clusterN);
  choice.tiles = padded * gemm.batch;
  choice.waves = llvm::divideCeil(choice.tiles, grid.slots);
  PipelineProblem problem = gemmProblem(gemm, machine, choice);
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  if (!plan)
    return std::nullopt;
  choice.plan = *plan;
  TileCycles cycles = tileCycles(gemm, machine, choice, problem);
  choice.persistent = gemm.hint.persistent.value_or(machine.matrixUnit != MatrixUnit::mma &&
                                                    cycles.persistent < cycles.ctaPerTile);
  choice.computeCycles = choice.persistent ? cycles.persistent : cycles.ctaPerTile;
  Raster raster = bestRaster(gemm, machine, choice);
  choice.raster = raster.rows;
  choice.memoryCycles =
      ceilDivide(raster.bytes, double(machine.memoryBytesPerCycle)) + machine.copyLatency;
  choice.cycles = std::max(choice.computeCycles, choice.memoryCycles);
  double products = double(gemm.m) * gemm.n * gemm.k * gemm.batch;
  choice.efficiency = products / (double(rate) * machine.processors * choice.cycles);

  choice.counts = countsOf(gemm, choice, grid);
  explainTiles(choice, gemm, grid);
  explainLaunch(choice, gemm, machine, grid.slots, cycles, raster);
  llvm::append_range(choice.reasons, plan->reasons);
  return choice;
}

} // namespace

std::optional<GemmChoice> costOfTile(const Gemm &gemm, const Machine &machine, GemmChoice choice,
                                     std::string &reason) {
  choice.staged = false;
  std::optional<GemmChoice> direct = costOfVariant(gemm, machine, choice, reason);
  // Staging requires full lines of 128 bytes.
  if (!direct || !gemm.canStage || choice.n * gemm.resultBits % 1024 != 0)
    return direct;
  choice.staged = true;
  std::string why;
  std::optional<GemmChoice> staged = costOfVariant(gemm, machine, choice, why);
  if (!staged) {
    direct->reasons.push_back("the result is stored from registers: " + why);
    return direct;
  }
  // If both are memory-bound, prefer the one with fewer compute cycles.
  auto words = [](const GemmChoice &chosen, const GemmChoice &other) {
    return llvm::formatv("{0} cycles to multiply and store instead of {1}", chosen.computeCycles,
                         other.computeCycles)
        .str();
  };
  if (staged->cycles <= direct->cycles && staged->computeCycles < direct->computeCycles) {
    staged->reasons.push_back(
        "the result is staged in shared memory and stored by the copy engine: " +
        words(*staged, *direct));
    return staged;
  }
  direct->reasons.push_back("the result is stored from registers and not by the copy engine: " +
                            words(*direct, *staged));
  return direct;
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
          percent(best.efficiency))
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
  text += llvm::formatv("  {0} tiles are feasible\n", ranked.size()).str();
  return text;
}

} // namespace tilewright::pipeline
