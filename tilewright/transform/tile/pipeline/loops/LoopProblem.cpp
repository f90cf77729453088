#include "tilewright/transform/tile/pipeline/loops/LoopProblem.h"

#include "tilewright/dialect/elements/Accuracy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace tilewright::pipeline {
namespace {

enum : unsigned { link, tensor, lanes, special };

/// Registers per thread besides tiles: addresses, phases, descriptors, and one value per row.
constexpr int64_t mathRegisters = 32, loadRegisters = 24, mmaRegisters = 40;
/// Bytes of shared memory for mbarriers, exchanges between warps, and the alignment of slots.
constexpr int64_t reservedBytes = 2048;
/// Cycles between the products of two warpgroups in which the tensor core is idle: the turn, the
/// descriptors and the first instruction's latency. An estimate.
constexpr double productOverhead = 32;
/// Cycles between two dependent instructions of a warp; results per cycle of a multiprocessor's
/// special-function units.
constexpr int64_t cyclesPerInstruction = 2, specialPerCycle = 16;
/// Cycles in which the special-function units are idle between two warpgroups. An estimate.
constexpr double specialOverhead = 20;
/// Cycles until a row of tensor memory begins to arrive in registers.
constexpr double readLatency = 40;
/// The assumed number of iterations if it is not a constant.
constexpr int64_t someIterations = 8;

/// Instructions of an op per thread, and how many of them run on the special-function units.
struct Work {
  double instructions = 0, specials = 0;
};

/// The instructions for one element.
Work workOf(Block &body) {
  Work work;
  for (Operation &op : body.without_terminator()) {
    if (op.hasTrait<OpTrait::ConstantLike>())
      continue;
    auto approximate = dyn_cast<math::Exp2Op>(op);
    if (approximate && bitEnumContainsAny(approximate.getFastmath(), arith::FastMathFlags::afn)) {
      // A polynomial takes nine instructions.
      auto every = op.getAttrOfType<IntegerAttr>(elements::polynomialAttr);
      const double share = every ? 1 / double(every.getInt()) : 0;
      work.instructions += 1 + 8 * share;
      work.specials += 1 - share;
    } else if (isa<arith::TruncFOp>(op) &&
               op.getResult(0).getType().getIntOrFloatBitWidth() == 16) {
      work.instructions += 0.5; // two at once
    } else if (isa<arith::DivFOp>(op)) {
      work.instructions += 8;
      work.specials += 1;
    } else if (isa<math::MathDialect>(op.getDialect()) && !isa<math::FmaOp, math::AbsFOp>(op)) {
      work.instructions += 14;
      work.specials += 1;
    } else {
      work.instructions += 1;
    }
  }
  return work;
}

class Problem {
public:
  Problem(ProductLoop &products, const Machine &machine, int64_t groups)
      : products(products), machine(machine), groups(groups) {}

  std::optional<LoopPlan> plan(std::string &reason);

private:
  ProductLoop &products;
  const Machine &machine;
  const int64_t groups;
  PipelineProblem problem;
  /// For each op of the loop, the numbers of the first and the last op by which it is scheduled.
  llvm::MapVector<Operation *, std::pair<unsigned, unsigned>> scheduled;
  llvm::SmallVector<Operation *> channelLoads;

