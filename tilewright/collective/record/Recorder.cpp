#include "tilewright/collective/record/Recorder.h"
#include "tilewright/collective/Move.h"
#include "tilewright/collective/record/ThisProcess.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace tilewright::collective::record {

namespace {

template <typename Number> void put(std::string &out, Number number) {
  out.append(reinterpret_cast<const char *>(&number), sizeof number);
}

void putText(std::string &out, std::string_view text) {
  const auto size = static_cast<uint16_t>(std::min<size_t>(text.size(), 1000));
  put(out, size);
  out += text.substr(0, size);
}

/// Encodes ranks as arithmetic sequences {first, step, count}; the cliques of a mesh need few.
void putMembers(std::string &out, const Clique &members) {
  std::vector<std::array<int64_t, 3>> runs;
  for (size_t i = 0; i < members.size();) {
    const int64_t step = i + 1 < members.size() ? members[i + 1] - members[i] : 0;
    size_t end = i + 1;
    while (end < members.size() && members[end] - members[end - 1] == step)
      ++end;
    runs.push_back({members[i], step, static_cast<int64_t>(end - i)});
    i = end;
  }
  put(out, static_cast<uint32_t>(runs.size()));
  for (const auto &run : runs)
    for (int64_t number : run)
      put(out, number);
}

std::string bytesOf(const Clique &members, std::string_view engine) {
  std::string record;
  put(record, RecordKind::clique);
  putText(record, engine);
  putMembers(record, members);
  return record;
}

std::string bytesOf(const Call &call, uint32_t clique) {
  uint64_t bytes = 0;
  for (const Tensor &tensor : call.tensors)
    bytes += inBytes(tensor);
  std::string record;
  put(record, RecordKind::site);
  put(record, call.kind);
  put(record, clique);
  put(record, call.order);
  put(record, bytes);
  put(record, siteHash(call));
  putText(record, call.name);
  putText(record, call.place);
  putText(record, call.tensors.empty() ? std::string()
                                       : concat(numerics::spelling(call.tensors[0].element),
                                                listed(call.tensors[0].inDims)));
  return record;
}

template <size_t size> void copyText(char (&to)[size], std::string_view text) {
  const size_t count = std::min(text.size(), size - 1);
  std::copy_n(text.data(), count, to);
  to[count] = 0;
}

/// A new file. The destructor closes it, and removes it unless `path` was cleared.
struct NewFile {
  std::string path;
  int descriptor = -1;
  ~NewFile() {
    if (descriptor >= 0)
      close(descriptor);
    if (!path.empty())
      unlink(path.c_str());
  }
};

Status failed(const std::string &path, int reason) {
  return Status(Error::recorderFile,
                concat("cannot create a flight recording in ", path, ": ", std::strerror(reason),
                       "; set runtime.flight-recorder to another folder, or to off"));
}

} // namespace

void Track::explain(std::string_view failure) {
  owner->hasFailed = true;
  const size_t size = std::min(failure.size(), maxFailureBytes);
  ring->failureBytes.store(0, std::memory_order_release);
  std::memcpy(ring->failure, failure.data(), size);
  ring->failureBytes.store(static_cast<uint32_t>(size), std::memory_order_release);
}

void Track::refresh() { owner->refresh(); }

void Recorder::refresh() {
  std::lock_guard lock(mutex);
  const uint32_t other = 1 - header->isLatest.load(std::memory_order_relaxed);
  header->latest[other] = momentNow(isCounter);
  header->isLatest.store(other, std::memory_order_release);
}

/// Records how the process ended, and removes the file if it is not needed.
void Recorder::conclude() {
  if (header->pid != static_cast<uint64_t>(getpid()))
    return; // a forked child has the mapping but not the ranks
  bool isWell = !hasFailed;
  for (Track &track : tracks) {
    const uint64_t next = track.ring->next.load(std::memory_order_relaxed);
    for (uint64_t number = next - std::min(next, track.mask + 1); number < next && isWell; ++number)
      isWell = track.entries[number & track.mask].stamp.load(std::memory_order_relaxed) ==
               stampOf(number, State::done);
  }
  header->ending.store(isWell ? Ending::well : Ending::failed, std::memory_order_release);
  refresh();
  if (isWell && removesWhenWell)
    unlink(name.c_str());
}

/// Concludes the remaining recorders at exit, because Python often exits without running
/// destructors.
struct Recorder::Living {
  static Living &get() {
    static auto *instance = [] {
      std::atexit([] {
        Living &all = get();
        std::lock_guard lock(all.mutex);
        for (Recorder *recorder : all.recorders)
          recorder->conclude();
      });
      return new Living;
    }();
    return *instance;
  }
  std::mutex mutex;
  std::vector<Recorder *> recorders; // guarded by mutex
};

