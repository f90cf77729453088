#include "tilewright/runtime/cuda/symmetric/SymmetricEngine.h"

#include "tilewright/collective/Clique.h"
#include "tilewright/collective/Move.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <optional>

namespace tilewright::runtime::cuda {

using collective::Call;
using collective::DeviceClique;
using collective::DeviceStream;
using collective::ElementType;
using collective::Kind;
using collective::ReductionKind;
using collective::Tensor;
using numerics::CollectiveForm;
using numerics::CollectiveKernel;

/// Kernels access plain memory in pieces of this many bytes.
static constexpr size_t alignment = 16;

static size_t roundUp(size_t bytes) { return (bytes + 255) / 256 * 256; }

static std::string nameOfPart(const std::vector<int64_t> &engineRanks, uint8_t lane, size_t part) {
  std::string name = concat("part ", part, " in lane ", int(lane), " of");
  for (int64_t rank : engineRanks)
    name += concat(" ", rank);
  return name;
}

/// One group of a clique: its symmetric memory, and the functions of its devices.
struct SymmetricEngine::Team {
  std::unique_ptr<SymmetricMemory> memory;
  size_t counts = 0, staging = 0, in = 0, out = 0; // offsets; signals are at 0
};

/// The state that the communicators of an engine share.
struct SymmetricEngine::State {
  std::shared_ptr<const DriverApi> api;
  std::vector<int> ordinals; // by rank; negative: of another process
  collective::DeviceAccess *access = nullptr;
  std::vector<int64_t> processOfRank;       // empty in a job of one process
  std::unique_ptr<HandleExchange> exchange; // null in a job of one process
  CollectiveCompiler compiler;
  Options options;

  std::mutex importing; // held while one thread waits for other processes
  std::mutex mutex;
  // All are guarded by mutex.
  std::map<CollectiveKernel, CollectiveImage> images;
  std::map<std::pair<CollectiveKernel, int64_t>, CUfunction> functions; // by kernel and rank
  std::map<std::pair<std::vector<int64_t>, uint8_t>, std::shared_ptr<Team>> teams;
  std::map<std::byte *, std::unique_ptr<SymmetricMemory>> allocations;
  std::optional<std::string> failure;

