#include "tilewright/collective/nccl/testing/DeviceRanks.h"
#include "tilewright/collective/Clique.h"
#include "tilewright/collective/Move.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tilewright::collective::nccl::test {

namespace {
using Bytes = std::vector<std::byte>;

/// Device memory, freed at the end.
class Block {
public:
  Block(Gpus &gpus, std::byte *data) : gpus(gpus), data(data) {}
  ~Block() { gpus.free(data); }
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;

private:
  Gpus &gpus;
  std::byte *const data;
};

class DeviceRank final : public Communicator {
public:
  DeviceRank(DeviceRanks &job, const RunMembership &own) : job(job), own(own) {
    members = own.members;
    if (members.empty()) {
      members.resize(static_cast<size_t>(own.ranks));
      std::iota(members.begin(), members.end(), 0);
    }
  }
  int64_t rank() const override { return own.rank; }
  int64_t size() const override { return own.ranks; }

  Result<Ticket> start(const Call &call) override {
    TILEWRIGHT_TRY(execute(call));
    return Ticket(0);
  }
  Status finish(Ticket) override { return Status(); }
  void abandon(const Status &why) override {
    job.revoke(concat("rank ", own.rank, " failed: ", why.message()));
  }

private:
  int64_t engineRank() const { return members[static_cast<size_t>(own.rank)]; }

  Status execute(const Call &call) {
    TILEWRIGHT_TRY(job.gpus.makeCurrent(engineRank()));
    TILEWRIGHT_ASSIGN(std::optional<Clique> group, cliqueOf(call, own.rank, own.ranks));
    const DeviceClique clique{*call.groups, call.kind == Kind::permute};
    TILEWRIGHT_ASSIGN(DeviceCommunicator * device, job.communicator(members, own.rank, clique));
    if (call.kind == Kind::raggedAllToAll)
      return ragged(call, *device);
    Status status = onDevice(call, *device);
    if (status.error() != Error::deviceForm)
      return status;
    return onHost(call, *device, *group);
  }

  /// Runs a call of host memory on the device.
  Status onDevice(Call call, DeviceCommunicator &device) {
    const DeviceStream stream = job.gpus.stream(engineRank());
    struct Copy {
      std::byte *host, *memory;
      size_t bytes;
    };
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Copy> back;
    auto allocate = [&](size_t bytes) -> Result<std::byte *> {
      TILEWRIGHT_ASSIGN(std::byte * memory, job.gpus.allocate(std::max<size_t>(bytes, 1)));
      blocks.push_back(std::make_unique<Block>(job.gpus, memory));
      return memory;
    };
    for (Tensor &tensor : call.tensors) {
      const std::byte *const hostIn = tensor.in;
      std::byte *const hostOut = tensor.out;
      const size_t in = inBytes(tensor), out = outBytes(tensor);
      TILEWRIGHT_ASSIGN(std::byte * from, allocate(in));
      if (in > 0)
        TILEWRIGHT_TRY(job.gpus.copy(stream, from, hostIn, in));
      std::byte *to = from;
      if (hostIn != hostOut) {
        TILEWRIGHT_ASSIGN(to, allocate(out));
        if (out > 0)
          TILEWRIGHT_TRY(job.gpus.copy(stream, to, hostOut, out));
      }
      tensor.in = from;
      tensor.out = to;
      back.push_back({hostOut, to, out});
    }
    // Memory must outlive what was queued, also after a failure.
    auto rest = [&] {
      return job.gpus.wait(stream, [&] { return device.check(); }, after(job.timeout));
    };
    Status status = device.enqueue(call, 0, stream);
    if (status.isOk())
      for (const Copy &copy : back)
        if (copy.bytes > 0)
          TILEWRIGHT_TRY(job.gpus.copy(stream, copy.host, copy.memory, copy.bytes));
    Status end = rest();
    if (!end.isOk()) { // revoked: the stream ends soon
      job.revoke(concat("rank ", own.rank, ": ", end.message()));
      (void)job.gpus.wait(stream, [] { return Status(); }, after(std::chrono::seconds(10)));
    }
    TILEWRIGHT_TRY(std::move(status));
    TILEWRIGHT_TRY(std::move(end));
    return device.check(); // a revoked collective ends without a result
  }

