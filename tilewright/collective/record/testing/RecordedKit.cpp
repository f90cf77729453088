// Conformance tests of engines wrapped in a flight recorder, which must not change their behaviour.
#include "tilewright/collective/conformance/Connect.h"
#include "tilewright/collective/local/LocalCollectives.h"
#include "tilewright/collective/record/RecordedEngine.h"
#include "tilewright/collective/shm/ShmEngine.h"

#include <cstdlib>
#include <filesystem>

namespace tilewright::collective::conformance {

namespace {

using record::RecordedEngine;
using record::Recorder;

/// Makes recorders for all ranks of a job in a temporary folder, which the destructor removes.
struct Watched {
  static Result<std::shared_ptr<Recorder>> recorderOf(int64_t ranks, const std::string &folder) {
    Recorder::Options options;
    options.folder = folder;
    options.jobRanks = ranks;
    options.ranks.clear();
    for (int64_t rank = 0; rank < ranks; ++rank)
      options.ranks.push_back(rank);
    options.entries = 64;
    return Recorder::create(options);
  }
  Watched() {
    char name[] = "/tmp/tilewright-recorded-XXXXXX";
    folder = mkdtemp(name);
  }
  ~Watched() { std::filesystem::remove_all(folder); }
  std::string folder;
};

class LocalJob final : public Job {
public:
  LocalJob(std::chrono::nanoseconds timeout, std::shared_ptr<Recorder> recorder)
      : recorded(std::make_unique<LocalCollectives>(timeout), std::move(recorder), "local") {}
  Engine &engine(int64_t rank) override { return recorded; }

private:
  RecordedEngine recorded;
};

class ShmJob final : public ConnectedJob<ShmJob, RecordedEngine> {};

} // namespace

const std::vector<Kit> &kits() {
  static const Watched watched;
  static const std::vector<Kit> all = {
      {"RecordedOneProcess",
       [](int64_t ranks, std::chrono::nanoseconds timeout) -> Result<std::unique_ptr<Job>> {
         TILEWRIGHT_ASSIGN(auto recorder, Watched::recorderOf(ranks, watched.folder));
         return std::unique_ptr<Job>(std::make_unique<LocalJob>(timeout, std::move(recorder)));
       }},
      {"RecordedSharedMemory",
       [](int64_t ranks, std::chrono::nanoseconds timeout) -> Result<std::unique_ptr<Job>> {
         TILEWRIGHT_ASSIGN(auto recorder, Watched::recorderOf(ranks, watched.folder));
         std::vector<int64_t> processOfRank;
         for (int64_t rank = 0; rank < ranks; ++rank)
           processOfRank.push_back(rank);
         TILEWRIGHT_ASSIGN(
             auto job,
             ShmJob::create(processOfRank,
                            [&](const Membership &membership,
                                KeyValueStore &store) -> Result<std::unique_ptr<RecordedEngine>> {
                              shm::ShmEngine::Options options;
                              options.timeout = timeout;
                              TILEWRIGHT_ASSIGN(
                                  auto engine, shm::ShmEngine::connect(membership, store, options));
                              return std::make_unique<RecordedEngine>(std::move(engine), recorder,
                                                                      "shm");
                            }));
         return std::unique_ptr<Job>(std::move(job));
       }}};
  return all;
}

} // namespace tilewright::collective::conformance
