#include "tilewright/runtime/Allocator.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>

namespace tilewright::runtime {

std::string Label::toString() const {
  std::string text = what;
  if (index >= 0)
    text += concat(" ", index);
  if (of)
    text += " of " + *of;
  if (type) {
    text += ", ";
    for (int64_t dim : type->dims)
      text += concat(dim, "x");
    text += numerics::spelling(type->element);
  }
  return text;
}

/// Size classes are powers of two, each split in eight: a request is rounded up by at most an
/// eighth (a quarter for small ones), so a program whose sizes vary slightly from step to step
/// still reuses its blocks.
size_t Allocator::sizeClassOf(size_t bytes) {
  constexpr size_t alignment = 64, small = 64 * 1024;
  if (bytes <= 4 * alignment)
    return std::max((bytes + alignment - 1) & ~(alignment - 1), alignment);
  const int log = std::bit_width(bytes - 1) - 1;
  const size_t step = std::max(size_t(1) << (log - (bytes <= small ? 2 : 3)), alignment);
  return (bytes + step - 1) & ~(step - 1);
}

/// The index of the free list of a size class.
static size_t listOf(size_t sizeClass) {
  const int log = std::bit_width(sizeClass) - 1;
  return static_cast<size_t>(log) * 8 + ((sizeClass >> (log - 3)) & 7);
}
constexpr size_t listCount = 64 * 8;

namespace {
/// A node of a circular list with a head; an unlinked node points to itself.
struct Link {
  Link *previous = this, *next = this;
  void insertAfter(Link &place) {
    previous = &place, next = place.next;
    previous->next = next->previous = this;
  }
  void remove() {
    previous->next = next, next->previous = previous;
    previous = next = this;
  }
  bool isAlone() const { return next == this; }
};
} // namespace

/// The record of a block. It stays with its memory while the block is free, so reusing a block
/// allocates nothing.
struct Allocator::Live {
  Link byAge;  // in the list of live blocks, or of free blocks, youngest first
  Link byList; // if free: in the list of its size class, youngest first
  std::byte *data = nullptr;
  size_t size = 0;
  Account account = 0;
  Label label;

