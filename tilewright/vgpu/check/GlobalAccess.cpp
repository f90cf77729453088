// Checks accesses to global memory: bounds, reads of bytes that were never written, and races.
#include "tilewright/support/Concat.h"
#include "tilewright/vgpu/check/Detector.h"
#include "tilewright/vgpu/check/GlobalMemory.h"
#include "tilewright/vgpu/machine/memory/Memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tilewright::vgpu::check {

using machine::AccessKind;

static constexpr const char *boundsFix =
    "compare the index with the size before the access, and check the size and the strides that "
    "the host passes";

/// Reports bytes outside of the memory that the launch may access, and clips [begin, end) to valid
/// memory. Returns false if nothing is left.
bool Detector::clipToValid(const AccessRecord &record, uint64_t &begin, uint64_t &end) {
  machine::ValidRange &range = group.range;
  if (range.holds(begin, end - begin)) [[likely]]
    return true;
  machine::ValidMemory &valid = *launch.grid->validMemory;
  range = valid.findHome(begin);
  if (range.holds(begin, end - begin))
    return true;
  const uint64_t runAddress = begin;
  uint64_t wrong = begin;
  if (range.bytes != 0) {
    end = wrong = range.begin + range.bytes;
  } else if (const machine::ValidRange behind = valid.findHome(end - 1); behind.bytes != 0) {
    begin = behind.begin;
    range = behind;
  } else {
    begin = end;
  }
  if (options.bounds) {
    const AccessRecord here =
        record.inSector(wrong / Sector::bytes * Sector::bytes, runAddress, currentRun->lane);
    reportSimple(FindingKind::bounds, here, static_cast<uint32_t>(wrong % Sector::bytes),
                 concat("access of ", current->bytes, " bytes ",
                        machine::describeInvalid(wrong, valid.accessor())),
                 wrong, boundsFix);
  }
  return begin < end;
}

/// Reports an access that leaves its allocation, or that uses a null pointer.
void Detector::reportBounds(const AccessRecord &record, const Run &run, uint64_t begin,
                            const Allocation *allocation) {
  std::string message = allocation ? concat("access of ", run.length, " bytes, ",
                                            begin < allocation->begin
                                                ? concat(allocation->begin - begin, " bytes before")
                                                : concat(begin - allocation->begin, " bytes into"),
                                            " an allocation of ", allocation->bytes, " bytes")
                                   : std::string("access outside of every allocation");
  const AccessRecord here =
      record.inSector(begin / Sector::bytes * Sector::bytes, run.address, run.lane);
  reportSimple(FindingKind::bounds, here, static_cast<uint32_t>(begin % Sector::bytes),
               std::move(message), begin, boundsFix);
  // Stop the launch before it dereferences the null pointer.
  if (begin < Page::bytes)
    failLaunch(here.instruction);
}

/// Copies the bytes that the run stores in [begin, end).
void Detector::copyStored(uint64_t begin, uint64_t end, std::byte *to) const {
  const machine::StoredValues &values = *current->values;
  const uint32_t size = values.elementBytes;
  if (!values.rows && current->bytes == size && size == values.registerBytes && size <= 8 &&
      currentRun->shift != 5) {
    // Lanes with consecutive addresses also have consecutive elements in the register.
    std::memcpy(to,
                values.registers + values.slots[0] +
                    size_t(currentRun->lane) * values.registerBytes + (begin - currentRun->address),
                end - begin);
    return;
  }
  for (uint64_t at = begin; at < end;) {
    const uint64_t distance = at - currentRun->address;
    const bool isOneLane = currentRun->shift == 5;
    const uint64_t offset = isOneLane ? distance : distance & (current->bytes - 1);
    if (!values.rows && size <= 8 && offset % size == 0 && end - at >= size) {
      const uint64_t lane = currentRun->lane + (isOneLane ? 0 : distance >> currentRun->shift);
      std::memcpy(to + (at - begin),
                  values.registers + values.slots[offset / size] + lane * values.registerBytes,
                  size);
      at += size;
      continue;
    }
    to[at - begin] = storedAt(at);
    ++at;
  }
}

/// See Page::settled.
static bool isReadByTwoGroups(Sector &sector, const LaunchState &launch) {
  uint32_t byTwo = 0; // bytes that blocks of two groups read
  for (uint32_t i = 0; i < sector.size(); ++i) {
    if (!sector[i].record.isRead())
      return false;
    for (uint32_t j = 0; j < i && byTwo != ~0u; ++j)
      if (!sector[i].record.isStrong && !sector[j].record.isStrong &&
          launch.areInTwoGroups(sector[i].record.block, sector[j].record.block))
        byTwo |= sector[i].mask & sector[j].mask;
  }
  return byTwo == ~0u;
}

namespace {

/// The page that a run of accesses has reached. Holds the lock of at most one page.
class PageCursor {
public:
  /// `keepsValues`: the run's values are to be stored in the pages.
  PageCursor(GroupState &group, GlobalMemory &global, const LaunchState &launch, bool keepsValues)
      : group(group), global(global), launch(launch), keepsValues(keepsValues) {}
  ~PageCursor() { unlock(); }

  Page *operator->() const { return page; }

