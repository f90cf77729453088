// tilewright: the command line. Each subcommand has its own file.
#include "tools/tilewright/Main.h"

#include "tilewright/support/Concat.h"
#include "tilewright/support/OptionNames.h"
#include "tilewright/support/Trace.h"
#include "tilewright/support/Version.h"
#include "tilewright/support/WorkLimit.h"
#include "tilewright/support/text/Suggest.h"
#include "tilewright/vgpu/run/Run.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/ExitCode.h"

#include "llvm/Config/llvm-config.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <unistd.h>
#include <vector>

namespace tilewright::tools {
namespace {

constexpr const Command *commands[] = {
    &compileCommand, &runCommand,        &printCommand,   &explainCommand, &reportCommand,
    &commCommand,    &verifyCommCommand, &predictCommand, &tuneCommand,    &optionsCommand};

constexpr std::string_view vgpuName = "vgpu",
                           vgpuSummary =
                               "runs a program that needs a GPU on a virtual one, and checks its "
                               "kernels";

void printCommands(std::ostream &out) {
  auto row = [&](std::string_view name, std::string_view summary) {
    std::string left = concat("  ", name);
    left.resize(15, ' ');
    out << left << summary << "\n";
  };
  for (const Command *command : commands)
    row(command->name, command->summary);
  row(vgpuName, vgpuSummary);
}

/// A help text that fits on a screen.
void printHelp(std::ostream &out) {
  out << "tilewright: compiles StableHLO programs, runs them and explains the result\n\n"
         "usage: tilewright COMMAND [ARGUMENTS]\n\n";
  printCommands(out);
  out << "\n  tilewright COMMAND --help   flags and examples of a command\n"
         "  tilewright --help-all       options and exit codes, too\n"
         "  tilewright explain E2104    what an error means, and what to do\n"
         "  tilewright --version\n";
}

void printHelpAll(std::ostream &out) {
  printHelp(out);
  out << "\nOptions, for every command (defaults shown; TILEWRIGHT_IMPORT_MAX_RANK=8 in the\n"
         "environment does the same as --import.max-rank=8; `tilewright options NAME` says more):\n"
      << Options::help() << "\nexit codes:\n"
      << exitCodeTable();
}

void printHelp(std::ostream &out, const Command &command) {
  out << "tilewright " << command.name << ": " << command.summary << "\n\nusage: tilewright "
      << command.name << " " << command.arguments << "\n\n"
      << describe(command.flags) << command.details
      << (command.flags.empty() ? ""
                                : "\n`tilewright options` lists the options that every "
                                  "command takes, as --import.max-rank=8.\n");
}

void printVersion(std::ostream &out) {
  out << "tilewright " << version() << "\n  LLVM " << LLVM_VERSION_STRING
      << ", StableHLO 0.9 to 1.20, PTX for sm_80 to sm_90a\n";
}

/// Runs the command and records a timeline if the user asked for one.
Status run(const Command &command, const CommandLine &line) {
  const std::string path = line.last("trace", line.options().trace.file);
  if (path.empty())
    return command.run(line);
  trace::nameThread("main");
  trace::start();
  Status status = command.run(line);
  trace::stop();
  // Also write the timeline of a failed command, because the user may want to know where its time
  // went.
  Status written = trace::write(path);
  return status.isOk() ? std::move(written) : std::move(status);
}

const Command *commandNamed(std::string_view name) {
  for (const Command *candidate : commands)
    if (candidate->name == name)
      return candidate;
  return nullptr;
}

ExitCode fail(const Status &status) {
  std::cout << std::flush;
  std::cerr << status.toString() << "\n";
  return exitCodeOf(status);
}

ExitCode refuse(std::string_view name) {
  std::vector<std::string> names;
  for (const Command *command : commands)
    names.emplace_back(command->name);
  names.emplace_back(vgpuName);
  std::string known;
  for (const std::string &one : names)
    known += concat(known.empty() ? "" : ", ", one);
  return fail(Status(Error::commandUsage,
                     concat("unknown command '", name, "'", didYouMean(name, names),
                            " (the commands are ", known, "; see `tilewright --help`)")));
}

} // namespace

int runCommandLine(int argc, char **argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  auto is = [](std::string_view word, auto... names) { return ((word == names) || ...); };
  if (arguments.empty()) {
    printHelp(std::cerr);
    return wrongUse;
  }
  if (is(arguments[0], "--help-all")) {
    printHelpAll(std::cout);
    return done;
  }
  if (is(arguments[0], "--version", "version")) {
    printVersion(std::cout);
    return done;
  }
  if (is(arguments[0], "--help", "-h", "help")) {
    const Command *command = arguments.size() > 1 ? commandNamed(arguments[1]) : nullptr;
    if (command)
      printHelp(std::cout, *command);
    else if (arguments.size() > 1 && arguments[1] != vgpuName)
      return refuse(arguments[1]);
    else
      printHelp(std::cout);
    return done;
  }
  for (const std::string &warning : misspeltVariables(environ))
    std::cerr << "tilewright: " << warning << "\n";
  // `vgpu` does not need LLVM. Its arguments contain the command line of another program, so they
  // are not parsed here.
  if (arguments[0] == vgpuName)
    return vgpu::run::runCommand(std::span(arguments).subspan(1));
  const Command *command = commandNamed(arguments[0]);
  if (!command)
    return refuse(arguments[0]);
  const std::span rest = std::span(arguments).subspan(1);
  for (std::string_view argument : rest)
    if (is(argument, "--help", "-h")) {
      printHelp(std::cout, *command);
      return done;
    }

  Result<CommandLine> line = CommandLine::parse(rest, command->flags);
  Status status = line.isOk() ? run(*command, *line) : std::move(line).takeStatus();
  const int code = status.isOk() ? done : fail(status);
  // Exiting normally would wait for a thread that cannot be interrupted and whose result is not
  // needed.
  if (leftAlone() > 0) {
    std::cout.flush();
    std::_Exit(code);
  }
  return code;
}

} // namespace tilewright::tools
