// accuracy: measures, writes and checks docs/reference/accuracy.md.
#include "Report.h"

#include "tilewright/support/text/Number.h"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string_view>
#include <vector>

using namespace tilewright;
using namespace tilewright::accuracy;

static constexpr const char *usage =
    R"(usage: accuracy rows [OPTION…]           measure; print one row for each type and operation
       accuracy render ROWS.tsv         write the page for rows to stdout
       accuracy check PAGE.md [OPTION…] measure, and fail where the page promises more

  --type=f32        only this type; may be repeated
  --op=sine         only this operation; may be repeated
  --stride=N        every N-th input of f32 (default 1: all)
  --samples=N       pairs for operations with two operands (default 1000000)
  --wide-samples=N  inputs for f64 and complex (default 20000)
  --jobs=N          threads (default 1)
  --seed=N          of the random inputs (default 1)

exit status: 0 done; 1 a bound does not hold; 2 wrong arguments.
)";

namespace {

struct Arguments {
  Effort effort;
  std::vector<std::string> types, ops;
};

/// Sets `value` to the positive number that the text is.
bool isNumber(std::string_view text, uint64_t &value) {
  const auto number = numberIn<uint64_t>(text).value_or(0);
  if (number > 0)
    value = number;
  return number > 0;
}

/// Parses one `--name=value`; returns false for an unknown argument.
bool parse(std::string_view argument, Arguments &arguments) {
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos)
    return false;
  const std::string_view name = argument.substr(0, equals), value = argument.substr(equals + 1);
  uint64_t jobs = 1;
  if (name == "--type")
    return arguments.types.emplace_back(value), true;
  if (name == "--op")
    return arguments.ops.emplace_back(value), true;
  if (name == "--stride")
    return isNumber(value, arguments.effort.stride);
  if (name == "--samples")
    return isNumber(value, arguments.effort.samples);
  if (name == "--wide-samples")
    return isNumber(value, arguments.effort.wideSamples);
  if (name == "--seed")
    return isNumber(value, arguments.effort.seed);
  if (name != "--jobs" || !isNumber(value, jobs))
    return false;
  arguments.effort.jobs = static_cast<unsigned>(jobs);
  return true;
}

bool wanted(const std::vector<std::string> &list, std::string_view name) {
  for (const std::string &item : list)
    if (item == name)
      return true;
  return list.empty();
}

/// Measures everything that the arguments select and passes each result on.
template <typename Take> void measureAll(const Arguments &arguments, Take take) {
  const Effort &effort = arguments.effort;
  for (size_t i = 0; i < numerics::elementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    const bool complex = numerics::isComplex(type), wide = type == ElementType::f64;
    if ((!complex && !numerics::isReal(type)) || !wanted(arguments.types, spelling(type)))
      continue;
    const auto run = [&](std::span<const ScalarOp> ops, auto measure) {
      for (ScalarOp op : ops)
        if (wanted(arguments.ops, nameOf(op)))
          take(type, op, measure(op));
    };
    if (complex) {
      run(complexOps(), [&](ScalarOp op) { return measureComplex(op, type, effort); });
    } else if (wide) {
      run(unaryOps(), [&](ScalarOp op) { return measureF64(op, effort); });
      run(binaryOps(), [&](ScalarOp op) { return measureF64(op, effort); });
    } else {
      run(unaryOps(), [&](ScalarOp op) { return measureUnary(op, type, effort); });
      run(binaryOps(), [&](ScalarOp op) { return measureBinary(op, type, effort); });
    }
  }
  mpfr_free_cache(); // for this thread; those of inParallel free their own
}

int check(const char *path, const Arguments &arguments) {
  std::ifstream page(path);
  if (!page) {
    std::cerr << "accuracy: cannot read " << path << "\n";
    return 2;
  }
  const auto bounds = readBounds(page);
  size_t measured = 0, failures = 0;
  measureAll(arguments, [&](ElementType type, ScalarOp op, const Measurement &found) {
    ++measured;
    const auto bound = bounds.find({type, op});
    const std::string problem =
        bound == bounds.end()
            ? std::string(nameOf(op)) + " on " + std::string(spelling(type)) + ": not on the page"
            : violation(type, op, found, bound->second);
    if (problem.empty())
      return;
    ++failures;
    std::cerr << problem << "\n";
  });
  std::cout << measured << " measurements, " << failures << " beyond the page\n";
  return failures || !measured ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  const bool takesFile = command == "render" || command == "check";
  if ((command != "rows" && !takesFile) || (takesFile && argc < 3)) {
    std::cerr << usage;
    return 2;
  }
  Arguments arguments;
  for (int i = takesFile ? 3 : 2; i < argc; ++i)
    if (!parse(argv[i], arguments)) {
      std::cerr << "accuracy: what is '" << argv[i] << "'?\n" << usage;
      return 2;
    }
  if (command == "check")
    return check(argv[2], arguments);
  if (command == "render") {
    std::ifstream rows(argv[2]);
    std::cout << render(readRows(rows));
    return 0;
  }
  measureAll(arguments, [](ElementType type, ScalarOp op, const Measurement &found) {
    std::cout << rowOf(type, op, found) << std::endl;
  });
  return 0;
}
