#include "test/nvptx/collectives/Team.h"

#include "tilewright/dialect/exec/ExecDialect.h"
#include "tilewright/dialect/sm/SmDialect.h"
#include "tilewright/numerics/Float.h"
#include "tilewright/runtime/cuda/FindDriver.h"
#include "tilewright/support/Concat.h"
#include "tilewright/transform/tile/solve/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace tilewright::nvptx {

using collective::conformance::Bytes;
using collective::conformance::Case;
using numerics::CollectiveKind;
using numerics::ElementType;
using namespace runtime::cuda;
using tile::CollectiveForm;
using tile::CollectiveKernel;

/// Compiles the kernel that `build` adds to a module.
template <typename Build>
static Result<GpuCode> compileBuilt(Build build, const CodegenOptions &options = {}) {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registry
        .insert<sm::SmDialect, tile::TileDialect, exec::ExecDialect, mlir::affine::AffineDialect,
                mlir::arith::ArithDialect, mlir::complex::ComplexDialect, mlir::math::MathDialect,
                mlir::scf::SCFDialect, mlir::tensor::TensorDialect>();
    auto *made = new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  static std::mutex mutex; // threads of different ranks compile
  std::lock_guard lock(mutex);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
  TILEWRIGHT_TRY(build(*module));
  if (mlir::failed(mlir::verify(*module)))
    return Status(Code::internal, "the collective kernel is invalid");
  mlir::PassManager passes(context);
  solve::buildLayoutPipeline(passes);
  if (mlir::failed(passes.run(*module)))
    return Status(Code::internal, "the collective kernel gets no layouts");
  return generateCode(*module, *chipNamed("sm_90a"), options);
}

Result<GpuCode> compileCollective(const CollectiveKernel &wanted) {
  return compileBuilt(
      [&](mlir::ModuleOp module) { return tile::buildCollective(module, wanted).takeStatus(); });
}

Result<runtime::cuda::CollectiveImage> compileImage(const CollectiveKernel &wanted) {
  TILEWRIGHT_ASSIGN(GpuCode code, compileCollective(wanted));
  const KernelInfo &info = code.kernels.front();
  return runtime::cuda::CollectiveImage{code.ptx, info.symbol, static_cast<unsigned>(info.grid[0]),
                                        static_cast<unsigned>(info.threads),
                                        static_cast<unsigned>(info.sharedBytes)};
}

Result<GpuCode> compileFused(const tile::FusedProduct &wanted, bool isGather,
                             const CodegenOptions &options) {
  return compileBuilt(
      [&](mlir::ModuleOp module) {
        return (isGather ? tile::buildAllGatherProduct(module, wanted)
                         : tile::buildProductReduceScatter(module, wanted))
            .takeStatus();
      },
      options);
}

Result<GpuCode> compileText(const std::string &text, const CodegenOptions &options) {
  return compileBuilt(
      [&](mlir::ModuleOp module) {
        auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, module.getContext());
        if (!parsed)
          return Status(Code::invalidArgument, "the text is not a module");
        module.getBody()->getOperations().splice(module.getBody()->end(),
                                                 parsed->getBody()->getOperations());
        return Status();
      },
      options);
}

Result<std::unique_ptr<Team>> Team::make(int64_t ranks) {
  std::unique_ptr<Team> team(new Team(ranks));
  TILEWRIGHT_TRY(team->start());
  return team;
}

Status Team::start() {
  TILEWRIGHT_ASSIGN(api, findDriver({.library = "", .virtualChip = "sm_90a", .devices = {}}));
  std::vector<int> ordinals;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    ordinals.push_back(static_cast<int>(rank));
    Device device;
    CUdevice handle = 0;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuDeviceGet, &handle, static_cast<int>(rank)));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuDevicePrimaryCtxRetain, &device.context, handle));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuCtxPushCurrent, device.context));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuStreamCreate, &device.stream, 1U));
    CUcontext popped = nullptr;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuCtxPopCurrent, &popped));
    devices.push_back(device);
  }
  TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuCtxPushCurrent, devices[0].context));
  TILEWRIGHT_ASSIGN(memory, SymmetricMemory::make(api, ordinals, TeamPlaces::bytes));
  CUcontext popped = nullptr;
  return TILEWRIGHT_CUDA(*api, cuCtxPopCurrent, &popped);
}

Team::~Team() = default;

