// Times all-reduce over our transports, one rank per process:
//
//   bench_allreduce shm DIRECTORY RANK RANKS [private]
//   bench_allreduce tcp DIRECTORY RANK RANKS [ADDRESS]
//   bench_allreduce ucx DIRECTORY RANK RANKS
//
// The processes exchange their addresses through DIRECTORY. Prints this rank's time, one line per
// size.
#include "bench/collective/Measure.h"
#include "tilewright/collective/shm/ShmEngine.h"
#include "tilewright/collective/tcp/TcpEngine.h"
#include "tilewright/collective/ucx/UcxEngine.h"

#include <cstdlib>
#include <cstring>
#include <string>

using namespace tilewright;
using namespace tilewright::collective;

static Status measure(int argc, char **argv) {
  if (argc < 5)
    return Status(Code::invalidArgument,
                  "usage: bench_allreduce shm|tcp|ucx DIRECTORY RANK RANKS [private|ADDRESS]");
  DirectoryKeyValueStore store(argv[2]);
  const int64_t rank = std::atoll(argv[3]), ranks = std::atoll(argv[4]);
  const bool isTcp = std::strcmp(argv[1], "tcp") == 0;
  const bool isUcx = std::strcmp(argv[1], "ucx") == 0;
  const bool isPrivate = isTcp || isUcx || (argc > 5 && std::strcmp(argv[5], "private") == 0);
  Membership membership;
  membership.process = rank;
  for (int64_t i = 0; i < ranks; ++i)
    membership.processOfRank.push_back(i);
  std::unique_ptr<Engine> engine;
  shm::Arena *arena = nullptr;
  if (isTcp) {
    tcp::TcpEngine::Options options;
    options.address = argc > 5 ? argv[5] : "";
    TILEWRIGHT_ASSIGN(engine, tcp::TcpEngine::connect(membership, store, options));
  } else if (isUcx) {
    TILEWRIGHT_ASSIGN(engine, ucx::UcxEngine::connect(membership, store, {}));
  } else {
    TILEWRIGHT_ASSIGN(auto made, shm::ShmEngine::connect(membership, store, {}));
    arena = &made->arena();
    engine = std::move(made);
  }
  TILEWRIGHT_ASSIGN(auto communicator, engine->join({1, rank, ranks, {}}));
  const std::vector<std::vector<int64_t>> all;
  for (size_t bytes : bench::sizes) {
    std::vector<std::byte> inHeap, outHeap;
    std::byte *in, *out;
    if (isPrivate) {
      inHeap.resize(bytes), outHeap.resize(bytes);
      in = inHeap.data(), out = outHeap.data();
    } else {
      in = arena->allocate(bytes), out = arena->allocate(bytes);
    }
    const float one = 1;
    for (size_t i = 0; i < bytes; i += 4)
      std::memcpy(in + i, &one, 4);
    Call call;
    call.groups = &all;
    call.reduction.operation = "add";
    call.name = "all_reduce";
    const auto count = static_cast<int64_t>(bytes / 4);
    call.tensors = {{ElementType::f32, {count}, {count}, in, out}};
    Status status;
    const double time = bench::medianMicroseconds(bytes, [&] {
      if (status.isOk())
        status = communicator->run(call);
    });
    TILEWRIGHT_TRY(std::move(status));
    float last = 0;
    std::memcpy(&last, out + bytes - 4, 4);
    if (last != static_cast<float>(ranks))
      return Status(Code::internal, "all-reduce returned a wrong sum");
    std::printf("%zu %.4f\n", bytes, time);
    std::fflush(stdout);
    if (!isPrivate) {
      arena->free(in);
      arena->free(out);
    }
  }
  return Status();
}

int main(int argc, char **argv) {
  Status status = measure(argc, argv);
  if (!status.isOk())
    std::fprintf(stderr, "%s\n", status.toString().c_str());
  return status.isOk() ? 0 : 1;
}
