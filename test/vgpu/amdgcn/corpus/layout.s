// Parts of a section that are not instructions in a row: labels, aliases, padding, branches to and beside symbols.
  .text
  s_nop 0
  s_branch 3
first:
  s_nop 1
  s_branch first
  s_branch second
  .zero 64
  s_cbranch_scc0 3
second:
alias:
  .zero 8
  s_nop 2
  .long 0
  s_nop 3
  .zero 12
  .type function,@function
function:
  s_cbranch_execz function
  s_branch 65000
  .section .text.other,"ax",@progbits
other:
  s_branch other
  s_endpgm
