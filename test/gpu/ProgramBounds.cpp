// program-bounds: computes how far correct results of programs may be from the evaluator's.
//
//   program-bounds LIST [tf32]
//
// Each line of LIST reads FILE INPUT… -> PREFIX, as for `tilewright run --batch`; the bounds of
// result i, doubles, go to PREFIXi.bound.npy. An infinite bound means that it is unknown. With
// `tf32`, factors of f32 products may be rounded to tf32.
#include "tilewright/interpret/Types.h"
#include "tilewright/interpret/bounds/Bounds.h"
#include "tilewright/support/Concat.h"
#include "tools/tilewright/Command.h"
#include "tools/tilewright/input/Inputs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"

#include <fstream>
#include <iostream>
#include <sstream>

namespace tilewright::tools {

using interpret::Bounded;
using interpret::RuntimeValues;
using interpret::Tensor;

static Status run(const std::string &line, const interpret::Allowance &allowance) {
  std::istringstream words(line);
  std::string program, word, prefix;
  std::vector<std::string> files;
  words >> program;
  while (words >> word && word != "->")
    files.push_back(word);
  words >> prefix;

  mlir::MLIRContext mlirContext(mlir::MLIRContext::Threading::DISABLED);
  TILEWRIGHT_ASSIGN(auto module, loadProgram(mlirContext, program, Options()));
  auto main = module->lookupSymbol<mlir::func::FuncOp>("main");
  if (!main || main.getNumArguments() != files.size())
    return Status(Error::inputMismatch, concat(program, " has no @main of ", files.size()));
  interpret::Context context;
  RuntimeValues inputs;
  for (auto [type, file] : llvm::zip_equal(main.getArgumentTypes(), files)) {
    auto tensor = llvm::cast<mlir::RankedTensorType>(type);
    Parameter parameter{*interpret::elementTypeOf(tensor.getElementType()), {}};
    for (int64_t size : tensor.getShape())
      parameter.dims.push_back(size);
    TILEWRIGHT_ASSIGN(Tensor input, readInput(file, parameter, context));
    inputs.emplace_back(std::move(input));
  }
  TILEWRIGHT_ASSIGN(std::vector<Bounded> results,
                    interpret::evaluateWithBounds(*module, "main", inputs, allowance));
  for (size_t i = 0; i < results.size(); ++i) {
    TILEWRIGHT_ASSIGN(Tensor bounds, interpret::boundsTensor(results[i], context));
    TILEWRIGHT_TRY(writeNpy(concat(prefix, i, ".bound.npy"), bounds));
  }
  return {};
}

} // namespace tilewright::tools

int main(int argc, char **argv) {
  if (argc < 2) {
    std::cerr << "usage: program-bounds LIST [tf32]\n";
    return 2;
  }
  tilewright::interpret::Allowance allowance;
  allowance.roundsToTf32 = argc > 2 && std::string_view(argv[2]) == "tf32";
  std::ifstream list(argv[1]);
  int failed = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty())
      continue;
    if (tilewright::Status status = tilewright::tools::run(line, allowance); !status.isOk()) {
      std::cout << "failed " << line.substr(0, line.find(' ')) << "\n" << status.toString() << "\n";
      failed = 1;
    }
  }
  return failed;
}
