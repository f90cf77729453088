// CommPicture: a communication plan as a picture.
#ifndef TOOLS_TILEWRIGHT_COMMPICTURE_H
#define TOOLS_TILEWRIGHT_COMMPICTURE_H

#include "tilewright/collective/plan/Verify.h"

#include <string>

namespace tilewright::tools {

/// An SVG: ranks and their lanes from top to bottom, steps of the program from left to right, a bar
/// for each exchange that a rank takes part in, one colour for each clique. Of many ranks some are
/// shown; of a counterexample those that wait, with red bars where they do and red arrows to whom.
std::string
communicationPicture(const collective::CommPlan &plan,
                     const std::variant<collective::Proof, collective::Counterexample> &verdict);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_COMMPICTURE_H
