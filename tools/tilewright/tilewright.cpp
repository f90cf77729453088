// tilewright: the command line. Each subcommand is a file of its own.
#include "tilewright/support/Concat.h"
#include "tilewright/support/Trace.h"
#include "tilewright/vgpu/run/Run.h"
#include "tools/tilewright/Command.h"

#include <iostream>
#include <vector>

using namespace tilewright;
using namespace tilewright::tools;

static constexpr const Command *commands[] = {&compileCommand, &runCommand,     &printCommand,
                                              &optionsCommand, &explainCommand, &verifyCommCommand,
                                              &commCommand};

/// What the shell sees. The README and --help document it; scripts rely on it.
enum ExitCode {
  done = 0,
  otherFailure = 1,
  wrongUse = 2,
  badFile = 3,
  badArtifact = 4,
  badRun = 5,
  badProgram = 6,
  badOrder = 7
};

static ExitCode exitCodeOf(const Status &status) {
  if (status.isOk())
    return done;
  if (!status.error())
    return otherFailure;
  switch (*status.error()) {
  case Error::fileUnreadable:
  case Error::fileUnwritable:
  case Error::npyMalformed:
    return badFile;
  default:
    break;
  }
  std::string_view stage = stageOf(*status.error());
  if (stage == "tools")
    return wrongUse;
  if (stage == "import")
    return badArtifact;
  if (stage == "transform" || stage == "target")
    return badProgram;
  if (stage == "collective")
    return badOrder;
  return stage == "interpret" || stage == "runtime" ? badRun : otherFailure;
}

static void printHelp(std::ostream &out) {
  out << "tilewright: compiles StableHLO programs and runs them\n\n"
         "usage: tilewright COMMAND [ARGUMENTS]\n\ncommands:\n";
  for (const Command *command : commands) {
    std::string left = concat("  ", command->name);
    left.resize(15, ' ');
    out << left << command->summary << "\n";
  }
  out << "  vgpu         runs a program that needs a GPU on a virtual one, and checks its "
         "kernels\n";
  out << "\n`tilewright COMMAND --help` says more about one of them.\n\n"
         "Options, for every command (defaults shown; TILEWRIGHT_IMPORT_MAX_RANK=8 in the\n"
         "environment does the same as --import.max-rank=8):\n"
      << Options::help()
      << "\nexit codes:\n"
         "  0  done\n"
         "  1  failed in a way that has no code of its own\n"
         "  2  called wrongly: a flag, an option or an input does not fit\n"
         "  3  a file could not be read, understood or written\n"
         "  4  the artifact was refused (E1…)\n"
         "  5  the program could not be run, or judged itself wrong (E3…, E5…)\n"
         "  6  the program could not be compiled (E2…, E4…)\n"
         "  7  its ranks could wait for each other for ever, do, or do not fit together (E6…)\n";
}

static void printHelp(std::ostream &out, const Command &command) {
  out << "tilewright " << command.name << ": " << command.summary << "\n\nusage: tilewright "
      << command.name << " " << command.arguments << "\n\n"
      << describe(command.flags) << command.details;
}

/// Runs the command with a timeline of it, if one is asked for.
static Status run(const Command &command, const CommandLine &line) {
  const std::string path = line.last("trace", line.options().trace.file);
  if (path.empty())
    return command.run(line);
  trace::nameThread("main");
  trace::start();
  Status status = command.run(line);
  trace::stop();
  // Also of a command that failed: where its time went is worth as much.
  Status written = trace::write(path);
  return status.isOk() ? std::move(written) : std::move(status);
}

int main(int argc, char **argv) {
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "help") {
    printHelp(arguments.empty() ? std::cerr : std::cout);
    return arguments.empty() ? wrongUse : done;
  }
  // A program of its own, which needs no LLVM: what follows is the flags of another program.
  if (arguments[0] == "vgpu")
    return vgpu::run::runCommand(std::span(arguments).subspan(1));
  const Command *command = nullptr;
  for (const Command *candidate : commands)
    if (candidate->name == arguments[0])
      command = candidate;
  if (!command) {
    std::cerr << "tilewright has no command '" << arguments[0] << "'\n\n";
    printHelp(std::cerr);
    return wrongUse;
  }
  std::span rest = std::span(arguments).subspan(1);
  for (std::string_view argument : rest)
    if (argument == "--help") {
      printHelp(std::cout, *command);
      return done;
    }

  Result<CommandLine> line = CommandLine::parse(rest, command->flags);
  Status status = line.isOk() ? run(*command, *line) : std::move(line).takeStatus();
  if (!status.isOk())
    std::cerr << status.toString() << "\n";
  return exitCodeOf(status);
}
