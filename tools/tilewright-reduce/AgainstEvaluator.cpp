#include "tools/tilewright-reduce/AgainstEvaluator.h"

#include "tilewright/driver/Compile.h"
#include "tilewright/runtime/cpu/CpuBackend.h"
#include "tilewright/runtime/cuda/CudaBackend.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/TargetName.h"
#include "tools/tilewright/DeviceTensors.h"

#include <cstring>
#include <numeric>

using namespace tilewright::interpret;

namespace tilewright::tools {

Result<std::unique_ptr<AgainstEvaluator>> AgainstEvaluator::create(const Options &options) {
  auto judge = std::make_unique<AgainstEvaluator>();
  judge->options = options;
  const TargetName target = TargetName::of(options.compile.target);
  judge->isGpu = target.isGpu();
  if (!judge->isGpu) {
    for (int threads = 1; threads <= 2; ++threads) {
      runtime::ClientOptions client;
      client.runtime = options.runtime;
      client.runtime.threads = threads;
      TILEWRIGHT_ASSIGN(auto made, runtime::cpu::createClient(client));
      judge->clients.push_back({threads == 1 ? "1 thread" : "2 threads", std::move(made)});
    }
    return judge;
  }
  if (target.machine == TargetName::Machine::virtualGpu)
    judge->findings = std::make_unique<VirtualGpuFindings>();
  TILEWRIGHT_ASSIGN(runtime::cuda::DriverOptions driver,
                    runtime::cuda::driverOptionsOf(options.compile.target));
  runtime::ClientOptions client;
  client.runtime = options.runtime;
  TILEWRIGHT_ASSIGN(auto made, runtime::cuda::createClient(client, driver));
  judge->options.compile.target = runtime::cuda::targetFor(options.compile.target, *made);
  judge->clients.push_back({judge->options.compile.target, std::move(made)});
  return judge;
}

Result<std::string> AgainstEvaluator::runOnce(runtime::LoadedExecutable &program,
                                              const RuntimeValues &inputs,
                                              const std::vector<Bounded> &expected, bool given,
                                              std::string *bits, Compared &compared) {
  runtime::Memory &memory = program.addressableDevices().front()->defaultMemory();
  TILEWRIGHT_ASSIGN(const auto owned, toDevice(inputs, memory));
  const std::vector<runtime::Buffer *> arguments = pointersTo(owned);
  std::vector<int64_t> all(inputs.size());
  std::iota(all.begin(), all.end(), 0);
  runtime::ExecuteOptions how;
  if (!given)
    how.nonDonatable = all;
  const std::span<runtime::Buffer *const> forDevice[] = {arguments};
  TILEWRIGHT_ASSIGN(runtime::Execution execution, program.execute(forDevice, how));
  auto fetch = [](runtime::Buffer &buffer) -> Result<Tensor> {
    Context context;
    return toTensor(buffer, context);
  };
  TILEWRIGHT_TRY(execution.done.front().await());
  const auto &results = execution.results.front();
  if (results.size() != expected.size())
    return concat("got ", results.size(), " results, expected ", expected.size());
  std::string now;
  for (size_t i = 0; i < results.size(); ++i) {
    TILEWRIGHT_ASSIGN(Tensor result, fetch(*results[i]));
    if (bits)
      now.append(reinterpret_cast<const char *>(result.data()),
                 static_cast<size_t>(result.byteCount()));
    if (std::string difference = differenceFrom(expected[i], result, &compared);
        !difference.empty())
      return concat("result ", i, ": ", difference);
  }
  if (bits && bits->empty())
    *bits = std::move(now);
  else if (bits && *bits != now)
    return std::string("the results have other bits than those of the run before");
  // An input that was not donated still belongs to the caller and must be unchanged.
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (owned[i]->isDeleted()) {
      if (!given)
        return concat("input ", i, " was deleted, although it was not donated");
      continue;
    }
    TILEWRIGHT_ASSIGN(Tensor after, fetch(*owned[i]));
    if (std::memcmp(after.data(), inputs[i].tensor().data(),
                    static_cast<size_t>(after.byteCount())) != 0)
      return concat("input ", i, " was modified, although its memory was not reused");
  }
  return std::string();
}