  int64_t elementsOf(Value tile) {
    auto type = dyn_cast<RankedTensorType>(tile.getType());
    return type ? type.getNumElements() : 0;
  }
  /// The number of a tile's elements that each thread holds. Four lanes share a row, except of
  /// accumulators in tensor memory.
  double perThread(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    const double threads = 128.0 * double(groups);
    const double copies = type.getRank() < 2 && !products.inTensorMemory ? 4 : 1;
    return copies * double(elementsOf(tile)) / threads;
  }
  unsigned addOp(Operation *op, const char *what, unsigned unit, double occupancy, double latency) {
    problem.loop.ops.push_back({llvm::formatv("{0} {1}", what, scheduled.size()).str(), unit,
                                std::max<int64_t>(1, std::llround(occupancy)),
                                std::max<int64_t>(1, std::llround(latency))});
    const unsigned number = problem.loop.ops.size() - 1;
    auto [found, isNew] = scheduled.insert({op, {number, number}});
    if (!isNew)
      found->second.second = number;
    return number;
  }
  void addCopies();
  double cyclesOf(const LoopProduct &product);
  void addProduct(const LoopProduct &product);
  void addTensorBuffer(const char *what, unsigned writer, unsigned reader, int64_t distance,
                       int64_t columns);
  void addLeftOperands();
  void addCompute(Operation *op);
  Work workOfOp(Operation *op);
  void addOps();
  /// Finds the scheduled ops that compute a value, directly or through free ops, each with the
  /// number of iterations by which it precedes the use.
  void makersOf(Value value, int64_t distance,
                llvm::SmallVectorImpl<std::pair<unsigned, int64_t>> &found);
  void addDependences();
  void addRegisters();
  void addRoles();
  LoopPlan read(PipelinePlan plan);
};

void Problem::addCopies() {
  const double share = std::min(64.0, double(machine.l2BytesPerCycle) / double(machine.processors));
  // The copies of an iteration may overlap; each then gets a share of the bandwidth.
  problem.loop.units[link].count = std::max<int64_t>(
      1,
      llvm::count_if(products.loads, [&](auto &entry) { return products.isInLoop(entry.first); }));
  for (auto &[op, staged] : products.loads) {
    const int64_t bytes = staged.bytes();
    if (!products.isInLoop(op)) {
      problem.limits.sharedReserved += bytes;
      continue;
    }
    const double cycles = std::ceil(double(bytes) / share);
    const unsigned copy = addOp(op, "copy", link, cycles * double(problem.loop.units[link].count),
                                double(machine.copyLatency) + cycles);
    double lateness = 0;
    for (const LoopProduct &product : products.products)
      lateness += double(groups - 1) * cyclesOf(product);
    problem.buffers.push_back(
        {problem.loop.ops[copy].name, copy, {}, Space::shared, bytes, std::llround(lateness)});
    problem.channels.push_back(
        {problem.loop.ops[copy].name, {unsigned(problem.buffers.size() - 1)}});
    channelLoads.push_back(op);
  }
}

/// The tensor core's cycles for the rows of one warpgroup.
double Problem::cyclesOf(const LoopProduct &product) {
  const double rate = double(machine.products.lookup(product.type));
  const double rows = double(product.m) / double(groups);
  const double cycles = rows * double(product.n) * double(product.k) / rate;
  // For each block of a warpgroup's rows, the instructions read all columns from shared memory, and
  // also the rows unless they are in registers or in tensor memory.
  const double bytes = 2;
  double read = bytes * double(product.k) * double(product.n) * rows / double(products.groupRows());
  for (auto &[op, staged] : products.loads)
    if (staged.dot == product.dot && staged.isLhs)
      read += bytes * rows * double(product.k);
  return std::max(cycles, read / double(machine.sharedBytesPerCycle)) +
         (products.inTensorMemory ? 0 : productOverhead);
}

/// Adds a product of one warpgroup. After the last product of an iteration, the tensor core is busy
/// with the products of the other warpgroups.
void Problem::addProduct(const LoopProduct &product) {
  const double cycles = cyclesOf(product);
  double others = 0;
  if (&product == &products.products.back())
    for (const LoopProduct &each : products.products)
      others += double(groups - 1) * cyclesOf(each);
  tile::DotOp dot = product.dot;
  const unsigned number =
      addOp(dot, "product", tensor, cycles + others, cycles + double(machine.matrixLatency));
  if (!products.inTensorMemory)
    return;
  if (products.sums.contains(dot)) {
    problem.limits.tensorColumns -= groups * product.n;
    return;
  }
  // Its result goes to registers, which frees the accumulator.
  const double words = perThread(dot.getResult());
  const unsigned reading =
      addOp(dot, "reading", lanes, double(groups) * words / 16, readLatency + words);
  problem.loop.dependences.push_back({number, reading, problem.loop.ops[number].latency});
  addTensorBuffer("accumulator", number, reading, 0, groups * product.n);
}

/// Adds a buffer in tensor memory with one slot.
void Problem::addTensorBuffer(const char *what, unsigned writer, unsigned reader, int64_t distance,
                              int64_t columns) {
  problem.buffers.push_back({llvm::formatv("{0} {1}", what, problem.buffers.size()).str(),
                             writer,
                             {{reader, distance}},
                             Space::tensor,
                             columns});
  problem.channels.push_back(
      {problem.buffers.back().name, {unsigned(problem.buffers.size() - 1)}, 1});
}

/// Adds the left operands that the math role writes to tensor memory.
void Problem::addLeftOperands() {
  for (const LoopProduct &product : products.products) {
    tile::DotOp dot = product.dot;
    llvm::SmallVector<std::pair<unsigned, int64_t>> makers;
    if (products.sums.contains(dot))
      makersOf(dot.getLhs(), 0, makers);
    for (auto [maker, distance] : makers)
      addTensorBuffer("left operand", maker, scheduled[dot].first, distance,
                      groups * product.k / 2);
  }
}

Work Problem::workOfOp(Operation *op) {
  if (auto map = dyn_cast<tile::MapOp>(op)) {
    Work work = workOf(map.getBody().front());
    const double count = perThread(map.getResult(0));
    return {work.instructions * count, work.specials * count};
  }
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    // Two rounds between lanes, each with a shuffle and a combination.
    double rounds = 0;
    if (!products.inTensorMemory &&
        llvm::is_contained(reduce.getDims(),
                           cast<RankedTensorType>(reduce.getInputs()[0].getType()).getRank() - 1))
      rounds = 2 * 2 * perThread(reduce.getResult(0));
    return {perThread(reduce.getInputs()[0]) + rounds, 0};
  }
  if (isa<tile::LoadOp>(op))
    return {2 * perThread(op->getResult(0)), 0};
  Work all{2, 0};
  // Assume the cheaper branch, which usually runs: blocks at borders or with masks are rare.
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    double least = -1;
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
      double here = 0;
      for (Operation &inner : region->front().without_terminator())
        if (!isFree(&inner, products))
          here += workOfOp(&inner).instructions;
      least = least < 0 ? here : std::min(least, here);
    }
    all.instructions += least;
  }
  return all;
}

