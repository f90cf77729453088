#include "tilewright/collective/record/Recording.h"
#include "tilewright/collective/record/Clock.h"
#include "tilewright/support/Concat.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace tilewright::collective::record {

namespace {

/// A source of bytes: a file that may change while it is read, or memory.
using Fetch = std::function<bool(void *to, size_t at, size_t size)>;

/// Reads the fields of a table record. Past the end it returns zeros, and isWhole() becomes false.
class Fields {
public:
  explicit Fields(std::string_view bytes) : rest(bytes) {}
  template <typename Number> Number number() {
    Number value{};
    if (rest.size() < sizeof value) {
      isShort = true;
      rest = {};
      return value;
    }
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return value;
  }
  std::string text() {
    const size_t size = number<uint16_t>();
    if (rest.size() < size) {
      isShort = true;
      return {};
    }
    std::string text(rest.substr(0, size));
    rest.remove_prefix(size);
    return text;
  }
  size_t left() const { return rest.size(); }
  bool isWhole() const { return !isShort && rest.empty(); }

private:
  std::string_view rest;
  bool isShort = false;
};

class Reader {
public:
  Reader(const Fetch &fetch, size_t size, std::string path, uint64_t newest)
      : fetch(fetch), size(size), newest(newest) {
    recording.path = std::move(path);
  }

  Result<Recording> read() {
    TILEWRIGHT_TRY(readHeader());
    TILEWRIGHT_TRY(readTable());
    for (uint32_t i = 0; i < rings; ++i)
      TILEWRIGHT_TRY(readRing(pageBytes + tableBytes + i * ringBytesOf(entries)));
    return std::move(recording);
  }

private:
  template <typename... Parts> Status damaged(const Parts &...parts) const {
    return Status(Error::recordingDamaged,
                  concat(recording.path, " ", parts...,
                         "; it was truncated, changed, or written by another version"));
  }
  Status get(void *to, size_t at, size_t bytes) const {
    return fetch(to, at, bytes) ? Status() : damaged("cannot be read at byte ", at);
  }

  template <size_t length> static std::string textOf(const char (&text)[length]) {
    return {text, strnlen(text, length)};
  }

  Status readHeader() {
    alignas(FileHeader) std::byte bytes[sizeof(FileHeader)];
    if (size < sizeof bytes)
      return damaged("has ", size, " bytes, but the header of a recording has ", sizeof bytes);
    TILEWRIGHT_TRY(get(bytes, 0, sizeof bytes));
    const auto &header = *reinterpret_cast<const FileHeader *>(bytes);
    if (std::memcmp(header.magic, fileMagic, sizeof fileMagic) != 0)
      return damaged("is not a recording");
    if (header.version != fileVersion)
      return damaged("has version ", header.version, ", but this build reads ", fileVersion);
    if (header.rings > maxRings || header.entries < 2 || header.entries > maxEntries ||
        !std::has_single_bit(header.entries))
      return damaged("has ", header.rings, " rings of ", header.entries,
                     " entries, expected at most ", maxRings,
                     " rings and a power of two from 2 to ", maxEntries);
    if (header.fileBytes != fileBytesOf(header.rings, header.entries) || size != header.fileBytes)
      return damaged("has ", size, " bytes, but its header specifies ", header.fileBytes,
                     " and its rings require ", fileBytesOf(header.rings, header.entries));
    if (header.jobRanks < 1 || header.jobRanks > int64_t(1) << 32 || header.processes < 1 ||
        header.process < 0 || header.process >= header.processes)
      return damaged("has an invalid header: process ", header.process, " of ", header.processes,
                     ", ", header.jobRanks, " ranks");
    rings = header.rings;
    entries = header.entries;
    tableUsed = header.tableUsed.load(std::memory_order_relaxed);
    recording.job = textOf(header.job);
    recording.host = textOf(header.host);
    recording.boot = textOf(header.boot);
    recording.command = textOf(header.command);
    recording.epoch = header.epoch;
    recording.process = header.process;
    recording.processes = header.processes;
    recording.jobRanks = header.jobRanks;
    recording.pid = header.pid;
    recording.pidStart = header.pidStart;
    recording.pidNamespace = header.pidNamespace;
    recording.ending = header.ending.load(std::memory_order_relaxed);
    if (recording.ending > Ending::failed)
      return damaged("has an unknown ending state");
    scale =
        TickScale(header.first, header.latest[header.isLatest.load(std::memory_order_relaxed) & 1]);
    recording.started = header.first.real;
    recording.toReal = scale.toReal();
    return Status();
  }