Verdict AgainstEvaluator::checkWay(mlir::ModuleOp module, const RuntimeValues &inputs,
                                   const std::vector<Bounded> &expected, bool folds) {
  const std::string way = folds ? "folded" : "not folded";
  Verdict verdict;
  auto fails = [&](Verdict::Kind kind, Status status, const std::string &when) {
    verdict.kind = kind;
    verdict.error = status.error();
    verdict.what = concat(way, when, ": ", status.toString());
    return verdict;
  };
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  driver::CompileRequest request;
  request.options = options;
  request.options.runtime.threads = 2;
  if (!folds)
    request.options.simplify.maxFoldElements = 0;
  Result<artifact::Executable> compiled = Status(Code::internal, "not compiled");
  driver::runOnLargeStack([&] { compiled = driver::compile(*copy, request); });
  if (!compiled.isOk())
    return fails(Verdict::Kind::refused, std::move(compiled).takeStatus(), ", compiling");
  auto executable = std::make_shared<const artifact::Executable>(*std::move(compiled));
  for (const NamedClient &each : clients) {
    auto loaded = each.client->load(executable, *each.client->defaultAssignment(1, 1));
    if (!loaded.isOk())
      return fails(Verdict::Kind::failed, std::move(loaded).takeStatus(), ", loading");
    runWays(**loaded, concat(way, ", ", each.name), inputs, expected, verdict);
    if (verdict.kind != Verdict::Kind::agrees)
      break;
  }
  return verdict;
}

void AgainstEvaluator::runWays(runtime::LoadedExecutable &program, const std::string &name,
                               const RuntimeValues &inputs, const std::vector<Bounded> &expected,
                               Verdict &verdict) {
  for (bool given : {true, false}) {
    std::string bits;
    for (int round = 0; round < 2 && (donates || !given); ++round) {
      // The virtual GPU is slow, so run only once with donated inputs, whose memory is reused.
      if (isGpu && given && round)
        break;
      const std::string which = concat(name, given ? ", inputs donated" : ", inputs not donated",
                                       round ? ", second run: " : ", first run: ");
      auto problem =
          runOnce(program, inputs, expected, given, isGpu ? &bits : nullptr, verdict.compared);
      ++verdict.runs;
      // The findings are more informative than the failure or the difference that they cause.
      const std::string found = findings ? findings->takeNew() : std::string();
      const bool ran = problem.isOk();
      if (ran && problem->empty() && found.empty())
        continue;
      verdict.kind = !found.empty() ? Verdict::Kind::reported
                     : ran          ? Verdict::Kind::differs
                                    : Verdict::Kind::failed;
      verdict.what = which + found;
      if (ran) {
        verdict.what += *problem;
        return;
      }
      Status status = std::move(problem).takeStatus();
      verdict.error = status.error();
      verdict.what += status.toString();
      return;
    }
  }
}

Verdict AgainstEvaluator::check(mlir::ModuleOp module, const RuntimeValues &inputs) {
  auto expected =
      evaluateWithBounds(module, "main", inputs,
                         isGpu ? Allowance::tensorCores() : Allowance::ours(), options.interpret);
  Verdict verdict;
  if (!expected.isOk()) {
    Status status = std::move(expected).takeStatus();
    verdict.kind = Verdict::Kind::unjudged;
    verdict.error = status.error();
    verdict.what = status.toString();
    return verdict;
  }
  for (bool folds : {true, false}) {
    Verdict way = checkWay(module, inputs, *expected, folds);
    way.compared += verdict.compared;
    way.runs += verdict.runs;
    if (way.kind != Verdict::Kind::agrees)
      return way;
    verdict = std::move(way);
  }
  return verdict;
}

} // namespace tilewright::tools