void Problem::addCompute(Operation *op) {
  const Work work = workOfOp(op);
  addOp(op, "computation", lanes, work.instructions * double(groups),
        work.instructions * double(cyclesPerInstruction));
  if (work.specials < 1)
    return;
  double cycles = work.specials * 128 / double(specialPerCycle);
  if (products.inTensorMemory)
    cycles += specialOverhead;
  const unsigned first = problem.loop.ops.size() - 1;
  const unsigned second = addOp(op, "special functions", special, cycles * double(groups), cycles);
  // The special functions of an element start a few cycles after its other instructions.
  problem.loop.dependences.push_back({first, second, 8});
}

void Problem::addOps() {
  for (Operation &op : products.loop.getBody()->without_terminator()) {
    auto *product = llvm::find_if(products.products,
                                  [&](const LoopProduct &other) { return other.dot == &op; });
    if (product != products.products.end())
      addProduct(*product);
    else if (!isFree(&op, products))
      addCompute(&op);
  }
}

void Problem::makersOf(Value value, int64_t distance,
                       SmallVectorImpl<std::pair<unsigned, int64_t>> &found) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != products.loop.getBody() || argument.getArgNumber() == 0 ||
        distance > 1)
      return;
    return makersOf(products.loop.getYieldedValues()[argument.getArgNumber() - 1], distance + 1,
                    found);
  }
  Operation *op = value.getDefiningOp();
  if (!products.isInLoop(op))
    return;
  if (auto at = scheduled.find(op); at != scheduled.end()) {
    found.push_back({at->second.second, distance});
    return;
  }
  for (Value operand : op->getOperands())
    makersOf(operand, distance, found);
}

