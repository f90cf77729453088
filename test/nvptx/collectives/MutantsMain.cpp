// Deletes or weakens every barrier, flag, memory order and scope of the collective kernels, one at
// a time, and counts how many of these mutants the virtual GPUs find.
//
//   CollectiveMutants [--kernel NAME] [--every N] [--verbose]
//
// A kernel runs three times on two devices, each time between kernels that write its operand and
// read its result, with all checks on, in the orders eager, latest and two random ones.
#include "test/nvptx/collectives/Team.h"
#include "test/vgpu/mutation/Mutate.h"

#include "tilewright/support/Concat.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;
using namespace tilewright::nvptx;
using numerics::CollectiveKind;
using numerics::ElementType;
using tile::CollectiveForm;
using tile::CollectiveKernel;
using vgpu::mutation::Mutant;

static constexpr int64_t ranks = 2;

namespace {
/// A kernel to mutate: a collective, or a product fused with one.
struct Subject {
  std::string name;
  CollectiveKernel collective;
  std::optional<tile::FusedProduct> fused;
  bool isGather = false;

  Result<GpuCode> compile() const {
    return fused ? compileFused(*fused, isGather) : compileCollective(collective);
  }
  std::string run(Team &team, const GpuCode &code) const {
    return fused ? team.runFused(*fused, isGather, code, 3)
                 : team.run(collective, code, 3, /*hasNeighbours=*/true);
  }
};
} // namespace

static std::vector<CollectiveKernel> collectives() {
  const auto make = [](std::string name, CollectiveKind kind, CollectiveForm form, int64_t count) {
    CollectiveKernel kernel;
    kernel.name = std::move(name);
    kernel.kind = kind;
    kernel.form = form;
    kernel.count = count;
    kernel.ranks = ranks;
    kernel.points = 2;
    return kernel;
  };
  std::vector<CollectiveKernel> all = {
      make("all_reduce_one_shot", CollectiveKind::allReduce, CollectiveForm::oneShot, 9000),
      make("all_reduce_direct", CollectiveKind::allReduce, CollectiveForm::direct, 2100),
      make("all_reduce_multicast", CollectiveKind::allReduce, CollectiveForm::multicast, 2100),
      make("all_gather_direct", CollectiveKind::allGather, CollectiveForm::direct, 1100),
      make("all_gather_multicast", CollectiveKind::allGather, CollectiveForm::multicast, 1100),
      make("reduce_scatter_direct", CollectiveKind::reduceScatter, CollectiveForm::direct, 1100),
      make("reduce_scatter_multicast", CollectiveKind::reduceScatter, CollectiveForm::multicast,
           1100),
      make("all_to_all", CollectiveKind::allToAll, CollectiveForm::direct, 1100),
      make("ragged_all_to_all", CollectiveKind::raggedAllToAll, CollectiveForm::direct, 40),
  };
  all.back().rowsIn = all.back().rowsOut = 64;
  all.back().slotRows = 4; // two rounds
  return all;
}

static std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const CollectiveKernel &kernel : collectives())
    all.push_back({kernel.name, kernel, std::nullopt});
  const tile::FusedProduct product{
      .ranks = ranks, .points = 2, .rows = 32, .depth = 32, .columns = 32};
  all.push_back({"all_gather_product", {}, product, true});
  all.push_back({"product_reduce_scatter", {}, product, false});
  return all;
}

/// The mutants that one device does not have: the scope of a device, a flag that is not set, a wait
/// that does not wait.
static void addMutants(const std::string &text, std::vector<Mutant> &mutants) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  auto add = [&](std::string what, size_t at, std::string now) {
    Mutant mutant{std::move(what), static_cast<uint32_t>(at + 1), lines[at], now, ""};
    for (size_t i = 0; i < lines.size(); ++i)
      mutant.text += (i == at ? now : lines[i]) + "\n";
    mutants.push_back(std::move(mutant));
  };
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string &line = lines[i];
    if (const size_t at = line.find(".sys."); at != std::string::npos) {
      std::string narrow = line;
      narrow.replace(at, 5, ".gpu.");
      add("scope of the device", i, narrow);
    }
    if (line.find("st.release") != std::string::npos ||
        line.find("red.release") != std::string::npos)
      add("delete flag", i, "");
    if (line.find("ld.acquire") != std::string::npos)
      for (size_t next = i + 1; next < std::min(i + 5, lines.size()); ++next)
        if (lines[next].find("bra ") != std::string::npos &&
            lines[next].find('@') != std::string::npos) {
          add("do not wait", next, "");
          break;
        }
  }
}

static bool accessesMemory(const std::string &line) {
  for (const char *name :
       {"ld.global", "st.global", "ld.acquire", "st.release", "multimem", "red."})
    if (line.find(name) != std::string::npos)
      return true;
  return false;
}

/// Why a mutant computes the same as the kernel on every machine; empty if it is harmful.
static std::string whyBenign(const std::string &text, const Mutant &mutant) {
  if (mutant.before.find("multimem.") != std::string::npos)
    return "barriers order the access of data, so it could even be weak";
  if (mutant.before.find("bar.sync") == std::string::npos)
    return "";
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  auto none = [&](size_t from, size_t to) {
    return std::none_of(lines.begin() + static_cast<std::ptrdiff_t>(from),
                        lines.begin() + static_cast<std::ptrdiff_t>(to), accessesMemory);
  };
  // A loop around the barrier would execute what precedes it after it, and the other way round:
  // then a branch behind it goes to a label before it.
  for (size_t i = mutant.line; i < lines.size(); ++i)
    if (const size_t at = lines[i].find("bra"); at != std::string::npos)
      if (const size_t label = lines[i].find('$', at); label != std::string::npos) {
        const std::string name = lines[i].substr(label, lines[i].find(';') - label) + ":";
        for (size_t before = 0; before + 1 < mutant.line; ++before)
          if (lines[before].find(name) != std::string::npos)
            return "";
      }
  // An arrival instead of the first barrier would count for the next one.
  if (none(0, mutant.line - 1) && mutant.now.empty())
    return "no access precedes the block's first barrier";
  if (none(mutant.line, lines.size()))
    return "no access follows the block's last barrier";
  return "";
}

