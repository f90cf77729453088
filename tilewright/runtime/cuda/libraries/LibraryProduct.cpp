#include "tilewright/runtime/cuda/libraries/LibraryProduct.h"

#include "tilewright/runtime/cuda/Stopwatch.h"
#include "tilewright/runtime/cuda/Transfer.h"
#include "tilewright/runtime/cuda/libraries/CompareResults.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace tilewright::runtime::cuda::libraries {

/// The number of bytes before and after the memory that a library may write, and their value.
static constexpr size_t guardBytes = 4096;
static constexpr unsigned char guardByte = 0xa7, unwrittenByte = 0xff; // a NaN in every result type

static std::atomic<int64_t> byLibrary = 0, byKernel = 0, compared = 0;

LibraryProduct::Counts LibraryProduct::counts() { return {byLibrary, byKernel, compared}; }

static std::string nameOf(const artifact::Step &step) {
  return step.location.empty() ? concat("'", step.name, "'")
                               : concat("'", step.name, "' (", step.location, ")");
}

LibraryProduct::LibraryProduct(const artifact::Step &step, const artifact::ScaledProduct &product,
                               Choice choice, Use use, Command kernel, CUdeviceptr zero)
    : step(step), product(product), buffers(std::get<artifact::LaunchStep>(step.action).buffers),
      choice(std::move(choice)), use(use), kernel(std::move(kernel)), zero(zero) {}

ProductAddresses LibraryProduct::addressesIn(const CudaRun &run) const {
  auto at = [&](artifact::Index buffer) {
    const artifact::Slice &slice = buffers[buffer];
    return run.addresses[slice.allocation] + static_cast<CUdeviceptr>(slice.offset);
  };
  return {at(product.lhs),
          at(product.rhs),
          at(product.lhsScale),
          at(product.rhsScale),
          at(product.result),
          product.factor == artifact::none ? 0 : at(product.factor),
          zero};
}

void LibraryProduct::refuse(const std::string &reason) {
  GpuLibraries::say(nameOf(step), concat(choice.engine, " ", reason));
  choice.plan.reset();
}

Status LibraryProduct::submitKernel(CudaRun &run) {
  ++byKernel;
  TILEWRIGHT_ASSIGN([[maybe_unused]] bool isChanged, kernel.update(run.gpu, run.addresses));
  return kernel.submit(run.gpu, run.gpu.programs().stream());
}

Status LibraryProduct::submit(CudaRun &run) {
  Stopwatch watch(run.gpu, run.gpu.programs().stream());
  const bool isTimed = trace::isOn();
  if (isTimed)
    TILEWRIGHT_TRY(watch.start());
  Status status;
  if (!choice.plan) {
    status = submitKernel(run);
  } else if (!isTrusted || use == Use::check) {
    status = submitCompared(run);
  } else {
    Status failed = needWorkspace(run);
    if (failed.isOk())
      failed = choice.plan->run(addressesIn(run), addressOf(workspace.data()),
                                run.gpu.programs().stream());
    if (failed.isOk()) {
      ++byLibrary;
    } else {
      refuse(concat("fails: ", failed.message()));
      status = submitKernel(run);
    }
  }
  if (isTimed && status.isOk()) {
    TILEWRIGHT_TRY(watch.lap("kernel", step.name, step.source));
    return watch.finish();
  }
  return status;
}

Status LibraryProduct::needWorkspace(CudaRun &run) {
  const size_t bytes = choice.plan->workspaceBytes();
  if (workspace.size() < bytes) {
    TILEWRIGHT_ASSIGN(workspace,
                      run.run.device->defaultMemory().allocate(bytes, {"workspace of a library"}));
  }
  return Status();
}

/// If the comparison fails, the program keeps using the kernel, which has computed the product.
Status LibraryProduct::submitCompared(CudaRun &run) {
  TILEWRIGHT_TRY(submitKernel(run));
  const CUstream stream = run.gpu.programs().stream();
  auto padded = [](size_t bytes) { return (bytes + 255) / 256 * 256; };
  const auto resultBytes = static_cast<size_t>(product.batch * product.resultBytes());
  const size_t workspaceBytes = choice.plan->workspaceBytes();
  // A guard begins at the end of the memory that the library may write.
  const size_t theirsAt = guardBytes, workspaceAt = padded(theirsAt + resultBytes + guardBytes);
  const size_t total = workspaceAt + padded(workspaceBytes + guardBytes);
  Result<Allocator::Block> memory =
      run.run.device->defaultMemory().allocate(total, {"comparison with a library"});
  if (!memory.isOk() && use == Use::on) {
    refuse(concat("cannot be compared: ", std::move(memory).takeStatus().message()));
    return Status();
  }
  TILEWRIGHT_ASSIGN(const Allocator::Block scratch, std::move(memory));
  const CUdeviceptr base = addressOf(scratch.data());
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(run.gpu, cuMemsetD8Async, base, guardByte, total, stream));
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(run.gpu, cuMemsetD8Async, base + theirsAt, unwrittenByte,
                                 resultBytes, stream));
  ProductAddresses addresses = addressesIn(run);
  addresses.result = base + theirsAt;
  Status status = choice.plan->run(addresses, workspaceBytes ? base + workspaceAt : 0, stream);
  if (status.isOk()) {
    ++byLibrary, ++compared;
    const std::array<CUdeviceptr, 3> guards = {base, base + theirsAt + resultBytes,
                                               base + workspaceAt + workspaceBytes};
    status = compare(run, base + theirsAt, guards);
  } else {
    refuse(concat("fails: ", status.message()));
    status = Status();
  }
  // The stream may still use the scratch memory, which is freed here.
  Status done = TILEWRIGHT_CUDA(run.gpu, cuStreamSynchronize, stream);
  return status.isOk() ? std::move(done) : std::move(status);
}