  /// Moves to the page that holds `address`. If it is not the current page, unlocks the current
  /// page first.
  void open(uint64_t address) {
    if (address / Page::bytes == number)
      return;
    unlock();
    number = address / Page::bytes;
    GroupState::KnownPage &known = group.pages[number % group.pages.size()];
    if (known.number != number)
      known = {number, &global.pageOf(address)};
    page = known.page;
  }
  /// Takes the page's lock and discards the accesses of launches that happened before.
  void lock() {
    if (!isLocked)
      while (page->lock.test_and_set(std::memory_order_acquire)) {
      }
    isLocked = true;
    if (page->launch.load(std::memory_order_relaxed) != launch.id)
      page->enter(launch.id, [&](uint64_t id) {
        const std::shared_ptr<LaunchState> other = launch.order ? launch.all->withId(id) : nullptr;
        return !other || launch.isAfter(*other);
      });
    if (keepsValues && !page->values)
      page->values = std::make_unique<std::byte[]>(Page::bytes);
  }
  void unlock() {
    if (isLocked)
      page->lock.clear(std::memory_order_release);
    isLocked = false;
  }

private:
  GroupState &group;
  GlobalMemory &global;
  const LaunchState &launch;
  const bool keepsValues;
  Page *page = nullptr;
  uint64_t number = ~uint64_t(0);
  bool isLocked = false;
};

} // namespace

/// Marks the bytes in `mask` as written if the access writes them. Returns the bytes to report:
/// those that it reads and that were never written. Marks these too, so that they are reported
/// once.
static uint32_t markWritten(std::atomic<uint32_t> &written, AccessKind kind, uint32_t mask,
                            bool reportsReads) {
  const uint32_t missing = mask & ~written.load(std::memory_order_relaxed);
  const bool isReported = reportsReads && kind != AccessKind::write;
  if (missing == 0 || (kind == AccessKind::read && !isReported))
    return 0;
  written.fetch_or(mask, std::memory_order_relaxed);
  return isReported ? missing : 0;
}

void Detector::accessGlobal(const Actor &actor, const AccessRecord &record, const Run &run) {
  uint64_t begin = run.address, end = run.address + run.length;
  if (launch.grid->validMemory && !clipToValid(record, begin, end))
    return;
  const Allocation *allocation = nullptr;
  if (options.bounds || options.uninit) {
    allocation = group.allocation;
    if (!allocation || !allocation->holds(begin, end))
      allocation = group.allocation = launch.allocations->find(begin);
    if (allocation ? !allocation->holds(begin, end) : begin < Page::bytes) {
      if (options.bounds)
        reportBounds(record, run, begin, allocation);
      allocation = nullptr;
    }
  }
  if (actor.operation && record.accessKind() != AccessKind::read)
    const_cast<AsyncState *>(actor.operation)->writesGlobal = true;
  const bool isPlainRead = isReadOfMany(record);
  const bool isTracked = allocation && allocation->isTracked;
  PageCursor page(group, global, launch, record.hasValues);
  for (uint64_t at = begin; at < end;) {
    const uint64_t base = at / Sector::bytes * Sector::bytes;
    const auto index = static_cast<uint32_t>(at % Page::bytes / Sector::bytes);
    const auto line = static_cast<uint32_t>(at % Page::bytes / Page::lineBytes);
    // Fast path: the access covers a whole line that no thread has accessed yet.
    if (options.races && !isTracked && at % Page::lineBytes == 0 && end - at >= Page::lineBytes) {
      page.open(at);
      if (!isPlainRead || !page->isSettled(launch.id, index)) {
        page.lock();
        if (!(page->touched >> line & 1)) {
          page->touched |= uint64_t(1) << line;
          page->lines[line] = record.inSector(at, run.address, run.lane);
          if (record.hasValues)
            copyStored(at, at + Page::lineBytes, page->values.get() + at % Page::bytes);
          at += Page::lineBytes;
          continue;
        }
      }
    }
    const uint64_t next = std::min(base + Sector::bytes, end);
    const uint32_t mask = byteMask(at - base, next - base);
    // Fast path: enough other blocks read the sector.
    if (isPlainRead && options.races) {
      page.open(at);
      if (page->isSettled(launch.id, index) &&
          (!isTracked || allocation->isWritten(base < allocation->begin ? at : base, mask))) {
        at = next;
        continue;
      }
    }
    const AccessRecord here = record.inSector(base, run.address, run.lane);
    if (isTracked) {
      std::atomic<uint32_t> &written = allocation->wordOf(base < allocation->begin ? at : base);
      if (const uint32_t bytes = markWritten(written, here.accessKind(), mask, options.uninit)) {
        const auto byte = static_cast<uint32_t>(std::countr_zero(bytes));
        page.unlock();
        reportSimple(FindingKind::uninitialised, here, byte,
                     "read of global memory that was never written", base + byte,
                     "write it first: with a copy from the host, a memset or an earlier kernel");
      }
    }
    if (options.races) {
      page.open(at);
      if (!isPlainRead || !page->isSettled(launch.id, index)) {
        page.lock();
        page->splitLine(line);
        held = page->values ? page->values.get() + base % Page::bytes : nullptr;
        heldBytes = held ? Sector::bytes : 0;
        Sector &sector = page->sectors[index];
        checkSector(actor, sector, here, mask, base);
        if (record.hasValues)
          copyStored(at, next, page->values.get() + at % Page::bytes);
        page->setSettled(index, sector.size() > 1 && isReadByTwoGroups(sector, launch));
      }
    }
    at = next;
  }
}

} // namespace tilewright::vgpu::check
