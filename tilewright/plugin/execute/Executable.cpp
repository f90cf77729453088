#include "tilewright/plugin/execute/Executable.h"

#include "tilewright/artifact/Format.h"
#include "tilewright/artifact/Reader.h"
#include "tilewright/artifact/Statistics.h"
#include "tilewright/artifact/Writer.h"
#include "tilewright/plugin/Api.h"
#include "tilewright/plugin/Getters.h"
#include "tilewright/plugin/Types.h"
#include "tilewright/runtime/Buffer.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/Fingerprint.h"

#include <cstring>
#include <optional>

using namespace tilewright;

PJRT_Executable::PJRT_Executable(std::shared_ptr<const artifact::Executable> given,
                                 std::string compileOptions,
                                 std::shared_ptr<const std::string> source)
    : program(std::move(given)), compileOptions(std::move(compileOptions)),
      source(std::move(source)) {
  for (const artifact::Parameter &parameter : program->parameters) {
    parameterMemoryKinds.add(parameter.memoryKind);
    parameterShardings.add(parameter.sharding);
    parameterLayouts.push_back(plugin::sharedLayout(parameter.type.dims.size()));
  }
  for (const artifact::ResultInfo &result : program->results) {
    outputTypes.push_back(plugin::toBufferType(result.type.element));
    outputDims.insert(outputDims.end(), result.type.dims.begin(), result.type.dims.end());
    outputRanks.push_back(result.type.dims.size());
    outputMemoryKinds.add(result.memoryKind);
    outputShardings.add(result.sharding);
    outputLayouts.push_back(plugin::sharedLayout(result.type.dims.size()));
  }
  for (const artifact::Attribute &statistic : program->statistics)
    if (std::optional<double> number = artifact::numberOf(statistic))
      costs.add(statistic.name, static_cast<float>(*number));
}

namespace tilewright::plugin {
namespace {

constexpr std::string_view magic = "TilewrightPJRT1\n";

} // namespace

const std::string &ProgramFingerprint::of(const artifact::Executable &program) {
  std::call_once(once, [&] {
    auto fingerprint = program.fingerprint;
    if (fingerprint == decltype(fingerprint){}) {
      const std::vector<std::byte> bytes = artifact::writeExecutable(program);
      std::memcpy(fingerprint.data(), bytes.data() + artifact::fingerprintAt, fingerprint.size());
    }
    text = toString(fingerprint);
  });
  return text;
}

std::string serialize(const PJRT_Executable &executable) {
  std::string out(magic);
  uint64_t size = executable.compileOptions.size();
  out.append(reinterpret_cast<const char *>(&size), sizeof(size));
  out += executable.compileOptions;
  std::vector<std::byte> bytes = artifact::writeExecutable(*executable.program);
  out.append(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  return out;
}

Result<std::unique_ptr<PJRT_Executable>> parseExecutable(std::string_view bytes) {
  uint64_t size = 0;
  size_t header = magic.size() + sizeof(size);
  bool isOurs = bytes.starts_with(magic) && bytes.size() >= header;
  if (isOurs)
    std::memcpy(&size, bytes.data() + magic.size(), sizeof(size));
  if (!isOurs || size > bytes.size() - header)
    return Status(Error::serializedExecutable,
                  "not an executable serialized by this version of Tilewright; compile the program "
                  "again and clear the cache that contained it");
  std::string options(bytes.substr(header, size));
  std::string_view rest = bytes.substr(header + size);
  TILEWRIGHT_ASSIGN(artifact::Executable executable,
                    artifact::readExecutable(std::as_bytes(std::span(rest))));
  return std::make_unique<PJRT_Executable>(
      std::make_shared<const artifact::Executable>(std::move(executable)), std::move(options));
}

TILEWRIGHT_PJRT_DESTROY(Executable_Destroy, executable)
TILEWRIGHT_PJRT_TEXT(Executable_Name, executable, executable_name, executable->program->name)
TILEWRIGHT_PJRT_VALUE(Executable_NumReplicas, executable, num_replicas,
                      static_cast<size_t>(executable->program->replicas))
TILEWRIGHT_PJRT_VALUE(Executable_NumPartitions, executable, num_partitions,
                      static_cast<size_t>(executable->program->partitions))
TILEWRIGHT_PJRT_VALUE(Executable_NumOutputs, executable, num_outputs,
                      executable->program->results.size())
TILEWRIGHT_PJRT_VALUE(Executable_SizeOfGeneratedCodeInBytes, executable, size_in_bytes,
                      static_cast<int64_t>(executable->program->objectBytes()))
TILEWRIGHT_PJRT_LIST(Executable_GetCostAnalysis, executable, properties, num_properties,
                     executable->costs)
TILEWRIGHT_PJRT_LIST(Executable_OutputElementTypes, executable, output_types, num_output_types,
                     executable->outputTypes)

PJRT_Error *Executable_OutputDimensions(PJRT_Executable_OutputDimensions_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, dim_sizes);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  args->num_outputs = args->executable->outputRanks.size();
  args->dims = args->executable->outputDims.data();
  args->dim_sizes = args->executable->outputRanks.data();
  return nullptr;
}

TILEWRIGHT_PJRT_TEXTS(Executable_ParameterMemoryKinds, executable, num_parameters, memory_kinds,
                      memory_kind_sizes, executable->parameterMemoryKinds)
TILEWRIGHT_PJRT_TEXTS(Executable_OutputMemoryKinds, executable, num_outputs, memory_kinds,
                      memory_kind_sizes, executable->outputMemoryKinds)
TILEWRIGHT_PJRT_TEXT(Executable_Fingerprint, executable, executable_fingerprint,
                     executable->fingerprint.of(*executable->program))
TILEWRIGHT_PJRT_SERIALIZE(Executable_Serialize, executable, serialized_executable,
                          serialize(*executable))

// Returns the source program, which jaxlib shows as HLO; with several partitions it returns the
// program of one device, because a program with shardings cannot simply be converted to HLO. The
// generated machine code has no HLO form, and bytes in an unexpected format would crash the
// process.
PJRT_Error *Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args *args) {
  TILEWRIGHT_PJRT_ARGS(args, program);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  TILEWRIGHT_PJRT_HANDLE(args, program);
  const PJRT_Executable &executable = *args->executable;
  if (!executable.source)
    return toError(unimplemented(__func__));
  const std::string &source = *executable.source;
  PJRT_Program &program = *args->program;
  program.format = "mlir";
  program.format_size = 4;
  if (program.code && program.code_size < source.size())
    return toError(Status(Error::pluginArguments,
                          concat("the program has ", source.size(),
                                 " bytes, but the destination has only ", program.code_size)));
  if (program.code)
    std::memcpy(program.code, source.data(), source.size());
  program.code_size = source.size();
  return nullptr;
}

