#include "tilewright/artifact/testing/SampleExecutable.h"

namespace tilewright::artifact {

Executable sampleExecutable() {
  Executable e;
  e.name = "jit_step";
  e.target = {"x86_64-unknown-linux-gnu", "x86-64-v3", {"avx2", "fma"}};
  e.replicas = 2;

  const TensorType vector{ElementType::f32, {32}}, scalar{ElementType::i32, {}},
      pred{ElementType::pred, {}};
  e.parameters = {{vector, "device", Donation::may, ""},
                  {scalar, "pinned_host", Donation::none, "s"}};
  e.results = {{vector, "device", 0, ""}, {scalar, "device", none, ""}};
  e.types = {vector, scalar, pred};

  e.constants.resize(256, std::byte(7));
  e.objects = {std::vector(100, std::byte(9)), std::vector(30, std::byte(8))};
  e.communication.resize(10, std::byte(3));
  e.arenaBytes[0] = 512;
  e.arenaBytes[1] = 64;
  e.allocations = {{Storage::parameter, 0, 128, 0},  {Storage::parameter, 1, 4, 1},
                   {Storage::result, 0, 128, 0},     {Storage::result, 1, 4, 0},
                   {Storage::constant, 128, 128, 0}, {Storage::temporary, 64, 320, 0},
                   {Storage::temporary, 0, 64, 1}};
  const Slice x{0, 0, 128}, n{1, 0, 4}, y{2, 0, 128}, m{3, 0, 4}, c{4, 0, 128}, t{5, 0, 128},
      flag{5, 128, 1}, selector{5, 192, 4}, pinned{6, 0, 4};

  e.kernels = {{"fusion_0", 32, 256, 40}, {"fusion_1", 1, 0, 0}};
  e.libraries = {{SortCall{.dimension = 0, .comparator = Comparator::function}, {"compare_0"}},
                 {DotGeneralCall{.lhsContractingDimensions = {1},
                                 .rhsContractingDimensions = {0},
                                 .precision = Precision::highest,
                                 .productType = ElementType::bf16},
                  {"epilogue_0"}},
                 {AttentionCall{.sizes = {4, 4, 2, 2},
                                .dims = {0, 2, 1, 2, 1, 3, 0, 3},
                                .weightType = ElementType::bf16,
                                .maskedScore = {0x7f800000}},
                  {"score_0", "visible_0"}},
                 {LapackCall{.routine = LapackRoutine::trsm, .options = "LUNN"}, {}}};

  e.blocks.resize(9);
  e.blocks[0].steps = {
      {LaunchStep{0, {x, c, t}}, "fusion.0", "train.py:3"},
      {LibraryStep{0, {{x, 0}}, {{y, 0}}}, "sort.1", "train.py:4"},
      {CustomCallStep{
           "lapack_sgetrf_ffi",
           4,
           "",
           {{"uplo", std::string("L")},
            {"nested", std::vector<Attribute>{{"inner", Elements{ElementType::f64, false, {}}}}}},
           {{x, 0}},
           {{t, 0}}},
       "call.2", ""},
      {CustomCallStep{"callback", 2, "opaque \x01", {}, {{n, 1}}, {{m, 1}}}, "call.3", ""},
      {CopyStep{n, pinned}, "copy.4", ""},
      {WhileStep{1, 2, flag, -1}, "while.5", "train.py:9"},
      {CollectiveStartStep{CollectiveKind::allReduce,
                           7,
                           0,
                           {{0, 1}},
                           0,
                           0,
                           ReductionKind::add,
                           {},
                           {{x, 0}},
                           {{y, 0}}},
       "all-reduce.6", ""},
      {CollectiveDoneStep{7}, "all-reduce.6", ""},
  };
  e.blocks[1].steps = {{LaunchStep{1, {n, flag}}, "condition", ""}};
  e.blocks[2].steps = {{BranchStep{selector, false, {3, 4}}, "case.7", ""},
                       {WhileStep{5, 6, flag, 10}, "while.8", ""}};
  e.blocks[6].steps = {{BranchStep{flag, true, {7, 8}}, "if.9", ""}};
  e.statistics = {{"flops", Elements{ElementType::f64, true, std::vector<std::byte>(8)}}};
  return e;
}

Executable sampleGpuExecutable() {
  Executable e;
  e.name = "jit_gpu";
  e.target = {std::string(gpuTriple), "sm_90a", {}};
  const TensorType matrix{ElementType::f16, {64, 128}};
  e.parameters = {{matrix, "device", Donation::none, ""}};
  e.results = {{matrix, "device", none, ""}};
  e.constants.resize(64, std::byte(7));
  e.objects = {std::vector(100, std::byte(9))};
  e.binary.resize(50, std::byte(5));
  e.allocations = {{Storage::parameter, 0, 16384, 0},
                   {Storage::result, 0, 16384, 0},
                   {Storage::constant, 0, 64, 0}};
  GpuLaunch launch;
  launch.grid = {4, 2, 1};
  launch.block = {128, 1, 1};
  launch.cluster = {2, 1, 1};
  launch.sharedBytes = 65536;
  launch.tensorMaps = {{0,
                        ElementType::f16,
                        {128, 64},
                        {256},
                        {64, 32},
                        {1, 1},
                        TensorMap::Interleave::none,
                        TensorMap::Swizzle::bytes128,
                        TensorMap::L2Promotion::bytes256,
                        TensorMap::Fill::nan}};
  e.kernels = {{"fusion_0", 1, 0, 0, std::move(launch)}};
  e.blocks.resize(1);
  e.blocks[0].steps = {
      {LaunchStep{0, {{0, 0, 16384}, {2, 0, 64}, {1, 0, 16384}}}, "fusion.0", "train.py:3"}};
  return e;
}

} // namespace tilewright::artifact