  Status failed() {
    std::lock_guard lock(mutex);
    return failure ? Status(Error::collectiveAborted, *failure) : Status();
  }
  bool isHere(int64_t rank) const { return ordinals[static_cast<size_t>(rank)] >= 0; }
  /// The team of these engine ranks, at least one of which is in this process, for a lane. All
  /// programs share it.
  Result<std::shared_ptr<Team>> teamOf(const std::vector<int64_t> &engineRanks, uint8_t lane);
  /// Waits until other processes have offered their parts.
  Status importParts(const std::vector<int64_t> &engineRanks, uint8_t lane, Deadline deadline);
  /// The kernel of a rank. The rank's device must be current.
  Result<std::pair<CUfunction, CollectiveImage>> functionOf(const CollectiveKernel &kernel,
                                                            int64_t rank);
};

Result<std::shared_ptr<SymmetricEngine::Team>>
SymmetricEngine::State::teamOf(const std::vector<int64_t> &engineRanks, uint8_t lane) {
  std::lock_guard lock(mutex);
  std::shared_ptr<Team> &team = teams[{engineRanks, lane}];
  if (team)
    return team;
  auto made = std::make_shared<Team>();
  std::vector<int> devices;
  for (int64_t rank : engineRanks)
    devices.push_back(ordinals[static_cast<size_t>(rank)]);
  const auto ranks = static_cast<int64_t>(devices.size());
  made->counts = roundUp(static_cast<size_t>(numerics::signalBytesOf(ranks, options.points)));
  made->staging =
      made->counts + roundUp(static_cast<size_t>(numerics::countBytesOf(ranks, options.points)));
  made->in = made->staging + static_cast<size_t>(numerics::stagingBytesOf(ranks, options.points));
  made->out = made->in + roundUp(options.windowBytes);
  TILEWRIGHT_TRY(access->makeCurrent(
      *std::find_if(engineRanks.begin(), engineRanks.end(), [&](int64_t r) { return isHere(r); })));
  TILEWRIGHT_ASSIGN(made->memory,
                    SymmetricMemory::make(api, devices, made->out + roundUp(options.windowBytes)));
  for (size_t i = 0; exchange && i < engineRanks.size(); ++i)
    if (made->memory->isHere(i)) {
      TILEWRIGHT_ASSIGN(const int descriptor, made->memory->exportPart(i));
      exchange->offer(nameOfPart(engineRanks, lane, i), descriptor);
    }
  return team = made;
}

Status SymmetricEngine::State::importParts(const std::vector<int64_t> &engineRanks, uint8_t lane,
                                           Deadline deadline) {
  if (!exchange)
    return Status();
  std::lock_guard one(importing);
  std::shared_ptr<Team> team;
  {
    std::lock_guard lock(mutex);
    team = teams[{engineRanks, lane}];
  }
  for (size_t i = 0; i < engineRanks.size(); ++i) {
    if (team->memory->hasPart(i))
      continue;
    TILEWRIGHT_ASSIGN(const int descriptor,
                      exchange->get(processOfRank[static_cast<size_t>(engineRanks[i])],
                                    nameOfPart(engineRanks, lane, i), deadline,
                                    [&] { return failed(); }));
    const Descriptor closed(descriptor);
    TILEWRIGHT_TRY(team->memory->importPart(i, descriptor));
  }
  return Status();
}

Result<std::pair<CUfunction, CollectiveImage>>
SymmetricEngine::State::functionOf(const CollectiveKernel &kernel, int64_t rank) {
  std::lock_guard lock(mutex);
  auto image = images.find(kernel);
  if (image == images.end()) {
    TILEWRIGHT_ASSIGN(CollectiveImage made, compiler(kernel));
    image = images.emplace(kernel, std::move(made)).first;
  }
  CUfunction &function = functions[{kernel, rank}];
  if (!function) {
    CUmodule module = nullptr;
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuModuleLoadDataEx, &module, image->second.ptx.c_str(), 0U,
                                   nullptr, nullptr));
    TILEWRIGHT_TRY(TILEWRIGHT_CUDA(*api, cuModuleGetFunction, &function, module,
                                   image->second.symbol.c_str()));
  }
  return std::pair(function, image->second);
}

/// The position of a rank in a clique.
struct SymmetricEngine::Seat {
  std::shared_ptr<Team> team; // null if the rank is in no group, or alone
  size_t position = 0, members = 0;
  std::vector<std::pair<int64_t, int64_t>> pairs; // by position
  bool isPairs = false;
};

class SymmetricEngine::Communicator final : public collective::DeviceCommunicator {
public:
  Communicator(std::shared_ptr<State> state, int64_t rank, int64_t engineRank, int64_t ranks,
               std::vector<Seat> seats)
      : state(std::move(state)), own(rank), engineRank(engineRank), ranks(ranks),
        seats(std::move(seats)) {}

  int64_t rank() const override { return own; }
  int64_t size() const override { return ranks; }
  Status enqueue(const Call &call, size_t clique, DeviceStream stream) override;
  Status beginGroup() override {
    ++depth;
    return Status();
  }
  Status endGroup() override;
  Status check() override { return state->failed(); }
  // Operands outside of the engine's memory are copied through its windows.
  Status registerMemory(std::byte *, size_t) override { return Status(); }
  Status deregisterMemory(std::byte *) override { return Status(); }
  Result<void *> registerWindow(size_t, std::byte *, size_t, Deadline) override { return nullptr; }

private:
  struct Pending {
    Call call;
    std::vector<int64_t> lists; // the call's, which the caller need not keep
    size_t clique;
    DeviceStream stream;
  };
  /// One tensor of a call, on the members of a team.
  struct Part {
    const Call &call;
    const Tensor &tensor;
    const Seat &seat;
    DeviceStream stream;
    size_t width; // bytes of an element
    size_t members() const { return seat.members; }
  };
  Status queue(const Call &call, const Seat &seat, DeviceStream stream);
  Status queueTensor(const Part &part);
  Status allReduce(const Part &part);
  Status piecewise(const Part &part, size_t count, size_t rowsIn, size_t rowsOut);
  Status ragged(const Part &part);
  CollectiveKernel kernelOf(const Part &part, CollectiveForm form, size_t count) const;
  Status launch(const Part &part, const CollectiveKernel &kernel, uint64_t in, uint64_t out);
  Status copy(const Part &part, std::byte *to, const std::byte *from, size_t bytes);
  std::byte *inWindow(const Part &part) const {
    return reinterpret_cast<std::byte *>(part.seat.team->memory->part(part.seat.position) +
                                         part.seat.team->in);
  }
  std::byte *outWindow(const Part &part) const {
    return reinterpret_cast<std::byte *>(part.seat.team->memory->part(part.seat.position) +
                                         part.seat.team->out);
  }

