#include "tilewright/vgpu/driver/virtual/Ipc.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/Arena.h"
#include "tilewright/vgpu/driver/Functions.h"
#include "tilewright/vgpu/driver/Memory.h"
#include "tilewright/vgpu/driver/observe/Summary.h"
#include "tilewright/vgpu/driver/virtual/OtherProcess.h"

#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace tilewright::vgpu::driver {

namespace {

/// The contents of a handle. The descriptor belongs to the process that made it.
struct IpcHandle {
  static constexpr char memoryMagic[8] = "twvgpuI", eventMagic[8] = "twvgpuE";

  char magic[8] = {};
  int process = 0, file = 0;
  uint64_t inode = 0; // of the file, which tells a reused descriptor
  uint64_t offset = 0, bytes = 0;
};
static_assert(sizeof(IpcHandle) <= sizeof(CUipcMemHandle));

/// Memory of another process that is mapped here, by the address that the program uses.
struct Opened {
  uint64_t inode = 0, offset = 0; // of the other process' allocation
  void *reserved = nullptr;
  uint64_t reservedBytes = 0;
  unsigned uses = 1;
};
struct AllOpened {
  std::mutex mutex;
  std::map<uint64_t, Opened> byAddress; // guarded by mutex
};

} // namespace

static AllOpened &allOpened() {
  static auto &only = *new AllOpened(); // outlives main(), as the streams do
  return only;
}

static IpcHandle makeHandle(const char *magic, int file) {
  IpcHandle handle;
  std::memcpy(handle.magic, magic, sizeof(handle.magic));
  handle.process = getpid();
  handle.file = file;
  handle.inode = inodeOf(file);
  return handle;
}

/// Opens the file of a handle. The process that made it must still have it open.
static CUresult openFile(const IpcHandle &handle, const char *magic, int &file) {
  if (std::memcmp(handle.magic, magic, sizeof(handle.magic)) != 0)
    return fail(CUDA_ERROR_INVALID_VALUE, "the handle was not made by this driver");
  if (handle.process == getpid())
    return fail(CUDA_ERROR_INVALID_CONTEXT,
                "a process cannot open its own handle; use the address or the event itself");
  file = openFileOf(handle.process, handle.file, handle.inode);
  if (file >= 0)
    return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE,
              concat("process ", handle.process,
                     " has freed the memory or event of the handle, or has ended"));
}

std::shared_ptr<SharedEvent> SharedEvent::create() {
  const int file = memfd_create("tilewright-vgpu-event", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(State)) != 0) {
    if (file >= 0)
      close(file);
    return nullptr;
  }
  return open(file);
}