Status LibraryProduct::compare(CudaRun &run, CUdeviceptr theirs,
                               std::span<const CUdeviceptr> guards) {
  const CUstream stream = run.gpu.programs().stream();
  const ProductAddresses from = addressesIn(run);
  const auto batch = static_cast<size_t>(product.batch);
  auto bytesOf = [&](int64_t ofMatrix) { return batch * static_cast<size_t>(ofMatrix); };
  struct Part {
    CUdeviceptr from;
    size_t bytes, at;
  };
  std::vector<Part> parts = {{from.lhs, bytesOf(product.lhsBytes()), 0},
                             {from.rhs, bytesOf(product.rhsBytes()), 0},
                             {from.lhsScale, bytesOf(product.lhsScaleBytes()), 0},
                             {from.rhsScale, bytesOf(product.rhsScaleBytes()), 0},
                             {from.result, bytesOf(product.resultBytes()), 0},
                             {theirs, bytesOf(product.resultBytes()), 0}};
  for (CUdeviceptr guard : guards)
    parts.push_back({guard, guardBytes, 0});
  if (from.factor)
    parts.push_back({from.factor, sizeof(float), 0});
  size_t total = 0;
  for (Part &part : parts) {
    part.at = total;
    total += (part.bytes + 63) / 64 * 64;
  }
  TILEWRIGHT_ASSIGN(std::byte * host, run.staging(total));
  for (const Part &part : parts)
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(run.gpu, cuMemcpyAsync, addressOf(host + part.at), part.from,
                                   part.bytes, stream));
  if (Status failed = TILEWRIGHT_CUDA(run.gpu, cuStreamSynchronize, stream); !failed.isOk())
    return std::move(failed).during(
        concat("comparing the results of ", choice.engine, " and of ", nameOf(step)));

  static constexpr const char *where[] = {"before the result", "behind the result",
                                          "behind the workspace"};
  for (size_t i = 0; i < guards.size(); ++i) {
    const std::byte *guard = host + parts[6 + i].at;
    const std::byte *broken = std::find_if_not(
        guard, guard + guardBytes, [](std::byte byte) { return byte == std::byte(guardByte); });
    if (broken != guard + guardBytes)
      return Status(Error::cudaKernelFailed,
                    concat(choice.engine, " wrote outside of its memory, at byte ", broken - guard,
                           " of the guard ", where[i], ", in ", nameOf(step), ", ", product.text(),
                           "; other data may be damaged: set TILEWRIGHT_GPU_LIBRARIES=off"));
  }
  ComparedProduct data;
  data.lhs = host + parts[0].at, data.rhs = host + parts[1].at;
  data.lhsScale = host + parts[2].at, data.rhsScale = host + parts[3].at;
  data.ours = host + parts[4].at, data.theirs = host + parts[5].at;
  if (from.factor)
    std::memcpy(&data.factor, host + parts.back().at, sizeof(float));
  const std::string difference = differenceOf(product, data);
  isTrusted = difference.empty();
  // Every run uses the library's result, so that equal runs give equal bits.
  if (isTrusted)
    return TILEWRIGHT_CUDA(run.gpu, cuMemcpyAsync, from.result, theirs,
                           bytesOf(product.resultBytes()), stream);
  if (use == Use::check) {
    run.blamesLibrary = true;
    return Status(Error::cudaKernelFailed,
                  concat(choice.engine, " computed a wrong result in ", nameOf(step), ", ",
                         product.text(), ": ", difference,
                         "; set TILEWRIGHT_GPU_LIBRARIES=off, or =on, which leaves the product "
                         "to the program's kernel"));
  }
  refuse(concat("computed a wrong result: ", difference));
  return Status();
}

} // namespace tilewright::runtime::cuda::libraries
