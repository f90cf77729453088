#include "test/fuzz/LoadTarget.h"

#include "tilewright/artifact/Format.h"
#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/Writer.h"
#include "tilewright/runtime/cpu/Program.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace tilewright::fuzz {

using namespace artifact;
using namespace runtime::cpu;
using runtime::CustomCall;
using runtime::CustomCallResolver;
using runtime::CustomCallRun;
using runtime::CustomCallSite;

static void require(bool holds, const char *what, const std::string &detail = {}) {
  if (holds)
    return;
  std::fprintf(stderr, "the executable loader broke its word: %s %s\n", what, detail.c_str());
  std::abort();
}

/// Programs that need more memory than this are not run.
static constexpr int64_t maxBytes = 1 << 20;

namespace {

volatile unsigned sum;

/// Reads all operands and writes all results.
void touch(std::span<const std::byte *const> operands, std::span<std::byte *const> results,
           const std::vector<size_t> &sizes) {
  unsigned seen = 0;
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t at = 0; at < sizes[i]; ++at)
      seen += static_cast<unsigned>(operands[i][at]);
  for (size_t i = 0; i < results.size(); ++i)
    if (size_t size = sizes[operands.size() + i])
      std::memset(results[i], static_cast<int>(seen & 1), size);
  sum = sum + seen;
}
std::vector<size_t> sizesOf(std::span<const TensorType> operands,
                            std::span<const TensorType> results) {
  std::vector<size_t> sizes;
  for (std::span<const TensorType> types : {operands, results})
    for (const TensorType &type : types) {
      Result<numerics::Shape> shape = numerics::Shape::create(type.dims);
      require(shape.isOk(), "a type without a size");
      sizes.push_back(static_cast<size_t>(shape->byteCount(type.element)));
    }
  return sizes;
}

struct TouchingKernel : LibraryKernel {
  std::vector<size_t> sizes;
  Status run(const LibraryRun &run) const override {
    touch(run.operands, run.results, sizes);
    return Status();
  }
};
Result<std::unique_ptr<LibraryKernel>> prepareTouching(const LibraryCall &,
                                                       const LibrarySignature &types) {
  auto kernel = std::make_unique<TouchingKernel>();
  kernel->sizes = sizesOf(types.operands, types.results);
  return Result<std::unique_ptr<LibraryKernel>>(std::move(kernel));
}

struct TouchingCall : CustomCall {
  std::vector<size_t> sizes;
  Status run(const CustomCallRun &run) const override {
    touch(run.operands, run.results, sizes);
    return Status();
  }
};
struct TouchingCalls : CustomCallResolver {
  Result<std::unique_ptr<CustomCall>> prepare(const CustomCallSite &site) override {
    auto call = std::make_unique<TouchingCall>();
    call->sizes = sizesOf(site.operands, site.results);
    return Result<std::unique_ptr<CustomCall>>(std::move(call));
  }
};
struct TouchingCollectives : Collectives {
  Status start(const Collective &collective, std::span<const std::byte *const> operands,
               std::span<std::byte *const> results) override {
    std::vector<TensorType> in, out;
    for (const collective::Tensor &tensor : collective.call.tensors) {
      in.push_back({tensor.element, tensor.inDims});
      out.push_back({tensor.element, tensor.outDims});
    }
    touch(operands, results, sizesOf(in, out));
    return Status();
  }
  Status finish(const Collective &) override { return Status(); }
  void abandon() override {}
};

} // namespace