  static Live *ofAge(Link *link) { return reinterpret_cast<Live *>(link); }
  static Live *ofList(Link *link) { return ofAge(link - 1); }
};

struct Allocator::Lists {
  Link live, free;
  Link freeBySize[listCount];
};

Allocator::Allocator(std::unique_ptr<RawMemory> raw, Limits limits)
    : raw(std::move(raw)), limits(std::move(limits)), lists(std::make_unique<Lists>()) {}

Allocator::~Allocator() {
  assert(lists->live.isAlone() && "blocks keep their allocator alive");
  trim();
}

Allocator::Account Allocator::openAccount() {
  std::lock_guard lock(mutex);
  books.emplace_back();
  return static_cast<Account>(books.size() - 1);
}

static std::string readable(int64_t bytes) {
  if (bytes < 10240)
    return concat(bytes, " bytes");
  const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  return concat(static_cast<double>(static_cast<int64_t>(value * 10 + 0.5)) / 10, " ", units[unit]);
}

Result<Allocator::Block> Allocator::allocate(size_t bytes, Account account, Label label) {
  // More than any machine has, and low enough that the sums here do not overflow.
  constexpr size_t absurd = size_t(1) << 60;
  const size_t size = bytes > absurd ? absurd : sizeClassOf(bytes);
  const auto wanted = static_cast<int64_t>(size);
  {
    std::unique_lock lock(mutex);
    if (wanted > limits.bytesInUse - inUse) {
      lock.unlock();
      return exhausted(bytes, label, "but the limit is " + readable(limits.bytesInUse));
    }
    inUse += wanted;
    Link &list = lists->freeBySize[listOf(size)];
    if (!list.isAlone()) {
      Live *live = Live::ofList(list.next);
      live->byList.remove();
      live->byAge.remove();
      cached -= wanted;
      return open(live, bytes, account, std::move(label));
    }
  }
  // The limit applies to blocks in use and cached blocks together, so free cached blocks first.
  trim(limits.bytesInUse - bytesInUse());
  std::byte *data = raw->take(size);
  if (!data) {
    trim();
    data = raw->take(size);
  }
  std::unique_lock lock(mutex);
  if (!data) {
    inUse -= wanted;
    lock.unlock();
    if (Status why = raw->whyNone(); !why.isOk())
      return why;
    return exhausted(bytes, label, "and the system is out of memory");
  }
  Live *live = new Live;
  live->data = data;
  live->size = size;
  return open(live, bytes, account, std::move(label));
}

/// Makes a block live that is not in any list yet, and updates the statistics. The caller holds the
/// mutex.
Allocator::Block Allocator::open(Live *live, size_t bytes, Account account, Label &&label) {
  live->account = account;
  live->label = std::move(label);
  live->byAge.insertAfter(lists->live);
  Books &book = books[account];
  const auto size = static_cast<int64_t>(live->size);
  book.inUse += size;
  book.peak = std::max(book.peak, book.inUse);
  book.largest = std::max(book.largest, size);
  ++book.count;
  ++book.live;
  if (trace::isOn()) {
    trace::counter("bytes in use", inUse);
    // Recompute only when the peak has grown by a sixteenth, so that a growing heap does not
    // traverse all blocks at every allocation.
    if (inUse > peakSeen + peakSeen / 16) {
      peakSeen = inUse;
      peakUsers = largestLocked(10);
    }
  }
  Block block;
  block.allocator = shared_from_this();
  block.live = live;
  block.start = live->data;
  block.bytes = bytes;
  return block;
}

int64_t Allocator::bytesInUse() const {
  std::lock_guard lock(mutex);
  return inUse;
}

void Allocator::release(Live *live) {
  Label label; // destroyed after the lock is released: it may free a string
  const auto size = static_cast<int64_t>(live->size);
  bool isFull = false;
  {
    std::lock_guard lock(mutex);
    label = std::move(live->label);
    live->byAge.remove();
    Books &book = books[live->account];
    book.inUse -= size;
    --book.live;
    inUse -= size;
    live->byAge.insertAfter(lists->free);
    live->byList.insertAfter(lists->freeBySize[listOf(live->size)]);
    cached += size;
    isFull = cached > limits.bytesCached;
    if (trace::isOn())
      trace::counter("bytes in use", inUse);
  }
  if (isFull)
    trim(limits.bytesCached);
}

void Allocator::trim(int64_t bytes) {
  for (;;) {
    Live *oldest = nullptr;
    {
      std::lock_guard lock(mutex);
      if (cached <= bytes || lists->free.isAlone())
        return;
      oldest = Live::ofAge(lists->free.previous);
      oldest->byAge.remove();
      oldest->byList.remove();
      cached -= static_cast<int64_t>(oldest->size);
    }
    raw->give(oldest->data, oldest->size);
    delete oldest;
  }
}

AllocationStatistics Allocator::statistics(Account account) const {
  std::lock_guard lock(mutex);
  const Books &book = books[account];
  return {book.inUse, book.peak, book.largest, book.count, book.live, limits.bytesInUse, cached};
}

void Allocator::resetPeak(Account account) {
  std::lock_guard lock(mutex);
  books[account].peak = books[account].inUse;
}

std::vector<std::string> Allocator::largest(size_t count) const {
  std::lock_guard lock(mutex);
  return largestLocked(count);
}

std::vector<std::string> Allocator::largestAtPeak() const {
  std::lock_guard lock(mutex);
  return peakUsers;
}

/// Groups blocks by label, so that equal blocks share a line. The caller holds the mutex.
std::vector<std::string> Allocator::largestLocked(size_t count) const {
  struct LabelUsage {
    int64_t bytes = 0, blocks = 0;
  };
  std::map<std::string, LabelUsage> byLabel;
  for (Link *link = lists->live.next; link != &lists->live; link = link->next) {
    const Live *live = Live::ofAge(link);
    LabelUsage &usage = byLabel[live->label.toString()];
    usage.bytes += static_cast<int64_t>(live->size);
    ++usage.blocks;
  }
  std::vector<std::pair<std::string, LabelUsage>> usages(byLabel.begin(), byLabel.end());
  std::sort(usages.begin(), usages.end(),
            [](const auto &a, const auto &b) { return a.second.bytes > b.second.bytes; });
  usages.resize(std::min(usages.size(), count));
  std::vector<std::string> texts;
  for (const auto &[label, usage] : usages)
    texts.push_back(readable(usage.bytes) +
                    (usage.blocks > 1 ? concat(" in ", usage.blocks, " blocks of ") : " ") + label);
  return texts;
}

Status Allocator::exhausted(size_t bytes, const Label &label, const std::string &why) const {
  std::string text =
      concat("cannot allocate ", readable(static_cast<int64_t>(std::min(bytes, size_t(1) << 60))),
             " for ", label.toString(), ": ", readable(bytesInUse()), " are in use, ", why);
  std::vector<std::string> users = largest(3);
  for (size_t i = 0; i < users.size(); ++i)
    text += (i ? ", " : "; largest: ") + users[i];
  text += "; delete or donate buffers, or raise " + limits.optionToRaise;
  return Status(Error::outOfMemory, std::move(text));
}

Allocator::Block &Allocator::Block::operator=(Block &&other) noexcept {
  if (this != &other) {
    reset();
    allocator = std::move(other.allocator);
    live = std::exchange(other.live, nullptr);
    start = std::exchange(other.start, nullptr);
    bytes = std::exchange(other.bytes, 0);
  }
  return *this;
}

void Allocator::Block::reset() {
  if (live)
    allocator->release(live);
  live = nullptr, start = nullptr, bytes = 0;
  allocator.reset();
}

} // namespace tilewright::runtime