/// The kernel's parameters: whether each is a window, and where it is.
static std::vector<std::pair<bool, size_t>> parametersOf(const CollectiveKernel &wanted) {
  const std::pair<bool, size_t> signals = {true, TeamPlaces::signals};
  switch (wanted.kind) {
  case CollectiveKind::allReduce:
    if (wanted.form == CollectiveForm::oneShot)
      return {
          {false, TeamPlaces::in}, {false, TeamPlaces::out}, {true, TeamPlaces::staging}, signals};
    return {{true, TeamPlaces::in}, {true, TeamPlaces::out}, signals};
  case CollectiveKind::reduceScatter:
    return {{true, TeamPlaces::in}, {false, TeamPlaces::out}, signals};
  case CollectiveKind::raggedAllToAll:
    return {{false, TeamPlaces::in},     {false, TeamPlaces::lists}, {false, TeamPlaces::out},
            {true, TeamPlaces::staging}, {true, TeamPlaces::counts}, signals};
  default:
    return {{false, TeamPlaces::in}, {true, TeamPlaces::out}, signals};
  }
}

/// Copies bytes, or writes them again in place; grid and block have any size.
static constexpr const char *neighbours = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u64 bytes)
{
  .reg .pred %p<2>; .reg .b16 %h<2>; .reg .b32 %r<5>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  ld.param.u64 %rd3, [bytes];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %rd4, %r4;
  setp.ge.u64 %p1, %rd4, %rd3;
  @%p1 bra done;
  add.u64 %rd5, %rd1, %rd4;
  add.u64 %rd6, %rd2, %rd4;
  ld.global.u8 %h1, [%rd5];
  st.global.u8 [%rd6], %h1;
done:
  ret;
}
)";

Status Team::launch(const Parameters &parameters, const GpuCode &code, int times,
                    bool hasNeighbours, size_t inBytes, size_t outBytes,
                    const std::optional<LateRank> &late) {
  const KernelInfo &kernel = code.kernels.front();
  std::vector<CUfunction> functions, copies;
  std::vector<CUmodule> modules;
  auto leave = [&] {
    CUcontext popped = nullptr;
    return TILEWRIGHT_CUDA(*api, cuCtxPopCurrent, &popped);
  };
  for (Device &device : devices) {
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuCtxPushCurrent, device.context));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuModuleLoadDataEx, &modules.emplace_back(),
                                   code.ptx.c_str(), 0U, nullptr, nullptr));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuModuleGetFunction, &functions.emplace_back(),
                                   modules.back(), kernel.symbol.c_str()));
    CUmodule others = nullptr;
    TILEWRIGHT_TRY(
        TILEWRIGHT_CUDA(*api, cuModuleLoadDataEx, &others, neighbours, 0U, nullptr, nullptr));
    TILEWRIGHT_TRY(
        TILEWRIGHT_CUDA(*api, cuModuleGetFunction, &copies.emplace_back(), others, "copy"));
    TILEWRIGHT_TRY(leave());
  }
  auto copy = [&](size_t rank, size_t from, size_t to, size_t bytes) {
    uint64_t values[] = {memory->part(rank) + from, memory->part(rank) + to, bytes};
    void *pointers[] = {&values[0], &values[1], &values[2]};
    CUlaunchConfig config = {};
    config.gridDimX = static_cast<unsigned>((bytes + 127) / 128);
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 128;
    config.hStream = devices[rank].stream;
    return TILEWRIGHT_CUDA(*api, cuLaunchKernelEx, &config, copies[rank], pointers, nullptr);
  };
  auto launchOn = [&](size_t rank) -> Status {
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuCtxPushCurrent, devices[rank].context));
    std::vector<std::vector<uint64_t>> values;
    std::vector<void *> pointers;
    for (auto [isWindow, offset] : parameters)
      values.push_back(isWindow ? memory->window(rank, offset)
                                : std::vector<uint64_t>{memory->part(rank) + offset});
    for (auto &value : values)
      pointers.push_back(value.data());
    if (hasNeighbours)
      TILEWRIGHT_TRY(copy(rank, TeamPlaces::in, TeamPlaces::in, inBytes));
    CUlaunchConfig config = {};
    config.gridDimX = static_cast<unsigned>(kernel.grid[0]);
    config.gridDimY = static_cast<unsigned>(kernel.grid[1]);
    config.gridDimZ = static_cast<unsigned>(kernel.grid[2]);
    config.blockDimX = static_cast<unsigned>(kernel.threads);
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = static_cast<unsigned>(kernel.sharedBytes);
    config.hStream = devices[rank].stream;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuLaunchKernelEx, &config, functions[rank],
                                   pointers.data(), nullptr));
    if (hasNeighbours)
      TILEWRIGHT_TRY(copy(rank, TeamPlaces::out, TeamPlaces::seen, outBytes));
    return leave();
  };
  for (int time = 0; time < times; ++time) {
    for (size_t rank = 0; rank < devices.size(); ++rank)
      if (!late || rank != late->rank)
        TILEWRIGHT_TRY(launchOn(rank));
    if (late) {
      Status seen = late->untilLate();
      TILEWRIGHT_TRY(launchOn(late->rank)); // also after a failure, so that the others end
      TILEWRIGHT_TRY(std::move(seen));
    }
  }
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuCtxPushCurrent, devices[rank].context));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuStreamSynchronize, devices[rank].stream));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuModuleUnload, modules[rank]));
    TILEWRIGHT_TRY(leave());
  }
  return Status();
}