std::shared_ptr<SharedEvent> SharedEvent::open(int file) {
  void *at = mmap(nullptr, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  return std::shared_ptr<SharedEvent>(new SharedEvent(file, *static_cast<State *>(at)));
}

SharedEvent::~SharedEvent() {
  munmap(&state, sizeof(State));
  close(file);
}

uint64_t SharedEvent::record() {
  state.process = getpid();
  return ++state.recorded;
}

void SharedEvent::finish(uint64_t number) {
  uint64_t done = state.done;
  while (done < number && !state.done.compare_exchange_weak(done, number)) {
  }
}

std::shared_ptr<Fence> SharedEvent::latest(const std::shared_ptr<SharedEvent> &event) {
  State &state = event->state;
  const uint64_t wanted = state.recorded;
  if (wanted == 0)
    return nullptr;
  auto fence = std::make_shared<Fence>();
  if (state.done >= wanted) {
    fence->signal();
    return fence;
  }
  // Another process may complete the record without any other notification.
  std::thread([event, fence, wanted] {
    for (uint64_t i = 1; event->state.done < wanted; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      if (i % 256 != 0 || isAlive(event->state.process) || event->state.done >= wanted)
        continue;
      noteFailure(concat("process ", event->state.process.load(),
                         " ended before the work of an event that it recorded"));
      break;
    }
    fence->signal();
  }).detach();
  return fence;
}

namespace api {

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) {
  VGPU_NEED(handle);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  const std::optional<OwnedMemory> memory = ownedAt(address);
  if (!memory || memory->kind != AllocationKind::device)
    return fail(CUDA_ERROR_INVALID_VALUE, "the address is not in memory of cuMemAlloc");
  // The first export moves the bytes to memory that can be shared, at the same addresses.
  if (std::shared_ptr<Context> owner = memory->context.lock())
    VGPU_TRY(owner->synchronise());
  const std::optional<Arena::SharedPages> pages =
      arena().share(reinterpret_cast<void *>(memory->begin));
  if (!pages)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the host has no file descriptor or no memory left");
  IpcHandle made = makeHandle(IpcHandle::memoryMagic, pages->file);
  made.offset = memory->begin - pages->begin;
  made.bytes = memory->bytes;
  *handle = {};
  std::memcpy(handle->reserved, &made, sizeof(made));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags) {
  VGPU_NEED(address && (flags & ~unsigned(CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) == 0);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  IpcHandle asked;
  std::memcpy(&asked, handle.reserved, sizeof(asked));
  AllOpened &all = allOpened();
  std::lock_guard lock(all.mutex);
  for (auto &[known, opened] : all.byAddress)
    if (opened.inode == asked.inode && opened.offset == asked.offset) {
      ++opened.uses;
      *address = known;
      return CUDA_SUCCESS;
    }
  int file = -1;
  VGPU_TRY(openFile(asked, IpcHandle::memoryMagic, file));
  // Guard pages surround the mapping, as they surround other allocations.
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  struct stat status{};
  fstat(file, &status);
  const auto bytes = static_cast<uint64_t>(status.st_size);
  Opened opened;
  opened.inode = asked.inode;
  opened.offset = asked.offset;
  opened.reservedBytes = bytes + 2 * page;
  opened.reserved = mmap(nullptr, opened.reservedBytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const auto begin = reinterpret_cast<uint64_t>(opened.reserved) + page;
  const bool isMapped = opened.reserved != MAP_FAILED &&
                        mmap(reinterpret_cast<void *>(begin), bytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  close(file);
  if (!isMapped || asked.offset + asked.bytes > bytes) {
    if (opened.reserved != MAP_FAILED)
      munmap(opened.reserved, opened.reservedBytes);
    return fail(CUDA_ERROR_OUT_OF_MEMORY, concat("the host cannot map ", bytes, " bytes"));
  }
  *address = begin + asked.offset;
  OwnedMemory owned;
  owned.begin = *address;
  owned.bytes = asked.bytes;
  owned.kind = AllocationKind::mapped;
  owned.device = &context->device;
  owned.context = context;
  owned.sharedWith = ~uint64_t(0);
  addOwned(std::move(owned));
  all.byAddress[*address] = opened;
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  VGPU_TRY(context->synchronise()); // work may still use the memory
  AllOpened &all = allOpened();
  std::lock_guard lock(all.mutex);
  const auto found = all.byAddress.find(address);
  if (found == all.byAddress.end())
    return fail(CUDA_ERROR_INVALID_VALUE, "the address is not of cuIpcOpenMemHandle");
  if (--found->second.uses != 0)
    return CUDA_SUCCESS;
  takeOwned(address);
  munmap(found->second.reserved, found->second.reservedBytes);
  all.byAddress.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent eventHandle) {
  VGPU_NEED(handle);
  std::shared_ptr<Event> event;
  VGPU_TRY(needEvent(eventHandle, event));
  if (!event->shared)
    return fail(CUDA_ERROR_INVALID_VALUE, "the event was not created with CU_EVENT_INTERPROCESS");
  const IpcHandle made = makeHandle(IpcHandle::eventMagic, event->shared->descriptor());
  *handle = {};
  std::memcpy(handle->reserved, &made, sizeof(made));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *eventHandle, CUipcEventHandle handle) {
  VGPU_NEED(eventHandle);
  std::shared_ptr<Context> context;
  VGPU_TRY(needContext(context));
  IpcHandle asked;
  std::memcpy(&asked, handle.reserved, sizeof(asked));
  int file = -1;
  VGPU_TRY(openFile(asked, IpcHandle::eventMagic, file));
  auto event = std::make_shared<Event>();
  event->context = context;
  event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
  event->shared = SharedEvent::open(file);
  if (!event->shared)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the host has no memory left");
  *eventHandle = static_cast<CUevent>(Driver::get().events.add(event));
  return CUDA_SUCCESS;
}

} // namespace api
} // namespace tilewright::vgpu::driver
