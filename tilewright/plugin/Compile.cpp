#include "tilewright/plugin/Compile.h"

#include "tilewright/driver/Compile.h"
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Executable.h"
#include "tilewright/plugin/LoadedExecutable.h"
#include "tilewright/support/Concat.h"

#include <optional>

namespace tilewright::plugin {
namespace {

/// Programs above this, with large constants, are not kept for people to read.
constexpr size_t sourceLimit = size_t(1) << 20;

std::shared_ptr<const std::string> sourceOf(const PJRT_Program *program) {
  if (program->code_size > sourceLimit)
    return nullptr;
  return std::make_shared<const std::string>(program->code, program->code_size);
}

} // namespace

Result<std::shared_ptr<const artifact::Executable>>
compileProgram(const PJRT_Program *program, const CompileOptions &compileOptions, Options options) {
  std::string_view format = textOf(program->format, program->format_size);
  if (format != "mlir" || !program->code)
    return Status(Error::programFormat,
                  concat("a program must be a StableHLO portable artifact (format 'mlir'), got '",
                         format, "'; jax.jit and jax.export write one"));
  TILEWRIGHT_TRY(compileOptions.apply(options));
  driver::CompileRequest request;
  request.replicas = compileOptions.replicas;
  request.partitions = compileOptions.partitions;
  request.options = std::move(options);
  ArtifactFile file(std::string_view(program->code, program->code_size), "the program");
  std::optional<Result<artifact::Executable>> compiled;
  driver::runOnLargeStack([&] { compiled.emplace(driver::compile(std::move(file), request)); });
  if (!compiled->isOk())
    return std::move(*compiled).takeStatus();
  return std::make_shared<const artifact::Executable>(**std::move(compiled));
}

PJRT_Error *Client_Compile(PJRT_Client_Compile_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, executable);
  TILEWRIGHT_PJRT_HANDLE(args, client);
  TILEWRIGHT_PJRT_HANDLE(args, program);
  std::string_view bytes = textOf(args->compile_options, args->compile_options_size);
  TILEWRIGHT_PJRT_ASSIGN(CompileOptions options, CompileOptions::parse(bytes));
  TILEWRIGHT_PJRT_ASSIGN(std::shared_ptr<const artifact::Executable> executable,
                         compileProgram(args->program, options, args->client->options));
  TILEWRIGHT_PJRT_ASSIGN(args->executable, loadExecutable(*args->client, std::move(executable),
                                                          options, std::string(bytes)));
  args->executable->source = sourceOf(args->program);
  return nullptr;
}

PJRT_Error *Compile(PJRT_Compile_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, executable);
  TILEWRIGHT_PJRT_HANDLE(args, program);
  std::string_view bytes = textOf(args->compile_options, args->compile_options_size);
  TILEWRIGHT_PJRT_ASSIGN(CompileOptions options, CompileOptions::parse(bytes));
  Options ours;
  if (args->client)
    ours = args->client->options;
  else
    TILEWRIGHT_PJRT_TRY(ours.setFromEnvironment());
  TILEWRIGHT_PJRT_ASSIGN(std::shared_ptr<const artifact::Executable> executable,
                         compileProgram(args->program, options, std::move(ours)));
  args->executable =
      new PJRT_Executable(std::move(executable), std::string(bytes), sourceOf(args->program));
  return nullptr;
}

} // namespace tilewright::plugin