/// Checks, with its own arithmetic, that slices are inside their allocations and allocations inside
/// their memory.
static void requireSlicesInside(const Executable &executable) {
  auto check = [&](const Slice &slice) {
    require(slice.allocation < executable.allocations.size(), "an allocation that is not there");
    const Allocation &allocation = executable.allocations[slice.allocation];
    require(slice.offset >= 0 && slice.bytes >= 0 && slice.offset % 64 == 0 &&
                static_cast<unsigned __int128>(slice.offset) + slice.bytes <=
                    static_cast<unsigned __int128>(allocation.bytes),
            "a slice outside its allocation");
    if (allocation.storage == Storage::constant)
      require(static_cast<unsigned __int128>(allocation.index) + allocation.bytes <=
                  executable.constants.size(),
              "an allocation outside the constants");
  };
  for (const Block &block : executable.blocks)
    for (const Step &step : block.steps) {
      if (const auto *launch = std::get_if<LaunchStep>(&step.action)) {
        require(launch->kernel < executable.kernels.size(), "a kernel that is not there");
        for (const Slice &slice : launch->buffers)
          check(slice);
      } else if (const auto *library = std::get_if<LibraryStep>(&step.action)) {
        for (const Operand &operand : library->operands)
          check(operand.slice);
        for (const Operand &result : library->results)
          check(result.slice);
      } else if (const auto *copy = std::get_if<CopyStep>(&step.action)) {
        check(copy->from);
        check(copy->to);
      } else if (const auto *branch = std::get_if<BranchStep>(&step.action)) {
        check(branch->selector);
      } else if (const auto *loop = std::get_if<WhileStep>(&step.action)) {
        check(loop->predicate);
      }
    }
}

/// Returns whether the program was run: only small ones are.
static bool runOnce(const Program &program) {
  const Executable &executable = program.executable();
  int64_t total = executable.arenaBytes[0] / 2 + executable.arenaBytes[1] / 2;
  std::vector<AlignedBytes> memory;
  std::vector<std::byte *> parameters, results;
  auto add = [&](const TensorType &type, std::vector<std::byte *> &list) {
    const auto size = static_cast<int64_t>(sizesOf({&type, 1}, std::span<const TensorType>())[0]);
    total = size < maxBytes ? total + size : maxBytes;
    memory.emplace_back(total < maxBytes ? size : 0);
    list.push_back(memory.back().data());
  };
  for (const Parameter &parameter : executable.parameters)
    add(parameter.type, parameters);
  for (const ResultInfo &result : executable.results)
    add(result.type, results);
  if (total >= maxBytes)
    return false;
  static ThreadPool pool(1);
  std::atomic<bool> cancel = true; // loops end in their first iteration
  TouchingCollectives collectives;
  RunContext context{.pool = pool};
  context.collectives = &collectives;
  context.cancel = &cancel;
  AlignedBytes arenas[2];
  for (int space = 0; space < 2; ++space) {
    arenas[space].resize(static_cast<size_t>(executable.arenaBytes[space]));
    context.arenas[space] = arenas[space].data();
  }
  Status status = program.run(parameters, results, context);
  require(status.isOk() || status.error() == Error::runCancelled,
          "a run failed:", status.message());
  return true;
}

static int checkOnce(std::span<const std::byte> bytes) {
  Result<Executable> read = readExecutable(bytes);
  if (!read.isOk()) {
    Status status = std::move(read).takeStatus();
    require(status.error().has_value(), "a failure without an id:", status.message());
    return 0;
  }
  requireSlicesInside(*read);
  const std::vector<std::byte> written = writeExecutable(*read);
  require(std::equal(written.begin(), written.end(), bytes.begin(), bytes.end()),
          "what was read is written differently");

  TouchingCalls calls;
  LoadOptions options;
  options.customCalls = &calls;
  options.prepareLibrary = prepareTouching;
  const bool hasCode = !read->objects.empty();
  Result<std::shared_ptr<Program>> program = Program::load(*std::move(read), options);
  if (!program.isOk()) {
    Status status = std::move(program).takeStatus();
    require(status.error().has_value(), "a failure without an id:", status.message());
    return 1;
  }
  return !hasCode && runOnce(**program) ? 3 : 2;
}

int checkExecutableBytes(std::span<const std::byte> bytes) {
  // CPU time, so that a busy machine does not look like a slow loader.
  const std::clock_t start = std::clock();
  int reached = checkOnce(bytes);
  if (reached == 0 && bytes.size() >= contentAt) {
    std::vector<std::byte> sealed(bytes.begin(), bytes.end());
    seal(sealed);
    reached = checkOnce(sealed);
  }
  require(std::clock() - start < CLOCKS_PER_SEC, "loading took over a second");
  return reached;
}

} // namespace tilewright::fuzz