  /// Reads the table up to the first record with a wrong checksum, which is damaged or was being
  /// written. Entries that refer to later records have no description.
  Status readTable() {
    if (tableUsed > tableBytes)
      return damaged("has a table of ", tableUsed, " bytes, expected at most ", tableBytes);
    std::string table(tableUsed, 0);
    TILEWRIGHT_TRY(get(table.data(), pageBytes, table.size()));
    for (std::string_view rest = table; rest.size() >= sizeof(RecordHeader);) {
      RecordHeader head{};
      std::memcpy(&head, rest.data(), sizeof head);
      rest.remove_prefix(sizeof head);
      if (head.bytes > rest.size() || checkOf(rest.data(), head.bytes) != head.check)
        return Status();
      TILEWRIGHT_TRY(readRecord(rest.substr(0, head.bytes)));
      rest.remove_prefix(head.bytes);
    }
    return Status();
  }

  Status readRecord(std::string_view bytes) {
    Fields fields(bytes);
    const auto kind = fields.number<RecordKind>();
    if (kind == RecordKind::clique) {
      RecordedClique clique;
      clique.engine = fields.text();
      const auto runs = fields.number<uint32_t>();
      if (runs > fields.left() / (3 * sizeof(int64_t)))
        return damaged("has a clique with ", runs, " ranges, which exceed its record");
      for (uint32_t i = 0; i < runs; ++i) {
        const auto first = fields.number<int64_t>(), step = fields.number<int64_t>(),
                   count = fields.number<int64_t>();
        // Check the number of members before the last rank: jobRanks is at most 2^32 and maxMembers
        // 2^24, so the product then does not overflow.
        const int64_t most = recording.jobRanks;
        if (first < 0 || first >= most || count < 1 || count > most || step <= -most ||
            step >= most || allMembers + static_cast<uint64_t>(count) > maxMembers ||
            first + step * (count - 1) < 0 || first + step * (count - 1) >= most)
          return damaged("has a clique with ranks that are not in the job");
        allMembers += static_cast<uint64_t>(count);
        for (int64_t j = 0; j < count; ++j)
          clique.members.push_back(first + step * j);
      }
      if (!fields.isWhole() || clique.members.empty())
        return damaged("has a truncated clique");
      recording.cliques.push_back(std::move(clique));
      return Status();
    }
    if (kind != RecordKind::site)
      return damaged("has a table record of unknown kind ", static_cast<int>(kind));
    RecordedSite site;
    site.kind = fields.number<Kind>();
    site.clique = fields.number<uint32_t>() - 1; // 1-based in the file
    site.order = fields.number<uint32_t>();
    site.bytes = fields.number<uint64_t>();
    site.hash = fields.number<uint64_t>();
    site.name = fields.text();
    site.place = fields.text();
    site.tensor = fields.text();
    if (!fields.isWhole() || site.kind > Kind::barrier || site.clique >= recording.cliques.size())
      return damaged("has a collective that is truncated or names an unknown clique");
    recording.sites.push_back(std::move(site));
    return Status();
  }

  Status readRing(size_t at) {
    alignas(RingHeader) std::byte bytes[sizeof(RingHeader)];
    TILEWRIGHT_TRY(get(bytes, at, sizeof bytes));
    const auto &ring = *reinterpret_cast<const RingHeader *>(bytes);
    RecordedRank rank;
    rank.rank = ring.rank;
    rank.begun = ring.next.load(std::memory_order_relaxed);
    const uint32_t slots = ring.usedSlots.load(std::memory_order_relaxed),
                   failure = ring.failureBytes.load(std::memory_order_relaxed);
    if (rank.rank < 0 || rank.rank >= recording.jobRanks || slots > maxProgressSlots ||
        failure > maxFailureBytes)
      return damaged("has an invalid ring header: rank ", rank.rank, " of ", recording.jobRanks,
                     ", ", slots, " progress slots, failure text of ", failure, " bytes");
    for (const RecordedRank &other : recording.ranks)
      if (other.rank == rank.rank)
        return damaged("has two rings of rank ", rank.rank);
    for (uint32_t i = 0; i < slots; ++i) {
      const uint32_t clique = ring.slots[i].clique.load(std::memory_order_relaxed);
      if (clique >= 1 && clique <= recording.cliques.size())
        rank.progress.push_back(
            {clique - 1, ring.slots[i].position.load(std::memory_order_relaxed)});
    }
    rank.failure.assign(ring.failure, failure);
    TILEWRIGHT_TRY(readEntries(at + pageBytes, rank));
    // Drop the oldest entries, which may have been overwritten during the read.
    TILEWRIGHT_TRY(get(bytes, at, sizeof bytes));
    const uint64_t later = ring.next.load(std::memory_order_relaxed);
    std::erase_if(rank.entries, [&](const RecordedEntry &entry) {
      return later > entry.number && later - entry.number >= entries;
    });
    recording.ranks.push_back(std::move(rank));
    return Status();
  }

