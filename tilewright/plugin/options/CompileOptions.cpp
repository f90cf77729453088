#include "tilewright/plugin/options/CompileOptions.h"

#include "tilewright/plugin/options/ProtoWire.h"
#include "tilewright/support/Concat.h"
#include "tilewright/support/text/Number.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <mutex>
#include <set>

namespace tilewright::plugin {
namespace {

// Field numbers of the messages, which never change.
enum CompileField : uint32_t {
  executableBuildOptions = 3,
  compilePortableExecutable = 4,
  envOptionOverrides = 7,
};
enum BuildField : uint32_t { numReplicas = 4, numPartitions = 5, deviceAssignment = 9 };
enum AssignmentField : uint32_t { replicaCount = 1, computationCount = 2, computationDevices = 3 };
enum OverrideField : uint32_t { stringField = 1, boolField = 2, intField = 3, doubleField = 4 };

/// More devices than any system has; prevents hostile bytes from allocating too much memory.
constexpr int64_t deviceLimit = 1 << 24;

Status malformed(std::string_view what) {
  return Status(Error::compileOptions, concat("the compile options are malformed: ", what,
                                              "; use a supported version of the framework"));
}

/// map<string, OptionOverrideProto> is encoded as messages with field 1, the key, and field 2, the
/// value.
Result<NamedOption> parseOverride(std::string_view bytes) {
  NamedOption option;
  ProtoReader entry(bytes);
  while (std::optional<ProtoField> field = entry.next()) {
    if (field->number == 1)
      option.name = field->bytes;
    if (field->number != 2)
      continue;
    ProtoReader value(field->bytes);
    while (std::optional<ProtoField> content = value.next()) {
      if (content->number == stringField)
        option.value = std::string(content->bytes);
      else if (content->number == boolField)
        option.value = content->integer != 0;
      else if (content->number == intField)
        option.value = static_cast<int64_t>(content->integer);
      else if (content->number == doubleField)
        option.value = static_cast<float>(std::bit_cast<double>(content->integer));
    }
    if (!value.isOk())
      return malformed("an override is not a valid message");
  }
  if (!entry.isOk())
    return malformed("an override is not a valid message");
  return option;
}

Status parseBuildOptions(std::string_view bytes, CompileOptions &options) {
  ProtoReader reader(bytes);
  while (std::optional<ProtoField> field = reader.next()) {
    if (field->number == numReplicas)
      options.replicas = static_cast<int64_t>(field->integer);
    else if (field->number == numPartitions)
      options.partitions = static_cast<int64_t>(field->integer);
    else if (field->number == deviceAssignment) {
      TILEWRIGHT_ASSIGN(options.devices, parseDeviceAssignment(field->bytes));
    }
  }
  return reader.isOk() ? Status() : malformed("the build options are not a valid message");
}

struct XlaOption {
  std::string_view name, type;
};
constexpr XlaOption xlaOptions[] = {
#define TILEWRIGHT_XLA_OPTION(name, type) {#name, #type},
#include "tilewright/plugin/options/XlaOptions.def"
};

/// Whether XLA accepts the value: a value of the option's type, or the text of one.
bool canBe(std::string_view type, const NamedValue &value) {
  const auto *text = std::get_if<std::string>(&value);
  if (type == "bool")
    return text ? *text == "True" || *text == "False" : std::holds_alternative<bool>(value);
  if (text)
    return type == "int32"   ? numberIn<int32_t>(*text).has_value()
           : type == "int64" ? numberIn<int64_t>(*text).has_value()
                             : numberIn<float>(*text).has_value();
  if (const auto *integer = std::get_if<int64_t>(&value))
    return type != "int32" || static_cast<int32_t>(*integer) == *integer;
  return type == "float" && std::holds_alternative<float>(value);
}

/// Whether a flag is true, as a bool or as text.
bool isSet(const NamedValue &value) {
  const auto *text = std::get_if<std::string>(&value);
  const auto *flag = std::get_if<bool>(&value);
  return text ? *text == "True" : flag && *flag;
}

/// Options that request what Tilewright always guarantees: bitwise reproducible results.
bool holdsAnyway(const NamedOption &option) {
  return option.name == "xla_gpu_deterministic_ops" ||
         option.name == "xla_gpu_exclude_nondeterministic_ops";
}

/// Options that would change results and therefore must not be ignored.
bool changesResults(const NamedOption &option) {
  return (option.name == "xla_cpu_ftz" || option.name == "xla_gpu_ftz") && isSet(option.value);
}

/// Accepts unknown names: they belong to another version or backend of XLA.
Status checkXlaOption(const NamedOption &option) {
  const auto *known = std::ranges::find(xlaOptions, option.name, &XlaOption::name);
  if (changesResults(option))
    return Status(Error::compilerOption,
                  concat(option.name, " would flush denormal numbers to zero, which Tilewright "
                                      "does not support; remove the option"));
  if (known == std::end(xlaOptions) || canBe(known->type, option.value))
    return Status();
  return Status(Error::compilerOption,
                concat("while setting option ", option.name, ", '", toText(option.value),
                       "' is not a valid ", known->type, " value."));
}

} // namespace

Result<CompileOptions> CompileOptions::parse(std::string_view bytes) {
  CompileOptions options;
  ProtoReader reader(bytes);
  while (std::optional<ProtoField> field = reader.next()) {
    if (field->number == executableBuildOptions) {
      TILEWRIGHT_TRY(parseBuildOptions(field->bytes, options));
    } else if (field->number == compilePortableExecutable) {
      options.isPortable = field->integer != 0;
    } else if (field->number == envOptionOverrides) {
      TILEWRIGHT_ASSIGN(NamedOption option, parseOverride(field->bytes));
      options.overrides.push_back(std::move(option));
    }
  }
  if (!reader.isOk())
    return malformed("they are not a valid message");
  // Treat 0 like an absent count, which means 1.
  options.replicas = std::max<int64_t>(options.replicas, 1);
  options.partitions = std::max<int64_t>(options.partitions, 1);
  if (options.replicas > deviceLimit || options.partitions > deviceLimit)
    return malformed("they have too many replicas or partitions");
  return options;
}

Status CompileOptions::apply(Options &options) const {
  for (const NamedOption &option : overrides) {
    if (option.name.starts_with("xla_")) {
      TILEWRIGHT_TRY(checkXlaOption(option));
      continue;
    }
    Status status = options.set(option.name, toText(option.value));
    if (!status.isOk())
      return Status(Error::compilerOption, concat("No such compile option: '", option.name, "' = '",
                                                  toText(option.value), "': ", status.message()));
  }
  return Status();
}

std::vector<std::string_view> CompileOptions::ignored() const {
  std::vector<std::string_view> names;
  for (const NamedOption &option : overrides)
    if (option.name.starts_with("xla_") && !holdsAnyway(option))
      names.push_back(option.name);
  return names;
}

void sayIgnored(const std::vector<std::string_view> &names) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> said; // guarded by mutex
  std::string fresh;
  {
    std::lock_guard lock(mutex);
    for (std::string_view name : names)
      if (said.emplace(name).second)
        fresh += concat(fresh.empty() ? "" : ", ", name);
  }
  if (!fresh.empty())
    std::fprintf(stderr,
                 "tilewright: XLA options without effect here: %s (docs/reference/jax.md)\n",
                 fresh.c_str());
}