namespace {
enum class Outcome : int { clean, wrong, reported, crashed };
}

/// Runs the kernel in a process of its own, in one order.
static Outcome runIn(const std::string &order, const Subject &subject, const GpuCode &code,
                     std::string &what) {
  const std::string report =
      (std::filesystem::temp_directory_path() / concat("collective-mutant-", getpid(), ".txt"))
          .string();
  std::filesystem::remove(report);
  int ends[2] = {};
  if (pipe(ends) != 0)
    std::abort();
  const pid_t child = fork();
  if (child == 0) {
    for (const auto &[name, value] :
         {std::pair("CHIP", std::string("sm_90a")), std::pair("DEVICES", std::string("2")),
          std::pair("CHECK", std::string("all")), std::pair("ORDER", order),
          std::pair("TIMEOUT", std::string("20")), std::pair("REPORT", report)})
      setenv(concat("TILEWRIGHT_VGPU_", name).c_str(), value.c_str(), 1);
    close(STDERR_FILENO);
    Result<std::unique_ptr<Team>> team = Team::make(ranks);
    std::string text = team.isOk() ? subject.run(**team, code) : "no team";
    (void)!write(ends[1], text.data(), text.size());
    _exit(text.empty() ? 0 : 1);
  }
  close(ends[1]);
  what.clear();
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    what.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const bool isReported = std::filesystem::exists(report);
  std::filesystem::remove(report);
  if (isReported)
    return Outcome::reported;
  if (!WIFEXITED(status))
    return Outcome::crashed;
  return WEXITSTATUS(status) == 0 ? Outcome::clean : Outcome::wrong;
}

int main(int count, char **arguments) {
  std::string only;
  size_t every = 1, index = 0;
  bool isVerbose = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word == "--kernel" && i + 1 < count)
      only = arguments[++i];
    else if (word == "--every" && i + 1 < count)
      every = static_cast<size_t>(std::max(1, std::atoi(arguments[++i])));
    else if (word == "--verbose")
      isVerbose = true;
  }
  struct Class {
    size_t reported = 0, wrong = 0, benign = 0, missed = 0;
  };
  std::map<std::string, Class> byClass;
  size_t all = 0, found = 0, benign = 0, failures = 0;
  for (const Subject &wanted : subjects()) {
    if (!only.empty() && wanted.name != only)
      continue;
    Result<GpuCode> code = wanted.compile();
    if (!code.isOk()) {
      std::cerr << std::move(code).takeStatus().toString() << "\n";
      return 1;
    }
    Result<std::string> text = vgpu::mutation::isolate(code->ptx, code->kernels.front().symbol);
    Result<std::vector<Mutant>> mutants = vgpu::mutation::mutate(
        *text, code->kernels.front().symbol, static_cast<uint32_t>(code->kernels.front().threads));
    addMutants(*text, *mutants);
    std::string what;
    for (const char *order : {"eager", "latest", "seed:3", "seed:4"}) {
      GpuCode original = *code;
      original.ptx = *text;
      if (runIn(order, wanted, original, what) != Outcome::clean) {
        std::cout << "FALSE POSITIVE " << wanted.name << " " << order << " " << what << "\n";
        ++failures;
      }
    }
    for (const Mutant &mutant : *mutants) {
      if (index++ % every != 0)
        continue;
      ++all;
      GpuCode changed = *code;
      changed.ptx = mutant.text;
      Class &row = byClass[mutant.mutation];
      Outcome outcome = Outcome::clean;
      for (const char *order : {"eager", "latest", "seed:3", "seed:4"})
        if (outcome = runIn(order, wanted, changed, what); outcome != Outcome::clean)
          break;
      std::string verdict = outcome == Outcome::reported ? "reported" : "wrong: " + what;
      const std::string reason = whyBenign(*text, mutant);
      if (outcome != Outcome::clean) {
        ++found;
        ++(outcome == Outcome::reported ? row.reported : row.wrong);
        if (!reason.empty()) {
          std::cout << "CONTRADICTION " << wanted.name << " line " << mutant.line
                    << ": found, though " << reason << "\n";
          ++failures;
        }
      } else if (!reason.empty()) {
        ++benign;
        ++row.benign;
        verdict = "benign: " + reason;
      } else {
        ++row.missed;
        verdict = "MISSED";
      }
      if (isVerbose || verdict == "MISSED")
        std::cout << wanted.name << " line " << mutant.line << ": " << mutant.mutation << ": "
                  << mutant.before << " -> " << mutant.now << ": " << verdict << std::endl;
    }
  }
  std::printf("%-30s %8s %8s %8s %8s\n", "mutation", "reported", "wrong", "benign", "missed");
  for (const auto &[name, row] : byClass)
    std::printf("%-30s %8zu %8zu %8zu %8zu\n", name.c_str(), row.reported, row.wrong, row.benign,
                row.missed);
  const size_t harmful = all - benign;
  std::printf("%zu mutants: %zu found, %zu benign, %zu missed (%.1f %% of the harmful found); %zu "
              "failures\n",
              all, found, benign, harmful - found,
              harmful ? 100.0 * static_cast<double>(found) / static_cast<double>(harmful) : 100.0,
              failures);
  return failures != 0 || static_cast<double>(found) < 0.98 * static_cast<double>(harmful);
}
