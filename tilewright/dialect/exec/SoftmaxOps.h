// exec.softmax_dot: attention, before a target decides how to compute it.
#ifndef TILEWRIGHT_DIALECT_EXEC_SOFTMAXOPS_H
#define TILEWRIGHT_DIALECT_EXEC_SOFTMAXOPS_H

#include "tilewright/dialect/exec/ExecDialect.h"

#define GET_OP_CLASSES
#include "tilewright/dialect/exec/SoftmaxOps.h.inc"

#endif // TILEWRIGHT_DIALECT_EXEC_SOFTMAXOPS_H
