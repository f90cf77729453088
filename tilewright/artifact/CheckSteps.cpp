#include "tilewright/artifact/CheckSteps.h"

#include "tilewright/artifact/Check.h"
#include "tilewright/artifact/CheckGpu.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <unordered_set>

namespace tilewright::artifact {
namespace {

class StepChecker {
public:
  StepChecker(const Executable &executable, std::span<const int64_t> typeBytes)
      : executable(executable), typeBytes(typeBytes) {}

  Status check() {
    if (executable.blocks.empty())
      return Status(Error::executableBlocks, "the executable has no blocks, but block 0 must "
                                             "contain the program; compile the program again");
    for (block = 0; block < executable.blocks.size(); ++block) {
      open.clear();
      const std::vector<Step> &steps = executable.blocks[block].steps;
      for (number = 0; number < steps.size(); ++number) {
        step = &steps[number];
        TILEWRIGHT_TRY(
            std::visit([this](const auto &action) { return checkAction(action); }, step->action));
      }
      for (const Step &each : steps)
        if (const auto *start = std::get_if<CollectiveStartStep>(&each.action))
          if (open.contains(start->id))
            return Status(Error::executableStep,
                          concat("collective ", start->id, " '", each.name, "' in block ", block,
                                 " is never completed; compile the program again"));
    }
    return Status();
  }

private:
  template <typename... Parts> Status fail(Error error, const Parts &...parts) const {
    return Status(error, concat("step ", number, " '", step->name, "' of block ", block, " ",
                                parts..., "; compile the program again"));
  }
  Status checkIndex(Index index, size_t count, std::string_view what) const {
    if (index >= count)
      return fail(Error::executableIndex, "uses ", what, " ", index,
                  ", expected an index less than ", count);
    return Status();
  }

  Status checkSlice(const Slice &slice) const {
    TILEWRIGHT_TRY(checkIndex(slice.allocation, executable.allocations.size(), "allocation"));
    const int64_t size = executable.allocations[slice.allocation].bytes;
    if (slice.offset < 0 || slice.offset % static_cast<int64_t>(bufferAlignment) != 0 ||
        slice.bytes < 0 || slice.bytes > size || slice.offset > size - slice.bytes)
      return fail(Error::executableSlice, "has a slice of ", slice.bytes, " bytes at offset ",
                  slice.offset, "; it must begin at a multiple of ", bufferAlignment,
                  " and be inside the ", size, " bytes of allocation ", slice.allocation);
    return Status();
  }
  Status checkWritten(const Slice &slice) const {
    if (slice.bytes > 0 && executable.allocations[slice.allocation].storage == Storage::constant)
      return fail(Error::executableSlice, "writes to allocation ", slice.allocation,
                  ", which is constant");
    return Status();
  }
  Status checkOperands(std::span<const Operand> operands) const {
    if (operands.size() > maxBuffers)
      return fail(Error::executableStep, "has ", operands.size(),
                  " operands or results, but the limit is ", maxBuffers);
    for (const Operand &operand : operands) {
      TILEWRIGHT_TRY(checkSlice(operand.slice));
      TILEWRIGHT_TRY(checkIndex(operand.type, executable.types.size(), "type"));
      if (operand.slice.bytes != typeBytes[operand.type])
        return fail(Error::executableSlice, "has a slice of ", operand.slice.bytes,
                    " bytes for a tensor of ", typeBytes[operand.type], " bytes");
    }
    return Status();
  }
  Status checkTensors(std::span<const Operand> operands, std::span<const Operand> results) const {
    TILEWRIGHT_TRY(checkOperands(operands));
    TILEWRIGHT_TRY(checkOperands(results));
    for (const Operand &result : results)
      TILEWRIGHT_TRY(checkWritten(result.slice));
    return Status();
  }

