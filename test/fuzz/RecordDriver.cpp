// Fuzzes recordings of flight recorders: RecordDriver [RUNS [SEED]].
#include "test/fuzz/ArtifactMutator.h"
#include "tilewright/collective/record/Diagnosis.h"
#include "tilewright/collective/record/Recorder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace tilewright;
using namespace tilewright::collective;
using namespace tilewright::collective::record;
using fuzz::Random;

static void require(bool holds, const char *what, const std::string &detail = {}) {
  if (holds)
    return;
  std::fprintf(stderr, "the reader of recordings broke its word: %s %s\n", what, detail.c_str());
  std::abort();
}

/// The file of one of two processes, with two ranks, some cliques and a ring that has wrapped
/// around.
static std::string seedRecording(int64_t process, Random &random) {
  char folder[] = "/tmp/tilewright-fuzz-XXXXXX";
  require(mkdtemp(folder) != nullptr, "there is no folder");
  std::string bytes;
  {
    auto made = Recorder::create({.folder = folder,
                                  .job = "fuzz",
                                  .process = process,
                                  .processes = 2,
                                  .jobRanks = 4,
                                  .ranks = {2 * process, 2 * process + 1},
                                  .entries = 64});
    require(made.isOk(), "a recorder could not be made");
    const std::vector<std::vector<int64_t>> all;
    const std::vector<Clique> cliques = {{0, 1, 2, 3}, {2 * process, 2 * process + 1}};
    for (int64_t rank : {2 * process, 2 * process + 1}) {
      Track &track = *(*made)->trackOf(rank);
      for (uint64_t i = 40 + random.below(60); i > 0; --i) {
        Call call;
        call.groups = &all;
        call.order = static_cast<uint32_t>(random.below(3));
        call.kind = call.order == 2 ? Kind::barrier : Kind::allReduce;
        call.name = "all_reduce.0";
        call.place = "train.py:41";
        const Recorder::CallSite callSite =
            (*made)->callSiteOf(track, call, cliques[random.below(2)], "shm");
        const uint64_t number = track.begin(callSite.site, *callSite.progress, 1, State::waits);
        if (i > 1)
          track.end(number, !random.oneIn(20));
      }
      track.explain("it failed");
    }
    std::ifstream file((*made)->path(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::filesystem::remove_all(folder);
  return bytes;
}

/// Chooses a byte that matters: in the header, the used part of the table, ring headers or entries.
static size_t placeIn(const std::string &bytes, Random &random) {
  const size_t ring = pageBytes + tableBytes + random.below(2) * ringBytesOf(64);
  size_t at = 0;
  switch (random.below(4)) {
  case 0:
    at = random.below(sizeof(FileHeader));
    break;
  case 1:
    at = pageBytes + random.below(400);
    break;
  case 2:
    at = ring + random.below(96);
    break;
  case 3:
    at = ring + pageBytes + random.below(64 * sizeof(Entry));
    break;
  }
  return bytes.empty() ? 0 : at % bytes.size();
}

/// Recomputes the checksums of the table's records after a mutation.
static void repairTable(std::string &bytes) {
  if (bytes.size() < pageBytes + tableBytes)
    return;
  for (size_t at = pageBytes; at + sizeof(RecordHeader) < pageBytes + tableBytes;) {
    RecordHeader head;
    std::memcpy(&head, bytes.data() + at, sizeof head);
    at += sizeof head;
    if (head.bytes == 0 || head.bytes > pageBytes + tableBytes - at)
      return;
    head.check = checkOf(bytes.data() + at, head.bytes);
    std::memcpy(bytes.data() + at - sizeof head, &head, sizeof head);
    at += head.bytes;
  }
}

static std::string mutate(std::string bytes, Random &random) {
  if (random.oneIn(50)) {
    bytes.resize(random.below(bytes.size() + 1));
    return bytes;
  }
  for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
    const size_t at = placeIn(bytes, random);
    constexpr uint64_t known[] = {
        0, 1, 2, 127, 255, 65536, uint64_t(1) << 40, UINT64_MAX, uint64_t(INT64_MAX)};
    if (random.oneIn(2) && at + 8 <= bytes.size()) {
      const uint64_t value = known[random.below(std::size(known))];
      std::memcpy(bytes.data() + at / 8 * 8, &value, sizeof value);
    } else {
      bytes[at] = static_cast<char>(random.below(256));
    }
  }
  if (!random.oneIn(4))
    repairTable(bytes);
  return bytes;
}

/// Reads the bytes; if that works, explains them together with an undamaged recording.
static bool check(const std::string &bytes, const std::string &other) {
  const std::clock_t begin = std::clock();
  Result<Recording> recording =
      parseRecording(std::as_bytes(std::span(bytes)), "damaged", /*newestEntries=*/1024);
  const bool isRead = recording.isOk();
  if (isRead) {
    std::vector<Recording> both;
    both.push_back(*std::move(recording));
    both.push_back(*parseRecording(std::as_bytes(std::span(other)), "whole"));
    const JobView view(std::move(both));
    const Diagnosis diagnosis = diagnose(view, std::chrono::seconds(1));
    require(!toText(view, diagnosis, {}).empty() && !toJson(view, diagnosis, {}).empty(),
            "a diagnosis has no words");
    require(verdictOf(view, diagnosis).isOk() != diagnosis.isHung,
            "a verdict is not the diagnosis");
  } else {
    const Status status = std::move(recording).takeStatus();
    require(status.error() == Error::recordingDamaged, "a failure has another error",
            status.toString());
  }
  require(std::clock() - begin < 2 * CLOCKS_PER_SEC, "an input takes more than two seconds");
  return isRead;
}

int main(int argc, char **argv) {
  const uint64_t runs = argc > 1 ? std::stoull(argv[1]) : 20000,
                 seed = argc > 2 ? std::stoull(argv[2]) : 1;
  Random random(seed);
  uint64_t read = 0;
  std::string input, other;
  for (uint64_t run = 0; run < runs; ++run) {
    if (run % 500 == 0) {
      input = seedRecording(0, random);
      other = seedRecording(1, random);
      require(check(input, other), "a whole recording cannot be read");
    }
    std::string changed = mutate(input, random);
    if (check(changed, other)) {
      ++read;
      if (random.oneIn(3))
        input = std::move(changed);
    }
  }
  std::printf("%llu runs, %llu could be read\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(read));
  return 0;
}
