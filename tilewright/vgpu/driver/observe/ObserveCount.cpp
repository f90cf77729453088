#include "tilewright/vgpu/driver/observe/ObserveCount.h"

#include "tilewright/vgpu/count/Counter.h"
#include "tilewright/vgpu/driver/observe/Files.h"

#include <cstdio>

namespace tilewright::vgpu::driver {

namespace {
class Counting final : public Observation {
public:
  explicit Counting(const LaunchFacts &facts)
      : counter({.hasTimeline = !facts.counts.empty()}),
        stem(facts.counts.empty() ? "" : makeStem(facts).string()) {}

  machine::Observer &observer() override { return counter; }

  Status finished(Status status) override {
    // A launch that was rejected has no counts.
    if (counter.report().kernel.empty())
      return status;
    if (stem.empty()) {
      std::fputs(counter.report().toText().c_str(), stderr);
      return status;
    }
    writeFile(stem + ".counts.txt", counter.report().toText());
    writeFile(stem + ".counts.json", counter.report().toJson());
    writeFile(stem + ".trace.json", counter.timeline());
    return status;
  }

private:
  count::Counter counter;
  const std::string stem; // of the files; empty: print the table
};
} // namespace

std::unique_ptr<Observation> startCounting(const LaunchFacts &facts) {
  return std::make_unique<Counting>(facts);
}

} // namespace tilewright::vgpu::driver
