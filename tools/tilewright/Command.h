// The subcommands of `tilewright` and their shared functions.
#ifndef TOOLS_TILEWRIGHT_COMMAND_H
#define TOOLS_TILEWRIGHT_COMMAND_H

#include "tilewright/predict/Cluster.h"
#include "tilewright/support/Options.h"
#include "tilewright/support/Status.h"
#include "tools/tilewright/CommandLine.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <span>
#include <string>
#include <string_view>

namespace tilewright::tools {

/// One subcommand: `tilewright NAME …`.
struct Command {
  std::string_view name;
  std::string_view arguments; ///< as the usage line shows them
  std::string_view summary;   ///< one line for the list of commands
  std::string_view details;   ///< what --help says below the flags
  std::span<const Flag> flags;
  Status (*run)(const CommandLine &line);
};

extern const Command compileCommand;
extern const Command runCommand;
extern const Command printCommand;
extern const Command optionsCommand;
extern const Command explainCommand;
extern const Command verifyCommCommand;
extern const Command commCommand;
extern const Command reportCommand;
extern const Command predictCommand;
extern const Command tuneCommand;

/// The flag of commands that compile or run; main() writes the trace.
inline constexpr Flag traceFlag{
    "trace", "FILE", "write a timeline for ui.perfetto.dev: stages, kernels, threads, memory"};

/// The flag of commands that compile; short for --compile.target.
inline constexpr Flag targetFlag{"target", "CHIP",
                                 "the machine to compile for: a CPU (x86-64-v4), a GPU (sm_90a), a "
                                 "GPU in software (vgpu:sm_90a)"};
/// The options of a command line, including --target.
inline Options optionsOf(const CommandLine &line) {
  Options options = line.options();
  options.compile.target = line.last(targetFlag.name, options.compile.target);
  return options;
}

/// Reads a program: a portable artifact, recognised by its content, or text in our dialects.
/// Artifacts may be untrusted. Text must be trusted, because MLIR's parser is not hardened; it is
/// for tests and for the user's own files.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
loadProgram(mlir::MLIRContext &context, const std::string &path, const Options &options);

/// A cluster that is part of the program with its number of chips, "h100x64", or a cluster file.
/// - clusterMalformed (E0030)
Result<predict::Cluster> findCluster(const std::string &text);

/// The single file argument of a command.
/// - commandUsage: no file was given, or several.
Result<std::string> onlyFile(const CommandLine &line, std::string_view command);

/// The number of a flag; 1 if the flag was not given.
/// - flagValue: not a number from 1 to 4096.
Result<int64_t> countFlag(const CommandLine &line, std::string_view flag);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_COMMAND_H