void Problem::addDependences() {
  for (auto &[op, numbers] : scheduled) {
    if (products.loads.contains(op))
      continue;
    llvm::SmallVector<std::pair<unsigned, int64_t>> makers;
    op->walk([&](Operation *inner) {
      if (isa<tile::MapOp, tile::ReduceOp>(inner->getParentOp()))
        return;
      for (Value operand : inner->getOperands())
        if (!op->isProperAncestor(operand.getParentBlock()->getParentOp()))
          makersOf(operand, 0, makers);
    });
    for (auto [maker, distance] : makers) {
      problem.loop.dependences.push_back(
          {maker, numbers.first, problem.loop.ops[maker].latency, distance});
      // If a copy writes the value, this op reads the copy's buffer.
      for (Buffer &buffer : problem.buffers)
        if (buffer.writer == maker)
          buffer.readers.push_back({numbers.first, distance});
    }
  }
}

/// Adds the registers of tiles. A map computes in place unless its operand is needed later, so
/// tiles of the same type that maps connect share registers. Loop-carried tiles are live during the
/// whole loop.
void Problem::addRegisters() {
  llvm::EquivalenceClasses<const void *> classes;
  llvm::DenseMap<const void *, Value> valueOf;
  auto isLarge = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getRank() == 2 && type.getNumElements() >= 64 * 16 * groups;
  };
  auto bitsOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementTypeBitWidth();
  };
  auto add = [&](Value value) {
    classes.insert(value.getAsOpaquePointer());
    valueOf[value.getAsOpaquePointer()] = value;
  };
  auto join = [&](Value a, Value b) {
    if (isLarge(a) && isLarge(b) && a.getType() == b.getType()) {
      add(a), add(b);
      classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
    }
  };
  scf::ForOp loop = products.loop;
  llvm::SmallVector<Value> carried;
  for (auto [argument, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (isLarge(argument) && !products.inTensor.contains(argument)) {
      add(argument);
      carried.push_back(argument);
      join(argument, yielded);
    }
  for (auto &[op, numbers] : scheduled) {
    if (products.loads.contains(op))
      continue;
    for (Value result : op->getResults()) {
      if (!isLarge(result) || products.inTensor.contains(result))
        continue;
      add(result);
      if (auto dot = dyn_cast<tile::DotOp>(op)) {
        if (!isZero(dot.getAcc()))
          join(dot.getAcc(), result);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        const unsigned at = cast<OpResult>(result).getResultNumber();
        for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()}) {
          Value yielded = region->front().getTerminator()->getOperand(at);
          if (auto map = yielded.getDefiningOp<tile::MapOp>())
            for (Value input : map.getInputs())
              join(input, result);
          join(yielded, result);
        }
      } else if (auto map = dyn_cast<tile::MapOp>(op)) {
        for (Value input : map.getInputs())
          if (Operation *maker = input.getDefiningOp(); !maker || scheduled.contains(maker))
            join(input, result);
      }
    }
  }
  int64_t divided = 0;
  for (const auto &leader : classes) {
    if (!leader->isLeader())
      continue;
    const Value one = valueOf[leader->getData()];
    auto members = llvm::make_range(classes.member_begin(*leader), classes.member_end());
    auto isMember = [&](Value value) {
      return llvm::is_contained(members, value.getAsOpaquePointer());
    };
    const auto registers =
        static_cast<int64_t>(std::ceil(perThread(one) * double(bitsOf(one)) / 32));
    if (llvm::any_of(carried, isMember)) {
      divided += elementsOf(one);
      continue;
    }
    Buffer buffer{"", 0, {}, Space::registers, registers};
    unsigned first = ~0U;
    for (auto &[op, numbers] : scheduled)
      if (!products.loads.contains(op) && llvm::any_of(op->getResults(), isMember))
        first = std::min(first, products.inTensorMemory && isa<tile::DotOp>(op) ? numbers.second
                                                                                : numbers.first);
    if (first == ~0U)
      continue;
    buffer.writer = first;
    buffer.name = llvm::formatv("registers of {0}", problem.loop.ops[first].name).str();
    for (auto &[op, numbers] : scheduled)
      if (!products.loads.contains(op) && numbers.first != first && numbers.second != first &&
          op->walk([&](Operation *inner) {
              return llvm::any_of(inner->getOperands(), isMember) ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
            }).wasInterrupted())
        buffer.readers.push_back({numbers.second, 0});
    problem.buffers.push_back(buffer);
    // Limit the depth to 1: with tiles of two iterations in registers, a thread would have too few.
    problem.channels.push_back({buffer.name, {unsigned(problem.buffers.size() - 1)}, 1});
  }
  problem.roles[loopMath].dividedRegisters = std::max<int64_t>(divided, 1);
}