Result<std::shared_ptr<Recorder>> Recorder::create(const Options &options) {
  const auto rings = options.ranks.size();
  if (options.entries < 2 || !std::has_single_bit(static_cast<uint64_t>(options.entries)) ||
      static_cast<uint64_t>(options.entries) > maxEntries)
    return Status(Error::optionValue,
                  concat("runtime.flight-recorder-entries must be a power of two from 2 to ",
                         maxEntries, ", got ", options.entries));
  if (rings > maxRings)
    return Status(Error::recorderFile, concat("the flight recorder supports at most ", maxRings,
                                              " ranks per process, got ", rings));
  std::shared_ptr<Recorder> made(new Recorder);
  made->size = fileBytesOf(rings, static_cast<uint64_t>(options.entries));
  made->name = concat(options.folder, "/", options.job, "-", options.epoch, "-", options.process,
                      "-", getpid(), ".flight");
  made->removesWhenWell = options.removesWhenWell;
  made->isCounter = hasEvenCounter();
  const Moment first = momentNow(made->isCounter);

  // Use a temporary name until the file is complete, so that no reader sees a partial header.
  NewFile file{made->name + ".new"};
  file.descriptor = open(file.path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file.descriptor < 0)
    return failed(options.folder, errno);
  // Allocate all blocks now: a page without disk space would raise SIGBUS later.
  if (const int reason = posix_fallocate(file.descriptor, 0, static_cast<off_t>(made->size)))
    return failed(options.folder, reason);
  void *mapped = mmap(nullptr, made->size, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
  if (mapped == MAP_FAILED)
    return failed(options.folder, errno);
  made->bytes = static_cast<std::byte *>(mapped);

  FileHeader &header = *(made->header = new (mapped) FileHeader{});
  std::memcpy(header.magic, fileMagic, sizeof fileMagic);
  header.version = fileVersion;
  header.rings = static_cast<uint32_t>(rings);
  header.fileBytes = made->size;
  header.entries = static_cast<uint64_t>(options.entries);
  header.epoch = options.epoch;
  header.process = options.process;
  header.processes = options.processes;
  header.jobRanks = options.jobRanks;
  const ThisProcess self = thisProcess();
  header.pid = self.pid;
  header.pidStart = self.start;
  header.pidNamespace = self.pidNamespace;
  copyText(header.job, options.job);
  copyText(header.host, self.host);
  copyText(header.boot, self.boot);
  copyText(header.command, self.command);
  for (size_t i = 0; i < rings; ++i) {
    std::byte *at = made->bytes + pageBytes + tableBytes +
                    i * ringBytesOf(static_cast<uint64_t>(options.entries));
    Track &track = made->tracks.emplace_back();
    track.owner = made.get();
    track.ring = new (at) RingHeader{};
    track.ring->rank = options.ranks[i];
    track.entries = reinterpret_cast<Entry *>(at + pageBytes);
    track.mask = static_cast<uint64_t>(options.entries) - 1;
    track.isCounter = made->isCounter;
    // Fault in all pages now, rather than during the first collectives.
    std::memset(at + pageBytes, 0, static_cast<size_t>(options.entries) * sizeof(Entry));
  }
  // The TSC frequency requires two moments some time apart; take the second now, because the job
  // may hang before the next refresh.
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  header.first = first;
  header.latest[0] = momentNow(made->isCounter);
  if (rename(file.path.c_str(), made->name.c_str()) != 0)
    return failed(options.folder, errno);
  file.path.clear();
  Living &all = Living::get();
  std::lock_guard lock(all.mutex);
  all.recorders.push_back(made.get());
  made->isLiving = true;
  return made;
}

Recorder::~Recorder() {
  if (!header)
    return;
  if (isLiving) {
    Living &all = Living::get();
    std::lock_guard lock(all.mutex);
    std::erase(all.recorders, this);
    conclude();
  }
  munmap(bytes, size);
}

Track *Recorder::trackOf(int64_t rank) {
  for (Track &track : tracks)
    if (track.rank() == rank)
      return &track;
  return nullptr;
}

/// Adds a record to the table. Returns its number among the records of the same kind, starting at
/// one; zero if the table is full.
uint32_t Recorder::add(std::unordered_map<std::string, uint32_t> &known, std::string record) {
  if (const auto found = known.find(record); found != known.end())
    return found->second;
  const uint64_t used = header->tableUsed.load(std::memory_order_relaxed);
  const RecordHeader head{static_cast<uint32_t>(record.size()),
                          checkOf(record.data(), record.size())};
  if (sizeof head + record.size() > tableBytes - used)
    return 0;
  std::byte *at = bytes + pageBytes + used;
  std::memcpy(at, &head, sizeof head);
  std::memcpy(at + sizeof head, record.data(), record.size());
  header->tableUsed.store(used + sizeof head + record.size(), std::memory_order_release);
  const auto number = static_cast<uint32_t>(known.size() + 1);
  known.emplace(std::move(record), number);
  return number;
}

Recorder::CallSite Recorder::callSiteOf(Track &track, const Call &call, const Clique &members,
                                        std::string_view engine) {
  std::lock_guard lock(mutex);
  CallSite callSite;
  const uint32_t clique = add(cliques, bytesOf(members, engine));
  if (clique)
    callSite.site = add(sites, bytesOf(call, clique));
  auto [found, isNew] = track.progressOf.try_emplace(clique);
  callSite.progress = &found->second;
  if (isNew) {
    callSite.progress->position = &callSite.progress->spare;
    const uint32_t slot = track.ring->usedSlots.load(std::memory_order_relaxed);
    if (clique && slot < maxProgressSlots) {
      track.ring->slots[slot].clique.store(clique, std::memory_order_relaxed);
      callSite.progress->position = &track.ring->slots[slot].position;
      track.ring->usedSlots.store(slot + 1, std::memory_order_release);
    }
  }
  return callSite;
}

} // namespace tilewright::collective::record
