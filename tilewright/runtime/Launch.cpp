#include "tilewright/runtime/Launch.h"
#include "tilewright/runtime/Client.h"
#include "tilewright/runtime/Storage.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"

#include <chrono>

namespace tilewright::runtime {

/// Allocates memory for a result. Programs in flight may hold memory that they will soon free, so
/// if the allocation fails, waits for them and tries once more.
static Result<Allocator::Block> allocateResult(Client &client, const Memory &memory, size_t bytes,
                                               const Label &label) {
  Result<Allocator::Block> block = memory.allocate(bytes, label);
  if (block.isOk() || Stream::isInsideAny())
    return block;
  client.drain();
  return memory.allocate(bytes, label);
}

static Status deletedArgument(size_t index, const std::string &program) {
  return Status(Error::bufferDeleted,
                concat("argument ", index, " of '", program,
                       "' was deleted or donated; keep a copy, or do not donate it"));
}

Result<std::shared_ptr<Storage>> LoadedExecutable::makeResult(size_t local, size_t i) {
  const Facts::ResultFacts &result = facts->results[i];
  Label label = {"result", result.type, facts->name, static_cast<int64_t>(i)};
  TILEWRIGHT_ASSIGN(Allocator::Block block,
                    allocateResult(client, *result.memories[local], result.bytes, label));
  return std::make_shared<Storage>(std::move(block));
}

Result<std::shared_ptr<LoadedExecutable::Launch>>
LoadedExecutable::makeLaunch(size_t local, std::span<Buffer *const> arguments,
                             const std::vector<bool> &isDonated) {
  auto launch = std::make_shared<Launch>();
  launch->local = local;
  launch->storages.resize(arguments.size() + facts->results.size());
  launch->pointers.reserve(launch->storages.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::shared_ptr<Storage> storage = arguments[i]->hold();
    if (!storage)
      return deletedArgument(i, program->name);
    launch->pointers.push_back(storage->data());
    launch->storages[i] = std::move(storage);
    const Event &definition = arguments[i]->definition();
    if (!definition.isReady() || definition.isFailed()) {
      const bool isQueuedBefore = arguments[i]->inOrder && client.backend().isStreamOrdered();
      (isQueuedBefore ? launch->inherited : launch->waits).push_back(definition);
    }
  }

  const std::span results = std::span(launch->storages).subspan(arguments.size());
  for (size_t i = 0; i < facts->results.size(); ++i) {
    const artifact::Index alias = program->results[i].aliasOf;
    if (alias == artifact::none || !isDonated[alias]) {
      TILEWRIGHT_ASSIGN(results[i], makeResult(local, i));
    }
  }

  return launch;
}

Status LoadedExecutable::donate(Launch &launch, std::span<Buffer *const> arguments,
                                const std::vector<bool> &isDonated) {
  const std::span results = std::span(launch.storages).subspan(arguments.size());
  for (size_t i = 0; facts->hasDonation && i < arguments.size(); ++i) {
    if (!isDonated[i])
      continue;
    bool isOurs = false;
    std::shared_ptr<Storage> storage = arguments[i]->takeForDonation(isOurs);
    if (!storage)
      return deletedArgument(i, program->name); // another thread released or donated it first
    if (!isOurs)
      continue;
    if (Event unread = storage->whenUnread(); !unread.isReady())
      launch.waits.push_back(unread);
    for (size_t r = 0; r < facts->results.size(); ++r)
      if (program->results[r].aliasOf == i)
        results[r] = std::make_shared<Storage>(storage);
  }
  for (size_t r = 0; r < facts->results.size(); ++r) {
    if (!results[r]) { // donated, but an external reference remains
      TILEWRIGHT_ASSIGN(results[r], makeResult(launch.local, r));
    }
    const artifact::Index alias = program->results[r].aliasOf;
    if (alias != artifact::none && results[r]->data() != launch.pointers[alias]) {
      launch.pointers[alias] = results[r]->data();
      launch.copies.push_back({alias, facts->results[r].bytes});
    }
    launch.pointers.push_back(results[r]->data());
  }
  return Status();
}

/// This function and those below run as the stream's current task. Does not touch `promise`.
Event LoadedExecutable::Launch::start() {
  Result<Event> result = run();
  Event own = result.isOk() ? *std::move(result) : Event::failed(std::move(result).takeStatus());
  if (deviceRun)
    own = deviceRun->endOf(executable->rankOf(local), own);
  if (inherited.empty())
    return own;
  inherited.push_back(std::move(own));
  return Event::all(inherited);
}

Status LoadedExecutable::Launch::takeArenas() {
  LoadedExecutable &self = *executable;
  Device &device = *self.localDevices[local];
  for (uint8_t space = 0; space < 2; ++space) {
    const auto bytes = static_cast<size_t>(self.program->arenaBytes[space]);
    // Remove the arena from the device while a run starts: a nested run must not use the same
    // memory.
    std::shared_ptr<Allocator::Block> before = device.arenas[space].lock();
    device.arenas[space].reset();
    if (bytes == 0)
      continue;
    if (before && before->size() >= bytes) {
      arenas[space] = std::move(before);
      continue;
    }
    TILEWRIGHT_ASSIGN(
        Allocator::Block block,
        device.memories()[space]->allocate(bytes, {"temporaries", nullptr, self.facts->name}));
    arenas[space] = std::make_shared<Allocator::Block>(std::move(block));
  }
  return Status();
}

/// The caller may free memory if this fails, so it waits for copies in flight first.
Result<Event> LoadedExecutable::Launch::run() {
  Result<Event> done = submit();
  if (!done.isOk() && !copies.empty())
    executable->client.backend().awaitCopiesInOrder(*executable->localDevices[local]);
  return done;
}

Result<Event> LoadedExecutable::Launch::submit() {
  for (const Event &event : waits)
    TILEWRIGHT_TRY(event.await());
  for (const Event &event : inherited)
    if (event.isFailed())
      return event.status();
  LoadedExecutable &self = *executable;
  trace::Span span("program", self.program->name);
  Device &device = *self.localDevices[local];
  for (const Copy &copy : copies)
    TILEWRIGHT_TRY(self.client.backend().copyInOrder(device, pointers[copy.parameter],
                                                     storages[copy.parameter]->data(), copy.bytes,
                                                     self.client.threadPool()));

  const size_t parameterCount = self.program->parameters.size();
  ProgramRun run{std::span(pointers).first(parameterCount),
                 std::span(pointers).subspan(parameterCount),
                 {nullptr, nullptr},
                 self.client.threadPool()};
  TILEWRIGHT_TRY(takeArenas());
  for (uint8_t space = 0; space < 2; ++space)
    run.arenas[space] = arenas[space] ? arenas[space]->data() : nullptr;
  run.replica = self.localIds[local].replica;
  run.partition = self.localIds[local].partition;
  run.device = &device;
  run.runId = runId;
  run.communicator = communicator.get();
  run.local = local;
  if (deviceRun) {
    run.ranks = &deviceRun->ranks();
    TILEWRIGHT_TRY(deviceRun->begin(self.rankOf(local)));
  }
  run.userContext = userContext;

  const auto begin = std::chrono::steady_clock::now();
  Result<Event> done = code->run(run);
  const int64_t took = (std::chrono::steady_clock::now() - begin).count();
  // Decrease the estimate at once and increase it slowly: a run that was interrupted says little
  // about the next.
  const int64_t before = self.measured.load(std::memory_order_relaxed);
  self.measured.store(before < 0 || took < before ? took : before + (took - before) / 4,
                      std::memory_order_relaxed);
  if (!done.isOk())
    return std::move(done).takeStatus().during(
        concat("running '", self.program->name, "' on ", device.toString()));
  for (uint8_t space = 0; space < 2 && !done->isReady(); ++space)
    device.arenas[space] = arenas[space];
  return done;
}

/// Frees all memory before it completes the promise, so that a waiting thread can allocate it.
void LoadedExecutable::Launch::finish(Status status) {
  if (communicator) {
    if (!status.isOk())
      communicator->abandon(status);
    communicator.reset();
  }
  deviceRun.reset();
  waits.clear();
  inherited.clear();
  storages.clear();
  for (std::shared_ptr<Allocator::Block> &arena : arenas)
    arena.reset();
  code.reset();
  if (promise)
    promise->complete(std::move(status));
}

} // namespace tilewright::runtime
