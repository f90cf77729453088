// One GEMM of CUTLASS for Hopper, chosen by GEMM_*; made with nvcc into a library
// that prepares the kernel's parameters, and into the PTX of the kernel:
//
//   nvcc -std=c++17 -gencode arch=compute_90a,code=compute_90a -DGEMM_PINGPONG
//        --expt-relaxed-constexpr -I <cutlass>/include -shared -cudart none --keep …
//
// Nothing here runs on a GPU: GemmRunner.cpp loads the library, takes the parameters
// and launches the PTX on the virtual one. What CUTLASS asks of the CUDA runtime and
// the driver while it prepares, the runner supplies.
#include "GemmLibrary.h"

#include "cute/tensor.hpp"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/epilogue/fusion/operations.hpp"
#include "cutlass/epilogue/thread/activation.h"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/device/gemm_universal_adapter.h"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/gemm/kernel/tile_scheduler.hpp"
#include "cutlass/util/packed_stride.hpp"

#include <cstring>
#include <vector>

using namespace cute;

#if defined(GEMM_PINGPONG)
using ElementA = cutlass::half_t;
using ElementB = cutlass::half_t;
using ElementD = cutlass::half_t;
using LayoutA = cutlass::layout::RowMajor;
using LayoutB = cutlass::layout::ColumnMajor;
using TileShape = Shape<_64, _128, _64>;
using ClusterShape = Shape<_1, _1, _1>;
using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
using Fusion = cutlass::epilogue::fusion::LinearCombination<ElementD, float>;
using Scheduler = cutlass::gemm::PersistentScheduler;
#elif defined(GEMM_COOPERATIVE)
using ElementA = cutlass::half_t;
using ElementB = cutlass::half_t;
using ElementD = float;
using LayoutA = cutlass::layout::ColumnMajor; // both operands with M and N contiguous
using LayoutB = cutlass::layout::RowMajor;
using TileShape = Shape<_128, _128, _64>;
using ClusterShape = Shape<_2, _1, _1>;
using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using Epilogue = cutlass::epilogue::TmaWarpSpecializedCooperative;
using Fusion = cutlass::epilogue::fusion::LinearCombination<ElementD, float>;
using Scheduler = cutlass::gemm::PersistentScheduler;
#elif defined(GEMM_FP8)
using ElementA = cutlass::float_e4m3_t;
using ElementB = cutlass::float_e5m2_t;
using ElementD = cutlass::half_t;
using LayoutA = cutlass::layout::RowMajor;
using LayoutB = cutlass::layout::ColumnMajor;
using TileShape = Shape<_128, _128, _128>;
using ClusterShape = Shape<_1, _2, _1>;
using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8FastAccum;
using Epilogue = cutlass::epilogue::TmaWarpSpecializedCooperative;
using Fusion = cutlass::epilogue::fusion::LinearCombination<ElementD, float>;
using Scheduler = cutlass::gemm::PersistentScheduler;
#elif defined(GEMM_STREAMK)
using ElementA = cutlass::bfloat16_t;
using ElementB = cutlass::bfloat16_t;
using ElementD = cutlass::bfloat16_t;
using LayoutA = cutlass::layout::RowMajor;
using LayoutB = cutlass::layout::RowMajor;
using TileShape = Shape<_128, _64, _64>;
using ClusterShape = Shape<_1, _1, _1>;
using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
using Epilogue = cutlass::epilogue::TmaWarpSpecializedCooperative;
using Fusion =
    cutlass::epilogue::fusion::LinCombEltAct<cutlass::epilogue::thread::ReLu, ElementD, float>;
using Scheduler = cutlass::gemm::StreamKScheduler;
#else
#error "define one of GEMM_PINGPONG, GEMM_COOPERATIVE, GEMM_FP8, GEMM_STREAMK"
#endif

using ElementC = ElementD;
using LayoutC = cutlass::layout::RowMajor;
constexpr int alignmentA = 16 / sizeof(ElementA);
constexpr int alignmentB = 16 / sizeof(ElementB);
constexpr int alignmentC = 16 / sizeof(ElementC);

using CollectiveEpilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, TileShape, ClusterShape,
    cutlass::epilogue::collective::EpilogueTileAuto, float, float, ElementC, LayoutC, alignmentC,
    ElementD, LayoutC, alignmentC, Epilogue, Fusion>::CollectiveOp;
using CollectiveMainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, ElementA, LayoutA, alignmentA, ElementB,
    LayoutB, alignmentB, float, TileShape, ClusterShape,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(
        sizeof(typename CollectiveEpilogue::SharedStorage))>,
    Mainloop>::CollectiveOp;
using Kernel = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, CollectiveMainloop,
                                                    CollectiveEpilogue, Scheduler>;

// Makes the compiler emit the kernel.
template __global__ void cutlass::device_kernel<Kernel>(CUTLASS_GRID_CONSTANT
                                                        typename Kernel::Params const);

extern "C" int gemm_prepare(const GemmProblem *problem, GemmLaunch *launch) {
  using Stride = cutlass::gemm::TagToStrideA_t<LayoutC>;
  const int m = problem->m, n = problem->n, k = problem->k;
  typename Kernel::Arguments arguments{};
  arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  arguments.problem_shape = {m, n, k, 1};
  arguments.mainloop.ptr_A = static_cast<const ElementA *>(problem->a);
  arguments.mainloop.dA =
      cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, make_shape(m, k, 1));
  arguments.mainloop.ptr_B = static_cast<const ElementB *>(problem->b);
  arguments.mainloop.dB =
      cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, make_shape(n, k, 1));
  arguments.epilogue.ptr_C = static_cast<const ElementC *>(problem->c);
  arguments.epilogue.dC =
      cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, make_shape(m, n, 1));
  arguments.epilogue.ptr_D = static_cast<ElementD *>(problem->d);
  arguments.epilogue.dD =
      cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, make_shape(m, n, 1));
  arguments.epilogue.thread.alpha = problem->alpha;
  arguments.epilogue.thread.beta = problem->beta;
  arguments.hw_info.device_id = 0;
  arguments.hw_info.sm_count = problem->multiprocessors;
#if defined(GEMM_STREAMK)
  arguments.scheduler.splits = problem->splits;
#endif
  if (!Kernel::can_implement(arguments))
    return 1;
  const size_t workspaceBytes = Kernel::get_workspace_size(arguments);
  static std::vector<char> workspace;
  workspace.assign(workspaceBytes + 256, 0);
  void *base = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(workspace.data()) + 255) &
                                        ~uintptr_t(255));
  if (Kernel::initialize_workspace(arguments, base) != cutlass::Status::kSuccess)
    return 2;
  static typename Kernel::Params params;
  params = Kernel::to_underlying_arguments(arguments, base);
  const dim3 grid = Kernel::get_grid_shape(params), block = Kernel::get_block_shape();
  launch->parameters = &params;
  launch->parameter_bytes = sizeof(params);
  launch->shared_bytes = Kernel::SharedStorageSize;
  launch->grid[0] = grid.x, launch->grid[1] = grid.y, launch->grid[2] = grid.z;
  launch->block[0] = block.x, launch->block[1] = block.y, launch->block[2] = block.z;
  launch->cluster[0] = size<0>(ClusterShape{});
  launch->cluster[1] = size<1>(ClusterShape{});
  launch->cluster[2] = size<2>(ClusterShape{});
  return 0;
}

template <class T> constexpr int elementOf() {
  if (cute::is_same_v<T, cutlass::half_t>)
    return GEMM_F16;
  if (cute::is_same_v<T, cutlass::bfloat16_t>)
    return GEMM_BF16;
  if (cute::is_same_v<T, cutlass::float_e4m3_t>)
    return GEMM_E4M3;
  if (cute::is_same_v<T, cutlass::float_e5m2_t>)
    return GEMM_E5M2;
  return GEMM_F32;
}
extern "C" void gemm_describe(GemmDescription *description) {
  description->a = elementOf<ElementA>();
  description->b = elementOf<ElementB>();
  description->d = elementOf<ElementD>();
  description->a_is_row_major = cute::is_same_v<LayoutA, cutlass::layout::RowMajor>;
  description->b_is_row_major = cute::is_same_v<LayoutB, cutlass::layout::RowMajor>;
#if defined(GEMM_STREAMK)
  description->has_relu = 1;
#else
  description->has_relu = 0;
#endif
}
