#include "tools/tilewright-reduce/AgainstEvaluator.h"

#include "tilewright/driver/Compile.h"
#include "tilewright/runtime/cpu/CpuBackend.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/DeviceTensors.h"

#include <cstring>
#include <numeric>

using namespace tilewright::interpret;

namespace tilewright::tools {

Result<std::unique_ptr<AgainstEvaluator>> AgainstEvaluator::create(const Options &options) {
  auto judge = std::make_unique<AgainstEvaluator>();
  judge->options = options;
  for (int i = 0; i < 2; ++i) {
    runtime::ClientOptions client;
    client.runtime = options.runtime;
    client.runtime.threads = i + 1;
    TILEWRIGHT_ASSIGN(judge->clients[i], runtime::cpu::createClient(client));
  }
  return judge;
}

Result<std::string> AgainstEvaluator::runOnce(runtime::LoadedExecutable &program,
                                              const RuntimeValues &inputs,
                                              const std::vector<Bounded> &expected, bool given,
                                              Compared &compared) {
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
  for (size_t i = 0; i < results.size(); ++i) {
    TILEWRIGHT_ASSIGN(Tensor result, fetch(*results[i]));
    if (std::string difference = differenceFrom(expected[i], result, &compared);
        !difference.empty())
      return concat("result ", i, ": ", difference);
  }
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
  for (int threads = 1; threads <= 2; ++threads) {
    runtime::Client &client = *clients[threads - 1];
    auto loaded = client.load(executable, *client.defaultAssignment(1, 1));
    if (!loaded.isOk())
      return fails(Verdict::Kind::failed, std::move(loaded).takeStatus(), ", loading");
    for (bool given : {true, false})
      for (int round = 0; round < 2 && (donates || !given); ++round) {
        const std::string which = concat(", ", threads, threads == 1 ? " thread, " : " threads, ",
                                         given ? "inputs donated" : "inputs not donated",
                                         round ? ", second run" : ", first run");
        auto problem = runOnce(**loaded, inputs, expected, given, verdict.compared);
        ++verdict.runs;
        if (!problem.isOk())
          return fails(Verdict::Kind::failed, std::move(problem).takeStatus(), which);
        if (!problem->empty()) {
          verdict.kind = Verdict::Kind::differs;
          verdict.what = concat(way, which, ": ", *problem);
          return verdict;
        }
      }
  }
  return verdict;
}

Verdict AgainstEvaluator::check(mlir::ModuleOp module, const RuntimeValues &inputs) {
  auto expected = evaluateWithBounds(module, "main", inputs, Allowance::ours(), options.interpret);
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