std::string serialize(const runtime::DeviceAssignment &assignment) {
  ProtoWriter out;
  out.integer(replicaCount, assignment.replicas);
  out.integer(computationCount, assignment.partitions);
  for (int64_t partition = 0; partition < assignment.partitions; ++partition) {
    ProtoWriter packed, devices;
    for (int64_t replica = 0; replica < assignment.replicas; ++replica)
      packed.varint(static_cast<uint64_t>(assignment.at(replica, partition)));
    devices.bytes(1, std::move(packed).take());
    out.bytes(computationDevices, std::move(devices).take());
  }
  return std::move(out).take();
}

Result<runtime::DeviceAssignment> parseDeviceAssignment(std::string_view bytes) {
  runtime::DeviceAssignment assignment;
  assignment.replicas = assignment.partitions = 0;
  std::vector<std::vector<int>> byPartition;
  ProtoReader reader(bytes);
  while (std::optional<ProtoField> field = reader.next()) {
    if (field->number == replicaCount)
      assignment.replicas = static_cast<int64_t>(field->integer);
    else if (field->number == computationCount)
      assignment.partitions = static_cast<int64_t>(field->integer);
    else if (field->number == computationDevices) {
      std::vector<int> &devices = byPartition.emplace_back();
      ProtoReader computation(field->bytes);
      while (std::optional<ProtoField> ids = computation.next()) {
        if (ids->number != 1)
          continue;
        if (!ids->isBytes) {
          devices.push_back(static_cast<int>(ids->integer));
          continue;
        }
        ProtoReader packed(ids->bytes);
        while (std::optional<uint64_t> id = packed.nextPacked())
          devices.push_back(static_cast<int>(*id));
      }
    }
  }
  bool fits = reader.isOk() && assignment.replicas > 0 && assignment.partitions > 0 &&
              byPartition.size() == static_cast<size_t>(assignment.partitions);
  for (const std::vector<int> &devices : byPartition)
    fits = fits && devices.size() == static_cast<size_t>(assignment.replicas);
  if (!fits)
    return malformed("the device assignment must have one device for each replica and partition");
  for (int64_t replica = 0; replica < assignment.replicas; ++replica)
    for (int64_t partition = 0; partition < assignment.partitions; ++partition)
      assignment.devices.push_back(
          byPartition[static_cast<size_t>(partition)][static_cast<size_t>(replica)]);
  return assignment;
}

} // namespace tilewright::plugin
