// PredictPicture: the timeline of a predicted step, as SVG.
#ifndef TOOLS_TILEWRIGHT_PICTURES_PREDICTPICTURE_H
#define TOOLS_TILEWRIGHT_PICTURES_PREDICTPICTURE_H

#include "tilewright/predict/Report.h"

#include <string>
#include <string_view>

namespace tilewright::tools {

/// A row for the compute queue of each class of ranks and one for each of its lanes: kernels,
/// communication, and the waits that communication causes. Names appear on hovering.
std::string predictPicture(const predict::Prediction &prediction, std::string_view title);

/// A page that needs no other file: the picture and the report.
std::string predictPage(const predict::Prediction &prediction, std::string_view title);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PICTURES_PREDICTPICTURE_H