TILEWRIGHT_PJRT_SERIALIZE(Executable_GetCompileOptions, executable, serialized_compile_options,
                          executable->compileOptions)

PJRT_Error *Executable_GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args *args) {
  using Args = PJRT_Executable_GetCompiledMemoryStats_Args;
  TILEWRIGHT_PJRT_ARGS(args, host_temp_size_in_bytes);
  TILEWRIGHT_PJRT_HANDLE(args, executable);
  const artifact::Executable &program = *args->executable->program;
  auto bytesOf = [](const artifact::TensorType &type) {
    Result<size_t> bytes = runtime::byteCountOf(type);
    return bytes.isOk() ? static_cast<int64_t>(*bytes) : 0;
  };
  // Bytes in each memory space: [0] device, [1] pinned host.
  int64_t arguments[2] = {0, 0}, outputs[2] = {0, 0}, aliases[2] = {0, 0};
  for (const artifact::Parameter &parameter : program.parameters)
    arguments[parameter.memoryKind != "device"] += bytesOf(parameter.type);
  for (const artifact::ResultInfo &result : program.results) {
    outputs[result.memoryKind != "device"] += bytesOf(result.type);
    if (result.aliasOf != artifact::none)
      aliases[result.memoryKind != "device"] += bytesOf(result.type);
  }
  auto code = static_cast<int64_t>(program.objectBytes());
  args->generated_code_size_in_bytes = code;
  args->argument_size_in_bytes = arguments[0];
  args->output_size_in_bytes = outputs[0];
  args->alias_size_in_bytes = aliases[0];
  args->temp_size_in_bytes = program.arenaBytes[0];
  args->host_generated_code_size_in_bytes = 0;
  args->host_argument_size_in_bytes = arguments[1];
  args->host_output_size_in_bytes = outputs[1];
  args->host_alias_size_in_bytes = aliases[1];
  args->host_temp_size_in_bytes = program.arenaBytes[1];
  int64_t peak = arguments[0] + outputs[0] - aliases[0] + program.arenaBytes[0];
  give(args, &Args::peak_memory_in_bytes, peak);
  give(args, &Args::total_size_in_bytes, peak + code);
  give(args, &Args::total_allocation_bytes, peak + code);
  give(args, &Args::indefinite_allocations, static_cast<int64_t>(program.constants.size()));
  give(args, &Args::peak_unpadded_heap_bytes, program.arenaBytes[0]);
  return nullptr;
}

} // namespace tilewright::plugin