  const std::shared_ptr<State> state;
  const int64_t own, engineRank, ranks;
  const std::vector<Seat> seats;
  int depth = 0;
  std::vector<Pending> pending; // of an open group
};

Status SymmetricEngine::Communicator::enqueue(const Call &call, size_t clique,
                                              DeviceStream stream) {
  if (clique >= seats.size())
    return Status(Error::collectiveGroups,
                  concat(collective::describe(call), " uses clique ", clique,
                         " of a program that has ", seats.size(), " cliques"));
  TILEWRIGHT_TRY(state->failed());
  const Seat &seat = seats[clique];
  if (seat.isPairs != (call.kind == Kind::permute))
    return Status(Error::collectiveGroups,
                  concat(collective::describe(call), " uses clique ", clique, ", which has ",
                         seat.isPairs ? "pairs" : "groups"));
  if (seat.members == 0 && call.kind != Kind::broadcast && call.kind != Kind::permute)
    return Status(Error::collectiveGroups,
                  concat(collective::describe(call), " has no group that contains rank ", own));
  if (call.kind == Kind::raggedAllToAll)
    TILEWRIGHT_TRY(collective::checkReceivedLists(call, static_cast<int64_t>(seat.members), own));
  else if (seat.members > 0)
    TILEWRIGHT_TRY(collective::checkCall(call, static_cast<int64_t>(seat.members)));
  if (depth > 0) {
    pending.push_back({call, {call.ragged.begin(), call.ragged.end()}, clique, stream});
    pending.back().call.ragged = pending.back().lists;
    return Status();
  }
  return queue(call, seat, stream);
}

// Ranks may have enqueued the calls of a group in different orders, but their kernels wait for each
// other. So all ranks launch them in program order.
Status SymmetricEngine::Communicator::endGroup() {
  if (--depth > 0)
    return Status();
  std::vector<Pending> calls = std::move(pending);
  pending.clear();
  std::stable_sort(calls.begin(), calls.end(),
                   [](const Pending &a, const Pending &b) { return a.call.order < b.call.order; });
  for (const Pending &one : calls)
    TILEWRIGHT_TRY(queue(one.call, seats[one.clique], one.stream));
  return Status();
}

Status SymmetricEngine::Communicator::queue(const Call &call, const Seat &seat,
                                            DeviceStream stream) {
  for (const Tensor &tensor : call.tensors) {
    const Part part{call, tensor, seat, stream, numerics::storageBytes(tensor.element)};
    if (call.kind == Kind::raggedAllToAll) {
      TILEWRIGHT_TRY(ragged(part));
      continue;
    }
    if (collective::outBytes(tensor) == 0)
      continue;
    if (seat.team) {
      TILEWRIGHT_TRY(queueTensor(part));
      continue;
    }
    const bool getsZeros = seat.members == 0 || (seat.isPairs && seat.pairs.empty());
    if (getsZeros)
      TILEWRIGHT_TRY(
          state->access->fillWithZeros(stream, tensor.out, collective::outBytes(tensor)));
    else if (tensor.in != tensor.out)
      TILEWRIGHT_TRY(copy(part, tensor.out, tensor.in, collective::outBytes(tensor)));
  }
  return Status();
}

