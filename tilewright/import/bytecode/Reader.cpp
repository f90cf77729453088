#include "tilewright/import/bytecode/Reader.h"

#include "tilewright/import/bytecode/Container.h"
#include "tilewright/import/bytecode/Entries.h"
#include "tilewright/import/bytecode/Operations.h"

namespace tilewright::bytecode {

Result<Module> read(std::span<const std::byte> artifact, const ImportOptions &options) {
  TILEWRIGHT_ASSIGN(Container container, readContainer(artifact, options));
  Module module;
  module.producer = container.producer;
  module.bytecodeVersion = container.bytecodeVersion;
  module.strings = container.strings;
  for (const OpRow *row : container.opNames)
    module.opNames.push_back({row->op});

  References references;
  TILEWRIGHT_TRY(readTypes(container, options, module, references));
  TILEWRIGHT_TRY(readAttrs(container, options, module, references));
  TILEWRIGHT_TRY(checkNesting(references, module.types.size(), options));
  TILEWRIGHT_TRY(readOperations(container, options, module));
  return module;
}

} // namespace tilewright::bytecode
