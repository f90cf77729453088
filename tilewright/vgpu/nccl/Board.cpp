#include "tilewright/vgpu/nccl/Board.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <random>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright::vgpu::nccl {

namespace {
/// The header of a board.
struct Header {
  std::atomic<int32_t> ranks; // 0: no rank has come yet
  std::atomic<uint32_t> changes;
};
constexpr size_t page = 4096;

size_t pages(size_t bytes) { return (bytes + page - 1) / page * page; }
} // namespace

static_assert(std::atomic<uint64_t>::is_always_lock_free &&
                  std::atomic<RankState>::is_always_lock_free,
              "processes share them");

static uint64_t inodeOf(int file) {
  struct stat facts{};
  return fstat(file, &facts) == 0 ? facts.st_ino : 0;
}

bool Board::Place::isValid() const {
  return std::memcmp(magic, Place().magic, sizeof magic) == 0 && process > 0 && file >= 0;
}

Board::Place Board::create() {
  Place place;
  place.process = getpid();
  place.file = static_cast<int>(memfd_create("tilewright-nccl", MFD_CLOEXEC));
  if (place.file < 0)
    return place;
  place.inode = inodeOf(place.file);
  std::random_device random;
  place.nonce = uint64_t(random()) << 32 | random();
  return place;
}

void Board::close(const Place &place) {
  if (place.process == getpid() && inodeOf(place.file) == place.inode)
    ::close(place.file);
}

Board::~Board() {
  if (base)
    munmap(base, bytes);
}

std::string Board::open(const Place &place, int ranks) {
  const std::string path = concat("/proc/", place.process, "/fd/", place.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0 || inodeOf(file) != place.inode) {
    const std::string why = file < 0 ? std::strerror(errno) : "it is another file";
    if (file >= 0)
      ::close(file);
    return concat("cannot open ", path, ", which process ", place.process,
                  " made for this communicator: ", why,
                  "; has that process ended, or is the unique id used a second time?");
  }
  // Messages between many ranks are sent in smaller pieces, so that the board stays small.
  const size_t pairs = size_t(ranks) * ranks;
  messageBytes = std::clamp<size_t>((size_t(1) << 30) / pairs / 256 * 256, 1024, 64 << 10);
  const size_t slotsBegin = page;
  mailBegin = slotsBegin + pages(sizeof(RankSlot) * ranks);
  chunkBegin = mailBegin + pages(sizeof(Mailbox) * pairs);
  dataBegin = chunkBegin + pages(messageBytes * pairs);
  bytes = dataBegin + size_t(ranks) * 4 * chunkBytes;
  struct stat facts{};
  // The file only grows, and every rank asks for the same size. Pages that no rank touches take no
  // memory.
  const bool isLarge = fstat(file, &facts) == 0 && static_cast<size_t>(facts.st_size) >= bytes;
  void *memory = MAP_FAILED;
  if (isLarge || ftruncate(file, static_cast<off_t>(bytes)) == 0)
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  ::close(file);
  if (memory == MAP_FAILED)
    return concat("no memory for a communicator of ", ranks, " ranks: ", std::strerror(errno));
  base = static_cast<std::byte *>(memory);
  // A file of zeros is a valid board.
  auto *header = reinterpret_cast<Header *>(base);
  futex = &header->changes;
  slots = reinterpret_cast<RankSlot *>(base + slotsBegin);
  identity = place.nonce;
  count = ranks;
  int32_t before = 0;
  if (!header->ranks.compare_exchange_strong(before, ranks) && before != ranks)
    return concat("this rank wants a communicator of ", ranks, " ranks, another one of ", before);
  return "";
}

Mailbox &Board::mailbox(int from, int to) const {
  return reinterpret_cast<Mailbox *>(base + mailBegin)[from * count + to];
}
std::byte *Board::mailboxChunk(int from, int to) const {
  return base + chunkBegin + messageBytes * (size_t(from) * count + to);
}
std::byte *Board::data(int rank, uint64_t step) const {
  return base + dataBegin + (size_t(rank) * 4 + step % 2) * chunkBytes;
}
std::byte *Board::result(int rank, uint64_t step) const {
  return base + dataBegin + (size_t(rank) * 4 + 2 + step % 2) * chunkBytes;
}

// The futexes are not private, because other processes wait for them, too.
void Board::notify() const {
  futex->fetch_add(1);
  syscall(SYS_futex, futex, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}
void Board::wait(uint32_t seen, std::chrono::milliseconds longest) const {
  const timespec limit{longest.count() / 1000, longest.count() % 1000 * 1000000};
  syscall(SYS_futex, futex, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

Peers::~Peers() {
  for (const auto &[process, descriptor] : descriptors)
    if (descriptor >= 0)
      ::close(descriptor);
}

int Peers::ended(const Board &board, std::span<const int> members) {
  std::lock_guard lock(mutex);
  const int self = getpid();
  for (int rank : members) {
    const RankSlot &slot = board.slot(rank);
    const int process = slot.process.load();
    const RankState state = slot.state.load();
    if (process == 0 || process == self || state == RankState::left || state == RankState::aborted)
      continue;
    auto [known, isNew] = descriptors.try_emplace(process, -1);
    if (isNew)
      known->second = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    pollfd waiting{known->second, POLLIN, 0};
    if ((known->second < 0 || poll(&waiting, 1, 0) > 0) && slot.state.load() == state)
      return rank;
  }
  return -1;
}

} // namespace tilewright::vgpu::nccl