/// The case of the conformance suite that the kernel computes.
static Case caseOf(const CollectiveKernel &wanted) {
  Case test{wanted.kind, wanted.element, {wanted.count}, {}, wanted.operation};
  if (wanted.kind == CollectiveKind::reduceScatter || wanted.kind == CollectiveKind::allToAll)
    test.dims = {wanted.count * wanted.ranks};
  for (auto [from, to] : wanted.pairs)
    test.groups.push_back({from, to});
  return test;
}

/// Ragged: rank a sends `(3 a + 5 b) mod 7` rows to rank b, in `ranges` pieces, some of them empty.
struct RaggedPlan {
  struct Piece {
    int64_t from, rows, to;
  };
  std::vector<std::vector<Piece>> pieces; // by sender: (receiver, range)
  RaggedPlan(const CollectiveKernel &wanted) : pieces(static_cast<size_t>(wanted.ranks)) {
    std::vector<int64_t> next(static_cast<size_t>(wanted.ranks), 1); // row 0 stays as it was
    for (int64_t a = 0; a < wanted.ranks; ++a) {
      int64_t from = 0;
      for (int64_t b = 0; b < wanted.ranks; ++b)
        for (int64_t range = 0; range < wanted.ranges; ++range) {
          const int64_t rows = (3 * a + 5 * b + range) % 7 / wanted.ranges;
          int64_t &to = next[static_cast<size_t>(b)];
          pieces[static_cast<size_t>(a)].push_back({from, rows, to});
          from += rows;
          to += rows;
        }
    }
  }
  /// The four lists of a call: rows that the rank sends, and rows that it gets.
  std::vector<int64_t> listsOf(int64_t rank) const {
    std::vector<Piece> come;
    const size_t each = pieces[0].size() / pieces.size();
    for (const std::vector<Piece> &sender : pieces)
      for (size_t range = 0; range < each; ++range)
        come.push_back(sender[static_cast<size_t>(rank) * each + range]);
    const std::vector<Piece> &sent = pieces[static_cast<size_t>(rank)];
    std::vector<int64_t> lists;
    for (auto [list, field] : {std::pair(&sent, &Piece::from),
                               {&sent, &Piece::rows},
                               {&come, &Piece::to},
                               {&come, &Piece::rows}})
      for (const Piece &piece : *list)
        lists.push_back(piece.*field);
    return lists;
  }
};

