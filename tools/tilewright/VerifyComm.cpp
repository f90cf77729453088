// `tilewright verify-comm`: prints the order of all collectives, or the ranks that would deadlock.
#include "tilewright/plan/PlanBytes.h"
#include "tilewright/plan/Verify.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Number.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/CompileFile.h"
#include "tools/tilewright/input/Files.h"
#include "tools/tilewright/pictures/CommPicture.h"

#include <iostream>

namespace tilewright::tools {
namespace {

constexpr Flag verifyCommFlags[] = {
    {"mesh", "data=2,model=4",
     "the ranks as a grid, outermost axis first (default: the program's own)"},
    {"instances", "",
     "simulate every exchange of every rank, even if the order of the program is proof enough"},
    {"picture", "FILE.svg",
     "draw which ranks communicate when, and in red which ranks wait for each other"},
    targetFlag,
    traceFlag,
};

Result<std::vector<std::pair<std::string, int64_t>>> parseMesh(const std::string &text) {
  std::vector<std::pair<std::string, int64_t>> axes;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view axis = rest.substr(0, comma);
    const size_t equals = axis.find('=');
    const int64_t size = equals == 0 || equals == std::string_view::npos
                             ? 0
                             : numberIn<int64_t>(axis.substr(equals + 1)).value_or(0);
    if (size < 1 || size > int64_t(1) << 24)
      return Status(
          Error::flagValue,
          concat("--mesh expects axes with sizes, such as data=2,model=4, got '", text, "'"));
    axes.push_back({std::string(axis.substr(0, equals)), size});
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return axes;
}

Result<artifact::Executable> readOrCompile(const std::string &path, const CommandLine &line) {
  TILEWRIGHT_ASSIGN(auto mesh, parseMesh(line.last("mesh")));
  TILEWRIGHT_ASSIGN(std::optional<artifact::Executable> compiled,
                    readIfExecutable(path, line.options()));
  if (compiled && !mesh.empty())
    return Status(
        Error::commandUsage,
        concat(
            path,
            " is an executable, which already has a mesh; --mesh is supported only for programs"));
  if (compiled)
    return *std::move(compiled);
  Options options = optionsOf(line);
  options.compile.verifyComm = false; // this command proves it itself, with more detailed output
  driver::CompileReport report;
  return compileFile(path, options, report, /*wantsRemarks=*/false, std::move(mesh));
}

Status verifyComm(const CommandLine &line) {
  TILEWRIGHT_ASSIGN(std::string path, onlyFile(line, "verify-comm"));
  TILEWRIGHT_ASSIGN(artifact::Executable executable, readOrCompile(path, line));
  if (executable.communication.empty()) {
    std::cout << path << " is for " << counted(executable.replicas * executable.partitions, "rank")
              << " and has no collectives: no rank waits for another\n";
    return Status();
  }
  TILEWRIGHT_ASSIGN(collective::CommPlan plan, collective::readPlan(executable.communication));
  collective::VerifyOptions options;
  options.runsInstances = line.has("instances");
  TILEWRIGHT_ASSIGN(auto verdict, collective::verify(plan, options));
  if (std::string picture = line.last("picture"); !picture.empty()) {
    const std::string drawn = communicationPicture(plan, verdict);
    TILEWRIGHT_TRY(writeFile(picture, {std::as_bytes(std::span(drawn))}));
  }
  if (const auto *found = std::get_if<collective::Counterexample>(&verdict))
    return collective::toStatus(plan, *found);
  std::cout << describe(plan, std::get<collective::Proof>(verdict)) << "plan      "
            << toString(fingerprintOf(plan)) << ", " << executable.communication.size()
            << " bytes\n";
  return Status();
}

} // namespace

const Command verifyCommCommand{
    "verify-comm",
    "FILE [--mesh=data=2,model=4] [--instances] [--picture=FILE.svg]",
    "proves that the collectives of a program cannot deadlock, or shows which ranks do",
    "\nFILE is a StableHLO portable artifact, MLIR text, or an executable (.twx). For a program,\n"
    "--mesh or the module (mhlo.num_partitions, mhlo.num_replicas) sets the number of ranks, and\n"
    "--mesh or the module's sdy.mesh sets the axes.\n\n"
    "It prints the proof: the mesh, the communicators (cliques), the loops and branches around\n"
    "collectives with the values they depend on, and the collectives in the order that all ranks\n"
    "share, each with its source line. Or, with exit code 7, the smallest counterexample:\n\n"
    "  E6015  a loop or branch around a collective may diverge between ranks\n"
    "  E6016  a rank never reaches a collective that another rank waits in\n"
    "  E6017  ranks call the collectives of a communicator in different orders\n"
    "  E6018  ranks wait for each other in a cycle\n\n"
    "`tilewright compile` performs the same check and rejects such a program\n"
    "(--compile.verify-comm=false compiles it without this check).\n\n"
    "  tilewright verify-comm step.mlirbc\n"
    "  tilewright verify-comm step.mlir --mesh=data=4,model=2 --picture=step.svg\n",
    verifyCommFlags,
    verifyComm};

} // namespace tilewright::tools
