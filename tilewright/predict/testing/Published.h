// Published: training runs with published step times, as models and layouts of the generator.
#ifndef TILEWRIGHT_PREDICT_TESTING_PUBLISHED_H
#define TILEWRIGHT_PREDICT_TESTING_PUBLISHED_H

#include "tilewright/predict/training/Training.h"

#include <string>
#include <vector>

namespace tilewright::predict {

/// One measured step. published-steps.csv has the sources.
struct PublishedStep {
  std::string id;              // of the row, with the name of the value if the row has several
  std::string source;          // "mpt", "titan", …
  std::string stack;           // runs of the same chip, software and precision, which share factors
  std::string wider;           // runs of the same source and chip, for a stack without small runs
  std::string cluster;         // "h100"
  double networkBandwidth = 0; // of one chip, where the source has another network than the cluster
  Model model;
  Layout layout;
  double seconds = 0;  // measured
  double rival = 0;    // seconds that the source's own simulator predicts; 0 if it has none
  std::string missing; // why the row cannot be predicted; empty if it can
};

/// Reads the rows of published-steps.csv, which is ours.
std::vector<PublishedStep> readPublishedSteps(const std::string &csv);

} // namespace tilewright::predict

#endif // TILEWRIGHT_PREDICT_TESTING_PUBLISHED_H