std::string Team::run(const CollectiveKernel &wanted, const GpuCode &code, int times,
                      bool hasNeighbours) {
  const Case test = caseOf(wanted);
  const bool isRagged = wanted.kind == CollectiveKind::raggedAllToAll;
  const auto width = numerics::storageBytes(wanted.element);
  std::vector<Bytes> operands, results;
  const RaggedPlan plan(wanted);
  auto copy = [&](size_t rank, size_t offset, const Bytes &bytes) {
    std::memcpy(reinterpret_cast<void *>(memory->part(rank) + offset), bytes.data(), bytes.size());
  };
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (isRagged) {
      const Case rows{
          CollectiveKind::allGather, wanted.element, {wanted.rowsIn * wanted.count}, {}};
      operands.push_back(operandOf(rows, rank, 0));
      results.emplace_back(static_cast<size_t>(wanted.rowsOut * wanted.count) * width,
                           std::byte(0x55));
      const std::vector<int64_t> lists = plan.listsOf(rank);
      const auto *raw = reinterpret_cast<const std::byte *>(lists.data());
      copy(static_cast<size_t>(rank), TeamPlaces::lists, Bytes(raw, raw + lists.size() * 8));
    } else {
      operands.push_back(operandOf(test, rank, 0));
      results.push_back(expected(test, rank, ranks, 0));
    }
    copy(static_cast<size_t>(rank), TeamPlaces::in, operands.back());
    copy(static_cast<size_t>(rank), TeamPlaces::out,
         Bytes(results.back().size() + 4096, std::byte(0x55)));
  }
  if (isRagged) {
    const size_t row = static_cast<size_t>(wanted.count) * width;
    for (size_t a = 0; a < plan.pieces.size(); ++a)
      for (size_t i = 0; i < plan.pieces[a].size(); ++i) {
        const RaggedPlan::Piece &piece = plan.pieces[a][i];
        std::memcpy(results[i / static_cast<size_t>(wanted.ranges)].data() +
                        static_cast<size_t>(piece.to) * row,
                    operands[a].data() + static_cast<size_t>(piece.from) * row,
                    static_cast<size_t>(piece.rows) * row);
      }
  }
  if (Status status = launch(parametersOf(wanted), code, times, hasNeighbours, operands[0].size(),
                             results[0].size());
      !status.isOk())
    return status.toString();
  // Sums by the interconnect: any order of n additions is within n - 1 roundings of the exact sum.
  const bool isExact = wanted.form != CollectiveForm::multicast ||
                       !numerics::isReal(wanted.element) ||
                       wanted.kind == CollectiveKind::allGather;
  for (size_t rank = 0; rank < results.size(); ++rank) {
    Bytes got(results[rank].size() + 4096);
    std::memcpy(got.data(), reinterpret_cast<void *>(memory->part(rank) + TeamPlaces::out),
                got.size());
    // The bytes that the neighbour read.
    if (hasNeighbours)
      std::memcpy(got.data(), reinterpret_cast<void *>(memory->part(rank) + TeamPlaces::seen),
                  results[rank].size());
    // The multicast form may write what its last access of 16 bytes has beyond the elements.
    const size_t padding = wanted.form == CollectiveForm::multicast ? 16 : 0;
    for (size_t i = results[rank].size() + padding; i < got.size(); ++i)
      if (got[i] != std::byte(0x55))
        return concat("rank ", rank, " has a byte written beyond its result, at ", i);
    for (size_t i = 0; i < results[rank].size(); i += width) {
      if (std::memcmp(&got[i], &results[rank][i], width) == 0)
        continue;
      auto number = [&](const Bytes &bytes, size_t at) {
        uint64_t bits = 0;
        std::memcpy(&bits, &bytes[at], width);
        return numerics::decode(wanted.element, bits);
      };
      const double a = number(got, i), b = number(results[rank], i);
      double magnitude = 0;
      if (!isExact) {
        const size_t first = wanted.kind == CollectiveKind::reduceScatter
                                 ? rank * static_cast<size_t>(wanted.count) * width
                                 : 0;
        for (const Bytes &operand : operands)
          magnitude += std::abs(number(operand, first + i));
        const double epsilon = wanted.element == ElementType::f64   ? 0x1p-52
                               : wanted.element == ElementType::f32 ? 0x1p-23
                               : wanted.element == ElementType::f16 ? 0x1p-10
                                                                    : 0x1p-7;
        if (std::abs(a - b) <= 2 * epsilon * static_cast<double>(ranks) * magnitude ||
            (std::isnan(a) && std::isnan(b)))
          continue;
      }
      return concat("rank ", rank, ", element ", i / width, ": ", a, " instead of ", b);
    }
  }
  return "";
}

// Small integers: all sums are exact. In a reduce_scatter each rank has another right operand.
static float lhsAt(int64_t rank, int64_t row, int64_t k) {
  return static_cast<float>((rank * 5 + row * 3 + k * 7) % 5 - 2);
}
static float rhsAt(int64_t rank, bool isGather, int64_t k, int64_t column) {
  return static_cast<float>(((isGather ? 0 : rank) + k * 2 + column * 3) % 5 - 2);
}