Status SymmetricEngine::Communicator::queueTensor(const Part &part) {
  auto refuse = [&](std::string why) {
    return Status(Error::deviceForm, concat(collective::describe(part.call),
                                            " is not in a form that our kernels know: ", why));
  };
  auto rowsBefore = [&] {
    int64_t rows = 1;
    for (int64_t i = 0; i < part.call.dimension; ++i)
      rows *= part.tensor.inDims[static_cast<size_t>(i)];
    return rows;
  };
  const size_t in = collective::inBytes(part.tensor) / part.width;
  const size_t out = collective::outBytes(part.tensor) / part.width;
  switch (part.call.kind) {
  case Kind::allReduce:
    if (part.call.reduction.isBody())
      return refuse("its reduction is a function");
    return allReduce(part);
  case Kind::allGather:
    if (rowsBefore() != 1)
      return refuse("it does not gather along the outermost dimension");
    return piecewise(part, in, 1, part.members());
  case Kind::reduceScatter:
    if (part.call.reduction.isBody() || rowsBefore() != 1)
      return refuse("it reduces by a function, or not along the outermost dimension");
    return piecewise(part, out, part.members(), 1);
  case Kind::allToAll:
    if (rowsBefore() != 1 || part.call.dimension != part.call.splitDimension)
      return refuse("it does not split and join the outermost dimension");
    return piecewise(part, in / part.members(), part.members(), part.members());
  case Kind::permute:
  case Kind::broadcast:
    return piecewise(part, out, 1, 1);
  default:
    return refuse("there is no such kernel");
  }
}

CollectiveKernel SymmetricEngine::Communicator::kernelOf(const Part &part, CollectiveForm form,
                                                         size_t count) const {
  CollectiveKernel kernel;
  kernel.kind = part.call.kind;
  kernel.element = part.tensor.element;
  kernel.operation = part.call.reduction.operation;
  kernel.form = form;
  kernel.count = static_cast<int64_t>(count);
  kernel.ranks = static_cast<int64_t>(part.members());
  kernel.points = state->options.points;
  kernel.pairs = part.seat.pairs;
  const bool reduces = part.call.kind == Kind::allReduce || part.call.kind == Kind::reduceScatter;
  if (!reduces) {
    // Kernels that only move data are the same for all types of a width.
    kernel.operation = ReductionKind::none;
    kernel.element = part.width == 16
                         ? ElementType::c128
                         : *numerics::integerOfWidth(static_cast<unsigned>(8 * part.width), false);
  }
  return kernel;
}

Status SymmetricEngine::Communicator::copy(const Part &part, std::byte *to, const std::byte *from,
                                           size_t bytes) {
  return state->access->copy(part.stream, to, from, bytes);
}

