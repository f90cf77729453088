#include "tilewright/vgpu/driver/virtual/Multicast.h"

#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/driver/virtual/OtherProcess.h"

#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace tilewright::vgpu::driver {

/// Memory of one device, bound to a range of the object.
struct Binding {
  bool isLive;
  uint32_t member;   // position of the device in the team
  int process, file; // the descriptor in that process
  uint64_t inode;    // of the file, which tells a reused descriptor
  uint64_t offset, bytes;
  uint64_t memoryOffset, memoryBytes;
};

/// The state of a multicast object that its processes share: a plain struct in the object's file.
struct Team {
  static constexpr uint32_t maxDevices = 128, maxBindings = 1024;

  std::atomic<int> owner; // the process that holds the lock; 0: none
  uint32_t devices, joined;
  uint64_t bytes, handleTypes;
  std::atomic<uint64_t> changes;
  struct {
    int process, ordinal;
  } members[maxDevices];
  uint32_t bindingCount;
  Binding bindings[maxBindings];
};

static constexpr uint64_t teamBytes =
    (sizeof(Team) + FileKind::pageBytes - 1) / FileKind::pageBytes * FileKind::pageBytes;

namespace {
/// Holds the team's lock. If a process ends while it holds the lock, the lock is released.
class TeamLock {
public:
  explicit TeamLock(Team &team) : team(team) {
    const int self = getpid();
    for (int holder = 0; !team.owner.compare_exchange_weak(holder, self); holder = 0) {
      if (holder != 0 && !isAlive(holder) && team.owner.compare_exchange_strong(holder, self))
        return;
      std::this_thread::yield();
    }
  }
  ~TeamLock() { team.owner.store(0); }

private:
  Team &team;
};
} // namespace

static Team *mapTeam(int file) {
  void *found = mmap(nullptr, teamBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return found == MAP_FAILED ? nullptr : static_cast<Team *>(found);
}

MulticastObject::MulticastObject(uint64_t bytes, unsigned long long handleTypes, int file,
                                 Team &team)
    : MemoryObject(bytes, handleTypes, file), team(team) {}

MulticastObject::~MulticastObject() {
  {
    const TeamLock lock(team);
    for (const auto &[index, memory] : bound)
      team.bindings[index].isLive = false;
    ++team.changes;
  }
  munmap(&team, teamBytes);
}

CUresult MulticastObject::create(unsigned devices, uint64_t bytes, unsigned long long handleTypes,
                                 std::shared_ptr<MulticastObject> &object) {
  if (devices == 0 || devices > Team::maxDevices)
    return fail(CUDA_ERROR_INVALID_VALUE, concat("a multicast object has 1 to ", Team::maxDevices,
                                                 " devices, not ", devices));
  FileKind kind;
  std::memcpy(kind.magic, FileKind::multicastMagic, sizeof(kind.magic));
  kind.bytes = teamBytes;
  const int file = createFile("tilewright-vgpu-multicast", teamBytes, kind);
  Team *team = file < 0 ? nullptr : mapTeam(file);
  if (!team) {
    if (file >= 0)
      close(file);
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the host has no file descriptor or no memory left");
  }
  // The file is full of zeros, which is the state of an empty team.
  team->devices = devices;
  team->bytes = bytes;
  team->handleTypes = handleTypes;
  object = std::make_shared<MulticastObject>(bytes, handleTypes, file, *team);
  rememberFile(object);
  return CUDA_SUCCESS;
}

CUresult MulticastObject::open(int file, const FileKind &kind,
                               std::shared_ptr<MulticastObject> &object) {
  Team *team = kind.bytes == teamBytes ? mapTeam(file) : nullptr;
  if (!team) {
    close(file);
    return fail(CUDA_ERROR_INVALID_VALUE,
                "the multicast object was made by another version of this driver");
  }
  object = std::make_shared<MulticastObject>(team->bytes, team->handleTypes, file, *team);
  rememberFile(object);
  return CUDA_SUCCESS;
}

CUresult MulticastObject::addDevice(const Device &device) {
  const int process = getpid();
  const TeamLock lock(team);
  for (uint32_t i = 0; i < team.joined; ++i)
    if (team.members[i].process == process && team.members[i].ordinal == device.ordinal)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("device ", device.ordinal, " is already in the team"));
  if (team.joined == team.devices)
    return fail(CUDA_ERROR_INVALID_VALUE,
                concat("the team has all of its ", team.devices, " devices already"));
  team.members[team.joined++] = {process, device.ordinal};
  ++team.changes;
  return CUDA_SUCCESS;
}