  Status checkAction(const LaunchStep &launch) {
    TILEWRIGHT_TRY(checkIndex(launch.kernel, executable.kernels.size(), "kernel"));
    if (launch.buffers.size() > maxBuffers)
      return fail(Error::executableStep, "passes ", launch.buffers.size(),
                  " buffers, but the limit is ", maxBuffers);
    for (const Slice &slice : launch.buffers)
      TILEWRIGHT_TRY(checkSlice(slice));
    if (const std::optional<GpuLaunch> &gpu = executable.kernels[launch.kernel].gpu)
      TILEWRIGHT_TRY(checkGpuBuffers(
          *gpu, launch.buffers, concat("step ", number, " '", step->name, "' of block ", block)));
    return Status();
  }
  Status checkAction(const LibraryStep &library) {
    TILEWRIGHT_TRY(checkIndex(library.library, executable.libraries.size(), "library kernel"));
    return checkTensors(library.operands, library.results);
  }
  Status checkAction(const CustomCallStep &call) {
    if (call.target.empty() || call.apiVersion < 0 || call.apiVersion > 4)
      return fail(Error::executableStep, "calls '", call.target, "' with API version ",
                  call.apiVersion, "; expected a name and a version from 0 to 4");
    TILEWRIGHT_TRY(checkAttributes(call.attributes, "a custom call", 0));
    return checkTensors(call.operands, call.results);
  }
  Status checkAction(const CopyStep &copy) {
    TILEWRIGHT_TRY(checkSlice(copy.from));
    TILEWRIGHT_TRY(checkSlice(copy.to));
    if (copy.from.bytes != copy.to.bytes)
      return fail(Error::executableSlice, "copies ", copy.from.bytes, " bytes to a slice of ",
                  copy.to.bytes, " bytes");
    return checkWritten(copy.to);
  }
  Status checkAction(const WhileStep &loop) {
    TILEWRIGHT_TRY(checkIndex(loop.condition, executable.blocks.size(), "block"));
    TILEWRIGHT_TRY(checkIndex(loop.body, executable.blocks.size(), "block"));
    TILEWRIGHT_TRY(checkSlice(loop.predicate));
    if (loop.predicate.bytes < 1)
      return fail(Error::executableSlice, "has a predicate of 0 bytes, expected at least 1");
    if (loop.tripCount < -1)
      return fail(Error::executableStep, "has an invalid trip count of ", loop.tripCount);
    return Status();
  }
  Status checkAction(const BranchStep &branch) {
    for (Index target : branch.blocks)
      TILEWRIGHT_TRY(checkIndex(target, executable.blocks.size(), "block"));
    if (branch.isPredicate ? branch.blocks.size() != 2 : branch.blocks.empty())
      return fail(Error::executableStep, "has ", branch.blocks.size(), " branches, but needs ",
                  branch.isPredicate ? "2 for a predicate" : "at least 1");
    TILEWRIGHT_TRY(checkSlice(branch.selector));
    const int64_t needed = branch.isPredicate ? 1 : 4;
    if (branch.selector.bytes < needed)
      return fail(Error::executableSlice, "has a selector of ", branch.selector.bytes,
                  " bytes, but needs ", needed);
    return Status();
  }
  Status checkAction(const CollectiveStartStep &start) {
    if (start.kind == CollectiveKind::barrier)
      return fail(Error::executableStep, "has unsupported collective kind '", nameOf(start.kind),
                  "'");
    TILEWRIGHT_TRY(checkReduction(start));
    if (!seen.insert(start.id).second)
      return fail(Error::executableStep, "starts collective ", start.id, " a second time");
    open.insert(start.id);
    const int64_t ranks = executable.replicas * executable.partitions;
    for (const std::vector<int64_t> &group : start.groups) {
      if (start.kind == CollectiveKind::permute && group.size() != 2)
        return fail(Error::executableStep, "has a source-target pair of ", group.size(),
                    " ranks, expected 2");
      for (int64_t rank : group)
        if (rank < -1 || rank >= ranks) // -1 fills groups of unequal size
          return fail(Error::executableStep, "names rank ", rank, ", but the executable is for ",
                      ranks, " ranks");
    }
    for (int64_t dimension : {start.dimension, start.splitDimension})
      if (dimension < 0)
        return fail(Error::executableStep, "has dimension ", dimension,
                    ", which must not be negative");
    TILEWRIGHT_TRY(checkTensors(start.operands, start.results));
    return start.kind == CollectiveKind::raggedAllToAll ? checkRagged(start) : Status();
  }
  /// Rows, the initial value of the result, and four lists of integers; see CollectiveStartStep.
  Status checkRagged(const CollectiveStartStep &start) {
    if (start.operands.size() != 6 || start.results.size() != 1)
      return fail(Error::executableStep,
                  "must have 6 operands and 1 result for ragged_all_to_all, got ",
                  start.operands.size(), " and ", start.results.size());
    auto typeOf = [&](const Operand &operand) -> const TensorType & {
      return executable.types[operand.type];
    };
    const TensorType &in = typeOf(start.operands[0]), &out = typeOf(start.results[0]);
    auto sameRows = [](const TensorType &a, const TensorType &b) {
      return !a.dims.empty() && !b.dims.empty() && a.element == b.element &&
             std::equal(a.dims.begin() + 1, a.dims.end(), b.dims.begin() + 1, b.dims.end());
    };
    if (!sameRows(in, out) || typeOf(start.operands[1]) != out)
      return fail(Error::executableStep,
                  "is ragged_all_to_all whose operands do not have the rows of its result");
    for (size_t i = 2; i < start.operands.size(); ++i) {
      const TensorType &list = typeOf(start.operands[i]);
      if (!numerics::isInteger(list.element) || numerics::bitWidth(list.element) < 8 ||
          list.dims.size() != 1 || list.dims != typeOf(start.operands[2]).dims)
        return fail(Error::executableStep, "has operand ", i,
                    ", which must be a list of integers as long as the other lists");
    }
    for (const std::vector<int64_t> &group : start.groups)
      if (group.empty() ||
          typeOf(start.operands[2]).dims[0] % static_cast<int64_t>(group.size()) != 0)
        return fail(Error::executableStep, "is ragged_all_to_all with lists of ",
                    typeOf(start.operands[2]).dims[0],
                    " entries, which its group does not divide evenly");
    return Status();
  }
  /// Only all_reduce and reduce_scatter have a reduction; a reduction by a function has one body,
  /// and any other has none.
  Status checkReduction(const CollectiveStartStep &start) {
    const bool reduces =
        start.kind == CollectiveKind::allReduce || start.kind == CollectiveKind::reduceScatter;
    if (reduces != (start.reduction != ReductionKind::none))
      return fail(
          Error::executableStep, "is ", nameOf(start.kind), " with reduction '",
          nameOf(start.reduction),
          "'; all_reduce and reduce_scatter must have a reduction, and other collectives must not");
    const size_t bodies = start.reduction == ReductionKind::function ? 1 : 0;
    if (start.bodies.size() != bodies)
      return fail(Error::executableStep, "has ", start.bodies.size(),
                  " reduction functions, but reduction '", nameOf(start.reduction), "' needs ",
                  bodies);
    return Status();
  }
  Status checkAction(const CollectiveDoneStep &done) {
    if (open.erase(done.id) == 0)
      return fail(Error::executableStep, "completes collective ", done.id,
                  ", which no earlier step of this block starts");
    return Status();
  }