static bool isAligned(const std::byte *pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

Status SymmetricEngine::Communicator::allReduce(const Part &part) {
  const size_t bytes = collective::inBytes(part.tensor);
  const bool isSmall = bytes <= state->options.oneShotBytes;
  if (isSmall && isAligned(part.tensor.in) && isAligned(part.tensor.out))
    return launch(part, kernelOf(part, CollectiveForm::oneShot, bytes / part.width),
                  reinterpret_cast<uint64_t>(part.tensor.in),
                  reinterpret_cast<uint64_t>(part.tensor.out));
  const size_t most = state->options.windowBytes / alignment * alignment;
  for (size_t at = 0; at < bytes; at += most) {
    const size_t now = std::min(most, bytes - at);
    TILEWRIGHT_TRY(copy(part, inWindow(part), part.tensor.in + at, now));
    const bool canMulticast = state->options.mayReorder && part.seat.team->memory->multicast() != 0;
    CollectiveKernel kernel = kernelOf(
        part, canMulticast ? CollectiveForm::multicast : CollectiveForm::direct, now / part.width);
    Status status = launch(part, kernel, 0, 0);
    if (canMulticast && status.code() == Code::unimplemented) {
      kernel.form = CollectiveForm::direct;
      status = launch(part, kernel, 0, 0);
    }
    TILEWRIGHT_TRY(std::move(status));
    TILEWRIGHT_TRY(copy(part, part.tensor.out + at, outWindow(part), now));
  }
  return Status();
}

// A row is the data that one rank sends to another. A piece is a range of columns of all rows.
Status SymmetricEngine::Communicator::piecewise(const Part &part, size_t count, size_t rowsIn,
                                                size_t rowsOut) {
  const size_t width = part.width;
  const size_t step = std::max(alignment / width, size_t(1));
  const size_t most = state->options.windowBytes / width / std::max(rowsIn, rowsOut) / step * step;
  for (size_t at = 0; at < count; at += most) {
    const size_t now = std::min(most, count - at);
    const bool isWhole = now == count;
    const Tensor &tensor = part.tensor;
    // The operand of a reduce_scatter, and the result of any other kind, must be in a window. The
    // other side stays in the caller's memory if kernels can access it there.
    const bool needsIn = part.call.kind == Kind::reduceScatter;
    const std::byte *in = tensor.in + at * width;
    const bool copiesIn = needsIn || !isAligned(in) || (rowsIn > 1 && !isWhole);
    if (copiesIn) {
      for (size_t row = 0; row < rowsIn; ++row)
        TILEWRIGHT_TRY(copy(part, inWindow(part) + row * now * width,
                            tensor.in + (row * count + at) * width, now * width));
      in = inWindow(part);
    }
    std::byte *out = tensor.out + at * width;
    const bool copiesOut = !needsIn || !isAligned(out);
    if (copiesOut)
      out = outWindow(part);
    TILEWRIGHT_TRY(launch(part, kernelOf(part, CollectiveForm::direct, now),
                          reinterpret_cast<uint64_t>(in), reinterpret_cast<uint64_t>(out)));
    if (copiesOut)
      for (size_t row = 0; row < rowsOut; ++row)
        TILEWRIGHT_TRY(copy(part, tensor.out + (row * count + at) * width,
                            outWindow(part) + row * now * width, now * width));
  }
  return Status();
}

// Kernels read the rows from the result window and their lists from the operand window.
Status SymmetricEngine::Communicator::ragged(const Part &part) {
  const Tensor &tensor = part.tensor;
  const std::span<const int64_t> lists = part.call.ragged;
  const size_t entries = lists.size() / 4;
  int64_t count = 1;
  for (int64_t size : std::span(tensor.inDims).subspan(1))
    count *= size;
  if (count == 0 || entries == 0)
    return Status(); // on all ranks alike
  if (!part.seat.team) {
    const size_t row = static_cast<size_t>(count) * part.width;
    for (size_t i = 0; i < entries; ++i)
      if (lists[entries + i] > 0)
        TILEWRIGHT_TRY(copy(part, tensor.out + static_cast<size_t>(lists[2 * entries + i]) * row,
                            tensor.in + static_cast<size_t>(lists[i]) * row,
                            static_cast<size_t>(lists[entries + i]) * row));
    return Status();
  }
  // A row that is too long for two slots of each range is divided into several shorter rows. This
  // length and the number of rows in a slot must be the same on all ranks, whose shapes may differ
  // in the number of rows.
  const size_t slot = state->options.windowBytes / (2 * entries);
  int64_t pieces = 1;
  while (pieces < count &&
         (count % pieces != 0 || static_cast<size_t>(count / pieces) * part.width > slot))
    ++pieces;
  count /= pieces;
  CollectiveKernel kernel = kernelOf(part, CollectiveForm::direct, static_cast<size_t>(count));
  kernel.rowsIn = std::max<int64_t>(tensor.inDims[0] * pieces, 1);
  kernel.rowsOut = std::max<int64_t>(tensor.outDims[0] * pieces, 1);
  kernel.ranges = static_cast<int64_t>(entries / part.members());
  kernel.slotRows = static_cast<int64_t>(slot / (static_cast<size_t>(count) * part.width));
  std::vector<int64_t> scaled(lists.begin(), lists.end());
  for (int64_t &value : scaled)
    value *= pieces;
  const size_t listBytes = scaled.size() * sizeof(int64_t);
  if (kernel.slotRows == 0 || listBytes > state->options.windowBytes || !isAligned(tensor.in) ||
      !isAligned(tensor.out))
    return Status(Error::deviceForm,
                  concat(collective::describe(part.call), " has ", entries,
                         " ranges of rows, too many for windows of ", state->options.windowBytes,
                         " bytes, or a tensor that is not aligned to ", alignment, " bytes"));
  // The driver keeps a copy of what it reads from pageable memory.
  TILEWRIGHT_TRY(
      copy(part, inWindow(part), reinterpret_cast<const std::byte *>(scaled.data()), listBytes));
  return launch(part, kernel, reinterpret_cast<uint64_t>(tensor.in),
                reinterpret_cast<uint64_t>(tensor.out));
}

Status SymmetricEngine::Communicator::launch(const Part &part, const CollectiveKernel &kernel,
                                             uint64_t in, uint64_t out) {
  TILEWRIGHT_ASSIGN(auto loaded, state->functionOf(kernel, engineRank));
  const Team &team = *part.seat.team;
  auto window = [&](size_t offset) { return team.memory->window(part.seat.position, offset); };
  std::vector<std::vector<uint64_t>> values;
  if (kernel.kind == Kind::allReduce && kernel.form == CollectiveForm::oneShot)
    values = {{in}, {out}, window(team.staging), window(0)};
  else if (kernel.kind == Kind::allReduce)
    values = {window(team.in), window(team.out), window(0)};
  else if (kernel.kind == Kind::reduceScatter)
    values = {window(team.in), {out}, window(0)};
  else if (kernel.kind == Kind::raggedAllToAll)
    values = {{in},
              {reinterpret_cast<uint64_t>(inWindow(part))},
              {out},
              window(team.out),
              window(team.counts),
              window(0)};
  else
    values = {{in}, window(team.out), window(0)};
  std::vector<void *> pointers;
  for (std::vector<uint64_t> &value : values)
    pointers.push_back(value.data());
  const CollectiveImage &image = loaded.second;
  CUlaunchConfig config = {};
  config.gridDimX = image.blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = image.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = image.sharedBytes;
  config.hStream = static_cast<CUstream>(part.stream);
  return TILEWRIGHT_CUDA(*state->api, cuLaunchKernelEx, &config, loaded.first, pointers.data(),
                         nullptr);
}

// --- The engine ---

std::unique_ptr<SymmetricEngine> SymmetricEngine::make(std::shared_ptr<const DriverApi> api,
                                                       std::vector<int> ordinals,
                                                       collective::DeviceAccess &access,
                                                       CollectiveCompiler compiler,
                                                       const Options &options) {
  auto state = std::make_shared<State>();
  state->api = std::move(api);
  state->ordinals = std::move(ordinals);
  state->access = &access;
  state->compiler = std::move(compiler);
  state->options = options;
  return std::unique_ptr<SymmetricEngine>(new SymmetricEngine(std::move(state)));
}

Result<std::unique_ptr<SymmetricEngine>>
SymmetricEngine::connect(const collective::Membership &membership, tilewright::KeyValueStore &store,
                         std::shared_ptr<const DriverApi> api, const std::vector<int> &ordinals,
                         collective::DeviceAccess &access, CollectiveCompiler compiler,
                         const Options &options) {
  if (membership.processes().size() <= 1)
    return make(std::move(api), ordinals, access, std::move(compiler), options);
  std::vector<int> byRank(membership.processOfRank.size(), -1);
  const std::vector<int64_t> own = membership.ranksOf(membership.process);
  if (own.size() != ordinals.size())
    return Status(Code::invalidArgument, concat("process ", membership.process, " has ", own.size(),
                                                " ranks and ", ordinals.size(), " devices"));
  for (size_t i = 0; i < own.size(); ++i)
    byRank[static_cast<size_t>(own[i])] = ordinals[i];
  std::unique_ptr<SymmetricEngine> made =
      make(std::move(api), byRank, access, std::move(compiler), options);
  made->state->processOfRank = membership.processOfRank;
  TILEWRIGHT_ASSIGN(made->state->exchange, HandleExchange::open(membership, store));
  return made;
}

bool SymmetricEngine::canReduce(ReductionKind operation, ElementType element) const {
  return collective::combineFor(operation, element) != nullptr;
}

Result<std::vector<std::unique_ptr<collective::DeviceCommunicator>>>
SymmetricEngine::prepare(const std::vector<int64_t> &members, std::span<const DeviceClique> cliques,
                         Deadline deadline) {
  TILEWRIGHT_TRY(state->failed());
  const auto ranks = static_cast<int64_t>(members.size());
  std::vector<std::unique_ptr<collective::DeviceCommunicator>> result;
  // Offer all parts before waiting for the first one, because processes reach the groups in
  // different orders.
  std::vector<std::pair<std::vector<int64_t>, uint8_t>> teams;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (!state->isHere(members[static_cast<size_t>(rank)]))
      continue;
    std::vector<Seat> seats;
    for (const DeviceClique &clique : cliques) {
      Call call;
      // Only a broadcast may leave ranks out; enqueue() checks the other kinds.
      call.kind = clique.isPairs ? Kind::permute : Kind::broadcast;
      call.groups = &clique.groups;
      TILEWRIGHT_ASSIGN(auto group, collective::cliqueOf(call, rank, ranks));
      Seat seat;
      seat.isPairs = clique.isPairs;
      if (group) {
        seat.members = group->size();
        auto positionOf = [&](int64_t of) {
          return std::find(group->begin(), group->end(), of) - group->begin();
        };
        seat.position = static_cast<size_t>(positionOf(rank));
        if (clique.isPairs)
          for (const std::vector<int64_t> &pair : clique.groups)
            seat.pairs.emplace_back(positionOf(pair[0]), positionOf(pair[1]));
        if (group->size() > 1) {
          std::vector<int64_t> engineRanks;
          for (int64_t member : *group)
            engineRanks.push_back(members[static_cast<size_t>(member)]);
          TILEWRIGHT_ASSIGN(seat.team, state->teamOf(engineRanks, clique.lane));
          teams.emplace_back(std::move(engineRanks), clique.lane);
        }
      }
      seats.push_back(std::move(seat));
    }
    result.push_back(std::make_unique<Communicator>(state, rank, members[static_cast<size_t>(rank)],
                                                    ranks, std::move(seats)));
  }
  for (const auto &[engineRanks, lane] : teams)
    TILEWRIGHT_TRY(state->importParts(engineRanks, lane, deadline));
  return result;
}