  /// The operand of each member, one after the other.
  Result<Bytes> gather(const std::byte *in, size_t bytes, size_t count,
                       DeviceCommunicator &device) {
    Bytes all(std::max<size_t>(bytes * count, 1));
    Call call;
    const std::vector<std::vector<int64_t>> none;
    call.kind = Kind::allGather;
    call.groups = &none;
    call.name = "operands of the group";
    call.tensors = {{ElementType::ui8,
                     {static_cast<int64_t>(bytes)},
                     {static_cast<int64_t>(bytes * count)},
                     in,
                     all.data()}};
    TILEWRIGHT_TRY(onDevice(call, device));
    return all;
  }

  Status onHost(const Call &call, DeviceCommunicator &device, const Clique &group) {
    std::vector<Bytes> gathered;
    for (const Tensor &tensor : call.tensors) {
      TILEWRIGHT_ASSIGN(Bytes all, gather(tensor.in, inBytes(tensor), group.size(), device));
      gathered.push_back(std::move(all));
    }
    std::vector<const std::byte *> in, out;
    for (size_t member = 0; member < group.size(); ++member)
      for (size_t t = 0; t < call.tensors.size(); ++t) {
        in.push_back(gathered[t].data() + member * inBytes(call.tensors[t]));
        out.push_back(call.tensors[t].out);
      }
    const size_t mine =
        static_cast<size_t>(std::find(group.begin(), group.end(), own.rank) - group.begin());
    const Party party{call, mine, group.size(), in, out};
    return collective::exchange(party, std::nullopt);
  }

  /// The offsets in a receiver's result come from the sender.
  Status ragged(Call call, DeviceCommunicator &device) {
    const size_t entries = call.ragged.size() / 4;
    std::vector<int64_t> lists(call.ragged.begin(), call.ragged.end());
    Call offsets;
    const std::vector<std::vector<int64_t>> none;
    offsets.kind = Kind::allToAll;
    offsets.groups = &none;
    offsets.name = "offsets of the group";
    offsets.tensors = {{ElementType::i64,
                        {static_cast<int64_t>(entries)},
                        {static_cast<int64_t>(entries)},
                        reinterpret_cast<const std::byte *>(call.ragged.data() + 2 * entries),
                        reinterpret_cast<std::byte *>(lists.data() + 2 * entries)}};
    TILEWRIGHT_TRY(onDevice(offsets, device));
    call.ragged = lists;
    return onDevice(call, device);
  }

  DeviceRanks &job;
  const RunMembership own;
  std::vector<int64_t> members;
};
} // namespace

Result<std::unique_ptr<Communicator>> DeviceRanks::join(const RunMembership &own) {
  return std::unique_ptr<Communicator>(std::make_unique<DeviceRank>(*this, own));
}

Result<DeviceCommunicator *> DeviceRanks::communicator(const std::vector<int64_t> &members,
                                                       int64_t rank, const DeviceClique &clique) {
  std::lock_guard lock(mutex);
  const Key key{members, clique.groups, clique.isPairs};
  auto found = prepared.find(key);
  if (found == prepared.end()) {
    TILEWRIGHT_ASSIGN(auto made, engine->prepare(members, {&clique, 1}, after(timeout)));
    found = prepared.emplace(key, std::move(made)).first;
    // prepare() has made other devices current.
    TILEWRIGHT_TRY(gpus.makeCurrent(members[static_cast<size_t>(rank)]));
  }
  for (const auto &each : found->second)
    if (each->rank() == rank)
      return each.get();
  return Status(Code::internal, concat("rank ", rank, " is not in this process"));
}

} // namespace tilewright::collective::nccl::test
