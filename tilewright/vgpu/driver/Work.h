// One item of work: in a stream, or in a graph node.
#ifndef TILEWRIGHT_VGPU_DRIVER_WORK_H
#define TILEWRIGHT_VGPU_DRIVER_WORK_H

#include "tilewright/cuda-api/GraphTypes.h"
#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/HostTools.h"
#include "tilewright/vgpu/driver/Stream.h"
#include "tilewright/vgpu/machine/memory/Allocations.h"

#include <array>
#include <functional>
#include <variant>
#include <vector>

namespace tilewright::vgpu::driver {

class Conditional;

using namespace cuda_api;

/// The attributes of a launch or of a kernel node, as a program sets them.
struct LaunchAttributes {
  std::array<uint32_t, 3> cluster{0, 0, 0};
  bool cooperative = false;
  bool programmatic = false; // may overlap the preceding kernel; only stored, for graphs
  int priority = 0;
};

struct KernelWork : LaunchAttributes {
  std::shared_ptr<Function> function;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  uint32_t dynamicShared = 0;
  std::vector<std::byte> parameters; // all parameters, at the kernel's offsets
};

/// Copies a box of `width` bytes, `height` rows and `depth` slices.
struct CopyWork {
  std::byte *to = nullptr;
  const std::byte *from = nullptr;
  size_t width = 0, height = 1, depth = 1;
  size_t toPitch = 0, toSlice = 0, fromPitch = 0, fromSlice = 0;
  CUDA_MEMCPY3D asked{}; // the program's parameters, for queries of a node
  std::shared_ptr<const std::vector<std::byte>>
      staged; // the memory that `from` points into, if any
};

struct FillWork {
  std::byte *to = nullptr;
  uint32_t value = 0, elementSize = 1;
  size_t width = 0, height = 1, pitch = 0; // width in elements
};

struct HostWork {
  CUhostFn function = nullptr;
  void *data = nullptr;
};
/// A callback of cuStreamAddCallback; only for streams, not for graphs.
struct CallbackWork {
  CUstreamCallback function = nullptr;
  CUstream stream = nullptr;
  void *data = nullptr;
};
struct EmptyWork {};
struct RecordWork {
  std::shared_ptr<Event> event;
};
struct WaitWork {
  std::shared_ptr<Event> event;
};
/// Starts the use of memory that was reserved when the work was submitted.
struct AllocateWork {
  CUDA_MEM_ALLOC_NODE_PARAMS asked{};
  std::shared_ptr<MemoryPool> pool;
  std::shared_ptr<void> reservation; // frees the memory with the last copy of the node
};
struct FreeWork {
  CUdeviceptr address = 0;
};
struct GraphWork {
  std::shared_ptr<Graph> graph;
};
/// Runs a body if a value is not 0 (if), as long as it is not 0 (while), or the body whose number
/// it is (switch).
struct ConditionalWork {
  std::shared_ptr<Conditional> conditional;
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::shared_ptr<Graph>> bodies;
  std::shared_ptr<std::vector<CUgraph>> handles; // of the bodies, as the program gets them
};
/// A function that a library submitted in place of a kernel; see HostTools.h.
struct HostedFunction {
  explicit HostedFunction(const tilewright_vgpu_function &function)
      : function(function), ranges(function.ranges, function.ranges + function.rangeCount) {}
  ~HostedFunction() { function.release(function.data); }
  HostedFunction(const HostedFunction &) = delete;
  HostedFunction &operator=(const HostedFunction &) = delete;

  const tilewright_vgpu_function function; // `ranges` of it is not valid any more
  const std::vector<tilewright_vgpu_range> ranges;
};
struct FunctionWork {
  std::shared_ptr<const HostedFunction> hosted;
};
/// cuStreamWaitValue and cuStreamWriteValue.
struct ValueWork {
  CUdeviceptr address = 0;
  uint64_t value = 0;
  unsigned flags = 0;
  bool is64 = false, waits = false;
};

using Work = std::variant<KernelWork, CopyWork, FillWork, HostWork, GraphWork, EmptyWork, WaitWork,
                          RecordWork, AllocateWork, FreeWork, ConditionalWork, FunctionWork,
                          CallbackWork, ValueWork>;

/// The device of a context, and the devices of the contexts that it has peer access to.
machine::Accessor accessorOf(Context &context);

CUgraphNodeType nodeTypeOf(const Work &work);

/// Performs the work in the calling thread. An error becomes the context's failure.
void perform(Context &context, const Work &work);

/// Submits work to a stream, or adds it to the graph that the stream is captured to.
CUresult submit(const std::shared_ptr<Stream> &stream, Work work);
/// Like submit(), but never waits, not even for the default stream. For work that waits for other
/// devices' work that the same thread submits later.
CUresult submitAndReturn(const std::shared_ptr<Stream> &stream, Work work);
/// Like submit(), but waits until the work is done; for synchronous calls.
CUresult submitAndWait(const std::shared_ptr<Stream> &stream, Work work);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_WORK_H