  const Executable &executable;
  std::span<const int64_t> typeBytes;
  size_t block = 0, number = 0;
  const Step *step = nullptr;
  std::unordered_set<uint32_t> seen; // collectives that began in any block
  std::unordered_set<uint32_t> open; // collectives that began in this block and have not ended
};

} // namespace

Status checkSteps(const Executable &executable, std::span<const int64_t> typeBytes) {
  return StepChecker(executable, typeBytes).check();
}

Status checkBlockTree(const Executable &executable) {
  const std::vector<Block> &blocks = executable.blocks;
  std::vector<bool> isUsed(blocks.size());
  isUsed[0] = true;
  size_t used = 1;
  // Breadth-first search from the entry block; finds blocks that are used twice or never.
  std::vector<Index> level = {0}, next;
  for (size_t depth = 1; !level.empty(); ++depth) {
    if (depth > maxBlockNesting)
      return Status(Error::executableBlocks, concat("loops and branches are nested deeper than ",
                                                    maxBlockNesting, "; report this as a bug"));
    next.clear();
    for (Index block : level)
      for (const Step &step : blocks[block].steps) {
        const size_t before = next.size();
        if (const auto *loop = std::get_if<WhileStep>(&step.action))
          next.insert(next.end(), {loop->condition, loop->body});
        else if (const auto *branch = std::get_if<BranchStep>(&step.action))
          next.insert(next.end(), branch->blocks.begin(), branch->blocks.end());
        for (size_t i = before; i < next.size(); ++i) {
          if (isUsed[next[i]])
            return Status(Error::executableBlocks,
                          concat("block ", next[i], " is used twice, the second time by '",
                                 step.name, "' in block ", block, "; compile the program again"));
          isUsed[next[i]] = true;
          ++used;
        }
      }
    level.swap(next);
  }
  if (used != blocks.size())
    return Status(Error::executableBlocks,
                  concat("block ", std::find(isUsed.begin(), isUsed.end(), false) - isUsed.begin(),
                         " is not used by any step that runs; compile the program again"));
  return Status();
}

} // namespace tilewright::artifact