void Problem::addRoles() {
  if (products.inTensorMemory) {
    problem.roles = {{"load", {link}, 1, mmaRegisters, 0, 1},
                     {"math", {lanes, special}, 4, mathRegisters, 0, groups, groups},
                     {"mma", {tensor}, 1, mmaRegisters, 0, 1},
                     {"idle", {}, 2, mmaRegisters, 0, 1}};
    problem.roles[loopMath].isSequential = problem.roles[loopMma].isSequential = true;
    for (const auto &[dot, sum] : products.sums)
      problem.roles[loopMma].lateOps.push_back(scheduled[dot].first);
    return;
  }
  problem.roles = {{"load", {link}, 4, loadRegisters, 0, 1},
                   {"math", {tensor, lanes, special}, 4, mathRegisters, 0, groups, groups}};
  problem.roles[loopMath].takesTurns =
      groups > 1 && llvm::any_of(scheduled, [&](const auto &entry) {
        return !products.loads.contains(entry.first) && !isa<tile::DotOp>(entry.first);
      });
}

/// Reads the order of the steady state from the schedule.
LoopPlan Problem::read(PipelinePlan plan) {
  LoopPlan result;
  result.groups = groups;
  result.interval = plan.schedule.interval;
  if (products.inTensorMemory) {
    for (auto [index, op] : llvm::enumerate(channelLoads))
      result.depths[op] = plan.channels[index].depth;
    for (auto [index, op] : llvm::enumerate(problem.loop.ops))
      result.fill = std::max(result.fill, plan.schedule.start[index] + op.latency);
    result.plan = std::move(plan);
    return result;
  }
  struct Placed {
    int64_t offset, stage;
    Operation *op;
  };
  llvm::SmallVector<Placed> placed;
  for (auto &[op, numbers] : scheduled)
    if (!products.loads.contains(op)) {
      result.fill = std::max(result.fill, plan.schedule.start[numbers.second] +
                                              problem.loop.ops[numbers.second].latency);
      placed.push_back({plan.offsetInRole(loopMath, numbers.first),
                        plan.stageInRole(loopMath, numbers.first), op});
    }
  // If two ops start in the same cycle, the one of the older iteration comes first.
  llvm::stable_sort(placed, [](const Placed &a, const Placed &b) {
    return std::pair(a.offset, -a.stage) < std::pair(b.offset, -b.stage);
  });
  for (const Placed &one : placed)
    result.steps.push_back({one.op, one.stage});
  for (auto [index, op] : llvm::enumerate(channelLoads))
    result.depths[op] = plan.channels[index].depth;
  result.takesTurns = problem.roles[loopMath].takesTurns;
  result.plan = std::move(plan);
  return result;
}

std::optional<LoopPlan> Problem::plan(std::string &reason) {
  problem.loop.units = {{"the L2 link", 1, true},
                        {"the tensor core", 1, true, products.inTensorMemory},
                        {"the lanes", 1, false},
                        {"the special-function unit", 1, false}};
  problem.limits = machine.limits;
  problem.limits.sharedReserved = reservedBytes;
  APInt upper;
  problem.iterations = matchPattern(products.loop.getUpperBound(), m_ConstantInt(&upper))
                           ? std::max<int64_t>(upper.getSExtValue(), 1)
                           : someIterations;
  addCopies();
  addOps();
  addRoles();
  addDependences();
  addLeftOperands();
  addRegisters();
  std::optional<PipelinePlan> plan = planPipeline(problem, reason);
  if (!plan)
    return std::nullopt;
  LoopPlan result = read(*plan);
  if (llvm::any_of(result.steps, [](const LoopPlan::Step &step) { return step.stage > 1; })) {
    reason = "its math warps would work on more than two iterations at once";
    return std::nullopt;
  }
  return result;
}

} // namespace

std::optional<LoopPlan> planLoop(ProductLoop &products, const Machine &machine, int64_t groups,
                                 std::string &reason) {
  return Problem(products, machine, groups).plan(reason);
}

} // namespace tilewright::pipeline