void Team::fillFused(const tile::FusedProduct &wanted, bool isGather) {
  const int64_t shard = wanted.shardRows(), lhsRows = isGather ? shard : ranks * shard;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    auto at = [&](size_t place) {
      return reinterpret_cast<std::byte *>(memory->part(static_cast<size_t>(rank)) + place);
    };
    auto put = [&](size_t place, int64_t index, float value) {
      const auto bits = static_cast<uint16_t>(numerics::encode(wanted.element, value));
      std::memcpy(at(place) + index * 2, &bits, 2);
    };
    // Flags have words for each point, so kernels with another number of points begin anew.
    std::memset(at(TeamPlaces::flags), 0, TeamPlaces::staging - TeamPlaces::flags);
    for (int64_t row = 0; row < lhsRows; ++row)
      for (int64_t k = 0; k < wanted.depth; ++k)
        put(TeamPlaces::in, row * wanted.depth + k, lhsAt(rank, row, k));
    for (int64_t k = 0; k < wanted.depth; ++k)
      for (int64_t column = 0; column < wanted.columns; ++column)
        put(TeamPlaces::lists, k * wanted.columns + column, rhsAt(rank, isGather, k, column));
  }
}

std::string Team::compareFused(const tile::FusedProduct &wanted, bool isGather, int64_t rank,
                               size_t place, int64_t firstRow, int64_t rows) {
  const int64_t shard = wanted.shardRows();
  for (int64_t row = firstRow; row < firstRow + rows; ++row)
    for (int64_t column = 0; column < wanted.columns; ++column) {
      float want = 0, got = 0;
      for (int64_t k = 0; k < wanted.depth; ++k)
        if (isGather)
          want += lhsAt(row / shard, row % shard, k) * rhsAt(rank, isGather, k, column);
        else
          for (int64_t other = 0; other < ranks; ++other)
            want += lhsAt(other, rank * shard + row, k) * rhsAt(other, isGather, k, column);
      std::memcpy(&got,
                  reinterpret_cast<void *>(memory->part(static_cast<size_t>(rank)) + place +
                                           static_cast<size_t>(row * wanted.columns + column) * 4),
                  4);
      if (got != want)
        return concat("rank ", rank, ", row ", row, ", column ", column, ": ", got, " instead of ",
                      want);
    }
  return "";
}

Team::Parameters Team::fusedParameters() {
  return {{false, TeamPlaces::in},     {false, TeamPlaces::lists}, {false, TeamPlaces::out},
          {true, TeamPlaces::staging}, {true, TeamPlaces::flags},  {true, TeamPlaces::signals}};
}

std::string Team::runFused(const tile::FusedProduct &wanted, bool isGather, const GpuCode &code,
                           int times) {
  const int64_t shard = wanted.shardRows(), all = ranks * shard;
  const int64_t lhsRows = isGather ? shard : all, outRows = isGather ? all : shard;
  fillFused(wanted, isGather);
  if (Status status = launch(fusedParameters(), code, times, /*hasNeighbours=*/true,
                             static_cast<size_t>(lhsRows * wanted.depth * 2),
                             static_cast<size_t>(outRows * wanted.columns * 4));
      !status.isOk())
    return status.toString();
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (std::string wrong = compareFused(wanted, isGather, rank, TeamPlaces::seen, 0, outRows);
        !wrong.empty())
      return wrong;
  return "";
}

std::string Team::runFusedWithLateRank(const tile::FusedProduct &wanted, const GpuCode &code,
                                       int64_t late) {
  const int64_t shard = wanted.shardRows(), all = ranks * shard;
  const auto outBytes = static_cast<size_t>(all * wanted.columns * 4);
  fillFused(wanted, /*isGather=*/true);
  for (size_t rank = 0; rank < devices.size(); ++rank) // 0xff: a NaN, which equals no result
    std::memset(reinterpret_cast<void *>(memory->part(rank) + TeamPlaces::out), 0xff, outBytes);
  auto isMissing = [&]() -> std::string {
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (int64_t of = rank; rank != late && of != late; of = (of + ranks - 1) % ranks)
        if (std::string wrong =
                compareFused(wanted, true, rank, TeamPlaces::out, of * shard, shard);
            !wrong.empty())
          return wrong;
    return "";
  };
  auto untilLate = [&]() -> Status {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    std::string missing;
    while (!(missing = isMissing()).empty()) {
      if (std::chrono::steady_clock::now() > end)
        return Status(Code::internal, concat("before rank ", late, " begins: ", missing));
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return Status();
  };
  if (Status status = launch(fusedParameters(), code, 1, /*hasNeighbours=*/true,
                             static_cast<size_t>(shard * wanted.depth * 2), outBytes,
                             LateRank{static_cast<size_t>(late), untilLate});
      !status.isOk())
    return status.toString();
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (std::string wrong = compareFused(wanted, true, rank, TeamPlaces::seen, 0, all);
        !wrong.empty())
      return wrong;
  return "";
}

} // namespace tilewright::nvptx
