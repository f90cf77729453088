// CommPicture: a communication plan as a picture.
#ifndef TOOLS_TILEWRIGHT_PICTURES_COMMPICTURE_H
#define TOOLS_TILEWRIGHT_PICTURES_COMMPICTURE_H

#include "tilewright/plan/Verify.h"

#include <string>

namespace tilewright::tools {

/// An SVG: ranks and their lanes from top to bottom, steps of the program from left to right. Each
/// exchange is a bar in the row of each rank that takes part, coloured by clique. If there are many
/// ranks, only some are shown. A counterexample shows the waiting ranks: red bars where they wait
/// and red arrows to the ranks that they wait for.
std::string
communicationPicture(const collective::CommPlan &plan,
                     const std::variant<collective::Proof, collective::Counterexample> &verdict);

} // namespace tilewright::tools

#endif // TOOLS_TILEWRIGHT_PICTURES_COMMPICTURE_H