Result<std::byte *> SymmetricEngine::allocate(int64_t rank, size_t bytes) {
  TILEWRIGHT_TRY(state->access->makeCurrent(rank));
  const int ordinal = state->ordinals[static_cast<size_t>(rank)];
  TILEWRIGHT_ASSIGN(auto memory, SymmetricMemory::make(state->api, {&ordinal, 1}, bytes));
  auto *data = reinterpret_cast<std::byte *>(memory->part(0));
  std::lock_guard lock(state->mutex);
  state->allocations[data] = std::move(memory);
  return data;
}

void SymmetricEngine::free(int64_t, std::byte *data) {
  std::lock_guard lock(state->mutex);
  state->allocations.erase(data);
}

// A kernel waits until a word is at least its own count. Writing a count that no kernel reaches
// ends all waits. Only the words that peers write are set, never those with which a rank counts its
// own calls.
void SymmetricEngine::revoke(const std::string &why) {
  std::lock_guard lock(state->mutex);
  if (state->failure)
    return;
  state->failure = why;
  const int64_t points = state->options.points;
  for (const auto &[key, team] : state->teams) {
    const auto ranks = static_cast<int64_t>(team->memory->ranks());
    for (size_t rank = 0; rank < team->memory->ranks(); ++rank) {
      // Kernels wait for words in their own part; other processes end the waits of their own
      // kernels.
      if (!team->memory->isHere(rank) || !state->access->makeCurrent(key.first[rank]).isOk())
        continue;
      CUstream stream = nullptr;
      if (state->api->cuStreamCreate(&stream, /*non-blocking*/ 1) != CUDA_SUCCESS)
        continue;
      for (int64_t point = 0; point < points; ++point)
        state->api->cuMemsetD8Async(team->memory->part(rank) +
                                        static_cast<uint64_t>(point * 2 * ranks * 4),
                                    0x3F, static_cast<size_t>(ranks * 4), stream);
      // Waits only for these words to be written, because the stream has no other work.
      state->api->cuStreamSynchronize(stream);
      state->api->cuStreamDestroy(stream);
    }
  }
}

Result<std::unique_ptr<collective::DeviceEngine>>
SymmetricEngine::shrink(const std::vector<int64_t> &, uint64_t, tilewright::KeyValueStore &,
                        Deadline) {
  return Status(Code::unimplemented,
                "our own kernels do not go on without a rank; connect a new engine");
}

} // namespace tilewright::runtime::cuda