CUresult MulticastObject::waitUntilComplete(std::string_view call) {
  const std::chrono::nanoseconds limit = Driver::get().settings.timeLimit;
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    uint32_t joined = 0;
    int dead = 0;
    {
      const TeamLock lock(team);
      joined = team.joined;
      for (uint32_t i = 0; i < joined; ++i)
        if (!isAlive(team.members[i].process))
          dead = team.members[i].process;
    }
    if (joined == team.devices)
      return CUDA_SUCCESS;
    if (dead)
      return fail(CUDA_ERROR_ILLEGAL_STATE,
                  concat("process ", dead, " of the multicast team has ended"));
    if (limit.count() > 0 && std::chrono::steady_clock::now() - begin >= limit)
      return fail(CUDA_ERROR_ILLEGAL_STATE,
                  concat(call, " waited until --timeout for ", team.devices - joined, " of ",
                         team.devices, " devices; each must call cuMulticastAddDevice before"));
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

/// The position of a device of this process in the team; `joined` if it is not a member.
static uint32_t memberOf(const Team &team, const Device &device) {
  const int process = getpid();
  uint32_t i = 0;
  while (i < team.joined &&
         (team.members[i].process != process || team.members[i].ordinal != device.ordinal))
    ++i;
  return i;
}

CUresult MulticastObject::bind(Device &device, uint64_t offset,
                               const std::shared_ptr<PhysicalMemory> &memory, uint64_t memoryOffset,
                               uint64_t bytes) {
  VGPU_NEED(bytes != 0 && bytes % granularity == 0);
  VGPU_NEED(offset % granularity == 0 && memoryOffset % granularity == 0);
  VGPU_NEED(offset <= this->bytes && bytes <= this->bytes - offset);
  VGPU_NEED(memoryOffset <= memory->bytes && bytes <= memory->bytes - memoryOffset);
  VGPU_TRY(waitUntilComplete("cuMulticastBindMem"));
  std::lock_guard guard(mutex);
  const TeamLock lock(team);
  const uint32_t member = memberOf(team, device);
  if (member == team.joined)
    return fail(CUDA_ERROR_INVALID_VALUE, concat("device ", device.ordinal,
                                                 " is not in the team; call cuMulticastAddDevice"));
  uint32_t free = team.bindingCount;
  for (uint32_t i = 0; i < team.bindingCount; ++i) {
    const Binding &one = team.bindings[i];
    if (!one.isLive)
      free = i;
    else if (one.member == member && one.offset < offset + bytes && offset < one.offset + one.bytes)
      return fail(CUDA_ERROR_INVALID_VALUE,
                  concat("device ", device.ordinal, " has already bound memory at offset ",
                         one.offset, " of the multicast object"));
  }
  if (free == Team::maxBindings)
    return fail(CUDA_ERROR_OUT_OF_MEMORY,
                concat("a multicast object holds ", Team::maxBindings, " bindings"));
  team.bindings[free] = {true,   member, getpid(),     memory->file, inodeOf(memory->file),
                         offset, bytes,  memoryOffset, memory->bytes};
  team.bindingCount = std::max(team.bindingCount, free + 1);
  ++team.changes;
  bound[free] = memory;
  return CUDA_SUCCESS;
}

CUresult MulticastObject::unbind(const Device &device, uint64_t offset, uint64_t bytes) {
  std::lock_guard guard(mutex);
  const TeamLock lock(team);
  const uint32_t member = memberOf(team, device);
  bool isFound = false;
  for (uint32_t i = 0; i < team.bindingCount; ++i) {
    Binding &one = team.bindings[i];
    if (!one.isLive || one.member != member || one.offset < offset ||
        one.offset + one.bytes > offset + bytes)
      continue;
    isFound = true;
    one.isLive = false;
    bound.erase(i);
  }
  ++team.changes;
  return isFound ? CUDA_SUCCESS
                 : fail(CUDA_ERROR_INVALID_VALUE,
                        concat("device ", device.ordinal, " has no binding in the ", bytes,
                               " bytes at offset ", offset));
}

uint64_t MulticastObject::addressOf(const Binding &binding) {
  if (const auto known = opened.find(binding.inode); known != opened.end())
    return reinterpret_cast<uint64_t>(known->second.get());
  const int file = openFileOf(binding.process, binding.file, binding.inode);
  if (file < 0)
    return 0;
  std::shared_ptr<void> memory;
  if (const auto here = std::dynamic_pointer_cast<PhysicalMemory>(findByFile(file))) {
    memory = std::shared_ptr<void>(here, here->base);
  } else {
    const uint64_t bytes = binding.memoryBytes;
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED)
      memory = std::shared_ptr<void>(at, [bytes](void *one) { munmap(one, bytes); });
  }
  close(file);
  if (!memory)
    return 0;
  opened[binding.inode] = memory;
  return reinterpret_cast<uint64_t>(memory.get());
}

void MulticastObject::update() {
  if (seen == team.changes.load())
    return;
  const TeamLock lock(team);
  seen = team.changes.load();
  members.assign(team.joined, {});
  std::map<uint64_t, std::shared_ptr<void>> stillOpen;
  for (uint32_t i = 0; i < team.bindingCount; ++i)
    if (const Binding &one = team.bindings[i]; one.isLive)
      if (const uint64_t address = addressOf(one)) {
        members[one.member].push_back({one.offset, one.bytes, address + one.memoryOffset});
        stillOpen[one.inode] = opened[one.inode];
      }
  opened = std::move(stillOpen);
}

std::string MulticastObject::find(uint64_t offset, uint64_t bytes,
                                  std::vector<uint64_t> &addresses) {
  std::lock_guard lock(mutex);
  update();
  addresses.clear();
  for (size_t i = 0; i < members.size(); ++i) {
    const size_t before = addresses.size();
    for (const Member &one : members[i])
      if (offset >= one.offset && offset + bytes <= one.offset + one.bytes)
        addresses.push_back(one.address + offset - one.offset);
    if (addresses.size() == before)
      return concat("is at offset ", offset, " of a multicast object, where member ", i, " of ",
                    members.size(), " has bound no memory");
  }
  return addresses.empty() ? "is in a multicast object without devices" : "";
}

} // namespace tilewright::vgpu::driver
