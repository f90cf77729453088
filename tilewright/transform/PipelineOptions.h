// The options of each category of Options.def, as options of a pass pipeline.
#ifndef TILEWRIGHT_TRANSFORM_PIPELINEOPTIONS_H
#define TILEWRIGHT_TRANSFORM_PIPELINEOPTIONS_H

#include "tilewright/support/Options.h"

#include "mlir/Pass/PassOptions.h"

namespace tilewright::transform {

// Defines the pass pipeline options of each category, for example simplify_pipeline with the
// options in Options::simplify_options.
#define TILEWRIGHT_CATEGORY(category, summary)                                                     \
  struct category##_pipeline : mlir::PassPipelineOptions<category##_pipeline> {                    \
    const Options::category##_options defaults;
#define TILEWRIGHT_OPTION(category, field, name, effect, type, value, summary, paragraph)          \
  Option<type> field{*this, name, llvm::cl::desc(summary), llvm::cl::init(defaults.field)};
#define TILEWRIGHT_CATEGORY_END(category)                                                          \
  }                                                                                                \
  ;
#include "tilewright/support/Options.def"

// Defines valuesOf() for each category, for example from simplify_pipeline to
// Options::simplify_options.
#define TILEWRIGHT_CATEGORY(category, summary)                                                     \
  inline Options::category##_options valuesOf(const category##_pipeline &given) {                  \
    Options::category##_options options;
#define TILEWRIGHT_OPTION(category, field, name, effect, type, value, summary, paragraph)          \
  options.field = given.field;
#define TILEWRIGHT_CATEGORY_END(category)                                                          \
  return options;                                                                                  \
  }
#include "tilewright/support/Options.def"

} // namespace tilewright::transform

#endif // TILEWRIGHT_TRANSFORM_PIPELINEOPTIONS_H
