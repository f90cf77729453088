// What a stream is given to do, or a node of a graph stands for.
#ifndef TILEWRIGHT_VGPU_DRIVER_WORK_H
#define TILEWRIGHT_VGPU_DRIVER_WORK_H

#include "tilewright/vgpu/driver/Driver.h"
#include "tilewright/vgpu/driver/GraphTypes.h"
#include "tilewright/vgpu/driver/Stream.h"

#include <array>
#include <functional>
#include <variant>
#include <vector>

namespace tilewright::vgpu::driver {

struct KernelWork {
  std::shared_ptr<Function> function;
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{0, 0, 0};
  uint32_t dynamicShared = 0;
  bool cooperative = false;
  bool programmatic = false; // may begin before the kernel in front has ended; kept for graphs
  int priority = 0;
  std::vector<std::byte> parameters; // all of them, where the kernel expects them
};

/// Bytes of a box of `width` by `height` by `depth`.
struct CopyWork {
  std::byte *to = nullptr;
  const std::byte *from = nullptr;
  size_t width = 0, height = 1, depth = 1;
  size_t toPitch = 0, toSlice = 0, fromPitch = 0, fromSlice = 0;
  CUDA_MEMCPY3D asked{}; // as it was given, for whoever asks a node
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
/// A callback of cuStreamAddCallback; only in streams.
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
/// Of memory that was reserved when the work was given.
struct AllocateWork {
  CUDA_MEM_ALLOC_NODE_PARAMS asked{};
  std::shared_ptr<MemoryPool> pool;
  std::shared_ptr<void> reservation; // the last copy of the node gives the memory back
};
struct FreeWork {
  CUdeviceptr address = 0;
};
struct GraphWork {
  std::shared_ptr<Graph> graph;
};
/// cuStreamWaitValue and cuStreamWriteValue.
struct ValueWork {
  CUdeviceptr address = 0;
  uint64_t value = 0;
  unsigned flags = 0;
  bool is64 = false, waits = false;
};

using Work = std::variant<KernelWork, CopyWork, FillWork, HostWork, GraphWork, EmptyWork, WaitWork,
                          RecordWork, AllocateWork, FreeWork, CallbackWork, ValueWork>;

CUgraphNodeType nodeTypeOf(const Work &work);

/// Does the work in the calling thread. What goes wrong becomes the context's failure.
void perform(Context &context, const Work &work);

/// Gives work to a stream, or adds it to the graph that the stream is captured to.
CUresult submit(const std::shared_ptr<Stream> &stream, Work work);
/// As submit(), and waits until it is done: for calls that are synchronous.
CUresult submitAndWait(const std::shared_ptr<Stream> &stream, Work work);

} // namespace tilewright::vgpu::driver

#endif // TILEWRIGHT_VGPU_DRIVER_WORK_H