  Status readEntries(size_t at, RecordedRank &rank) {
    // Read one entry more than were begun, because a killed process may not have counted its last
    // entry.
    const uint64_t end = rank.begun + 1, count = std::min({end, entries, newest + 1});
    std::vector<std::byte> bytes(static_cast<size_t>(count) * sizeof(Entry));
    // Read entries in the order of their numbers; the ring wraps around at most once.
    const uint64_t from = end - count, start = from & (entries - 1),
                   head = std::min(count, entries - start);
    TILEWRIGHT_TRY(get(bytes.data(), at + start * sizeof(Entry), head * sizeof(Entry)));
    TILEWRIGHT_TRY(get(bytes.data() + head * sizeof(Entry), at, (count - head) * sizeof(Entry)));
    rank.entries.reserve(static_cast<size_t>(count));
    for (uint64_t i = 0; i < count; ++i) {
      std::array<uint32_t, 4> words;
      std::array<uint64_t, 2> times;
      std::memcpy(words.data(), bytes.data() + i * sizeof(Entry), sizeof words);
      std::memcpy(times.data(), bytes.data() + i * sizeof(Entry) + sizeof words, sizeof times);
      const auto [stamp, site, sequence, run] = words;
      RecordedEntry entry;
      entry.number = from + i;
      entry.state = static_cast<State>(stamp & ((1U << stateBits) - 1));
      const bool isWritten = stamp == stampOf(entry.number, entry.state) &&
                             entry.state >= State::started && entry.state <= State::failed;
      if (!isWritten || site == 0 || site > recording.sites.size()) {
        rank.unreadable += entry.number < rank.begun;
        continue;
      }
      entry.site = site - 1;
      entry.run = run;
      entry.sequence = sequence;
      entry.begin = scale.monotonicOf(times[0]);
      if (entry.state >= State::done)
        entry.end = std::max(entry.begin, scale.monotonicOf(times[1]));
      rank.entries.push_back(entry);
    }
    return Status();
  }

  static constexpr uint64_t maxMembers = uint64_t(1) << 24;
  const Fetch &fetch;
  const size_t size;
  const uint64_t newest;
  Recording recording;
  TickScale scale;
  uint32_t rings = 0;
  uint64_t entries = 0, tableUsed = 0, allMembers = 0;
};

} // namespace

std::string describe(const RecordedSite &site) {
  std::string text = concat("'", site.name, "' (", nameOf(site.kind));
  if (!site.tensor.empty())
    text += concat(" of ", site.tensor);
  text += concat(", ", site.bytes, " bytes)");
  return site.place.empty() ? text : concat(text, " at ", site.place);
}

Result<Recording> parseRecording(std::span<const std::byte> bytes, const std::string &path,
                                 uint64_t newestEntries) {
  const Fetch fetch = [&](void *to, size_t at, size_t size) {
    if (at > bytes.size() || size > bytes.size() - at)
      return false;
    if (size)
      std::memcpy(to, bytes.data() + at, size);
    return true;
  };
  return Reader(fetch, bytes.size(), path, newestEntries).read();
}

Result<Recording> readRecording(const std::string &path, uint64_t newestEntries) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status = {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    const int reason = errno;
    if (descriptor >= 0)
      close(descriptor);
    return Status(Error::recordingsMissing,
                  concat("cannot read ", path, ": ",
                         descriptor < 0 ? std::strerror(reason) : "it is not a file"));
  }
  // Read the file instead of mapping it: if it is truncated meanwhile, a read fails, but a mapping
  // would raise SIGBUS.
  const Fetch fetch = [&](void *to, size_t at, size_t size) {
    for (size_t done = 0; done < size;) {
      const ssize_t count = pread(descriptor, static_cast<char *>(to) + done, size - done,
                                  static_cast<off_t>(at + done));
      if (count <= 0)
        return false;
      done += static_cast<size_t>(count);
    }
    return true;
  };
  Result<Recording> recording =
      Reader(fetch, static_cast<size_t>(status.st_size), path, newestEntries).read();
  close(descriptor);
  return recording;
}

} // namespace tilewright::collective::record
