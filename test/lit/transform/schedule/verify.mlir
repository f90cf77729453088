// RUN: tilewright-opt %s --schedule-verify --split-input-file --verify-diagnostics

/// Plans that schedule-assign-buffers must never make. Result 0 has the memory of parameter 0 where a function says so.

/// A copy out of a parameter that the copy before has overwritten.
#x = #exec.slice<allocation = 0, offset = 0, bytes = 64>
#first = #exec.slice<allocation = 1, offset = 0, bytes = 64>
#second = #exec.slice<allocation = 2, offset = 0, bytes = 64>
#temporary = #exec.slice<allocation = 3, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
#r0 = #exec.allocation<storage = "result", index = 0, bytes = 64, space = 0>
#r1 = #exec.allocation<storage = "result", index = 1, bytes = 64, space = 0>
#t = #exec.allocation<storage = "temporary", index = 0, bytes = 128, space = 0>
func.func @overwritten(%x: tensor<16xf32>) -> (tensor<16xf32> {exec.alias_of = 0 : i64}, tensor<16xf32>) attributes {
    exec.allocations = [#p, #r0, #r1, #t], exec.argument_slices = [[#x]]} {
  %a = exec.reverse(%x) {dimensions = array<i64: 0>, exec.slices = [#temporary]} : (tensor<16xf32>) -> tensor<16xf32>
  %r = exec.copy %a {exec.slices = [#first]} : tensor<16xf32>
  // expected-error @below {{E2020 schedule: 'exec.copy' reads 64 bytes at offset 0 of allocation 0, which no longer hold its operand}}
  %s = exec.copy %x {exec.slices = [#second]} : tensor<16xf32>
  return %r, %s : tensor<16xf32>, tensor<16xf32>
}

// -----

/// In the other order it is right.
#x = #exec.slice<allocation = 0, offset = 0, bytes = 64>
#first = #exec.slice<allocation = 1, offset = 0, bytes = 64>
#second = #exec.slice<allocation = 2, offset = 0, bytes = 64>
#temporary = #exec.slice<allocation = 3, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
#r0 = #exec.allocation<storage = "result", index = 0, bytes = 64, space = 0>
#r1 = #exec.allocation<storage = "result", index = 1, bytes = 64, space = 0>
#t = #exec.allocation<storage = "temporary", index = 0, bytes = 128, space = 0>
func.func @in_order(%x: tensor<16xf32>) -> (tensor<16xf32> {exec.alias_of = 0 : i64}, tensor<16xf32>) attributes {
    exec.allocations = [#p, #r0, #r1, #t], exec.argument_slices = [[#x]]} {
  %a = exec.reverse(%x) {dimensions = array<i64: 0>, exec.slices = [#temporary]} : (tensor<16xf32>) -> tensor<16xf32>
  %s = exec.copy %x {exec.slices = [#second]} : tensor<16xf32>
  %r = exec.copy %a {exec.slices = [#first]} : tensor<16xf32>
  return %r, %s : tensor<16xf32>, tensor<16xf32>
}

// -----

/// A temporary that another one overwrites before it is read.
#x = #exec.slice<allocation = 0, offset = 0, bytes = 64>
#first = #exec.slice<allocation = 1, offset = 0, bytes = 64>
#second = #exec.slice<allocation = 2, offset = 0, bytes = 64>
#temporary = #exec.slice<allocation = 3, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
#r0 = #exec.allocation<storage = "result", index = 0, bytes = 64, space = 0>
#r1 = #exec.allocation<storage = "result", index = 1, bytes = 64, space = 0>
#t = #exec.allocation<storage = "temporary", index = 0, bytes = 128, space = 0>
func.func @temporaries_overlap(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {
    exec.allocations = [#p, #r0, #r1, #t], exec.argument_slices = [[#x]]} {
  %a = exec.reverse(%x) {dimensions = array<i64: 0>, exec.slices = [#temporary]} : (tensor<16xf32>) -> tensor<16xf32>
  %b = exec.reverse(%x) {dimensions = array<i64: 0>, exec.slices = [#exec.slice<allocation = 3, offset = 32, bytes = 64>]} : (tensor<16xf32>) -> tensor<16xf32>
  // expected-error @below {{E2020 schedule: 'exec.copy' reads 64 bytes at offset 0 of allocation 3}}
  %r = exec.copy %a {exec.slices = [#first]} : tensor<16xf32>
  %s = exec.copy %b {exec.slices = [#second]} : tensor<16xf32>
  return %r, %s : tensor<16xf32>, tensor<16xf32>
}

// -----

/// A parameter that is not donated belongs to the caller.
#x = #exec.slice<allocation = 0, offset = 0, bytes = 64>
#first = #exec.slice<allocation = 1, offset = 0, bytes = 64>
#second = #exec.slice<allocation = 2, offset = 0, bytes = 64>
#temporary = #exec.slice<allocation = 3, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
#r0 = #exec.allocation<storage = "result", index = 0, bytes = 64, space = 0>
#r1 = #exec.allocation<storage = "result", index = 1, bytes = 64, space = 0>
#t = #exec.allocation<storage = "temporary", index = 0, bytes = 128, space = 0>
func.func @not_donated(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {
    exec.allocations = [#p, #r0, #r1, #t], exec.argument_slices = [[#x]]} {
  // expected-error @below {{E2020 schedule: 'exec.sort' writes into allocation 0, which is a constant or a parameter that was not donated}}
  %a = exec.sort(%x) {dimension = 0 : i64, comparator = #exec.comparator<lt>, aliases = array<i64: 0, 0>, exec.slices = [#x]} : (tensor<16xf32>) -> tensor<16xf32>
  %r = exec.copy %a {exec.slices = [#first]} : tensor<16xf32>
  %s = exec.copy %a {exec.slices = [#second]} : tensor<16xf32>
  return %r, %s : tensor<16xf32>, tensor<16xf32>
}

// -----

/// An op that did not say that it may work in place.
#x = #exec.slice<allocation = 0, offset = 0, bytes = 64>
#first = #exec.slice<allocation = 1, offset = 0, bytes = 64>
#second = #exec.slice<allocation = 2, offset = 0, bytes = 64>
#temporary = #exec.slice<allocation = 3, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
#r0 = #exec.allocation<storage = "result", index = 0, bytes = 64, space = 0>
#r1 = #exec.allocation<storage = "result", index = 1, bytes = 64, space = 0>
#t = #exec.allocation<storage = "temporary", index = 0, bytes = 128, space = 0>
func.func @not_in_place(%x: tensor<16xf32>) -> (tensor<16xf32> {exec.alias_of = 0 : i64}, tensor<16xf32>) attributes {
    exec.allocations = [#p, #r0, #r1, #t], exec.argument_slices = [[#x]]} {
  // expected-error @below {{E2020 schedule: 'exec.reverse' writes result 0 over operand 0, which it also reads}}
  %a = exec.reverse(%x) {dimensions = array<i64: 0>, exec.slices = [#first]} : (tensor<16xf32>) -> tensor<16xf32>
  %s = exec.copy %a {exec.slices = [#second]} : tensor<16xf32>
  return %a, %s : tensor<16xf32>, tensor<16xf32>
}

// -----

/// The second iteration would read what the first has overwritten.
#x = #exec.slice<allocation = 0, offset = 0, bytes = 64>
#first = #exec.slice<allocation = 1, offset = 0, bytes = 64>
#second = #exec.slice<allocation = 2, offset = 0, bytes = 64>
#temporary = #exec.slice<allocation = 3, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
#r0 = #exec.allocation<storage = "result", index = 0, bytes = 64, space = 0>
#r1 = #exec.allocation<storage = "result", index = 1, bytes = 64, space = 0>
#t = #exec.allocation<storage = "temporary", index = 0, bytes = 128, space = 0>
func.func @second_iteration(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {
    exec.allocations = [#p, #r0, #r1, #t], exec.argument_slices = [[#x]]} {
  %w = exec.reverse(%x) {dimensions = array<i64: 0>, exec.slices = [#temporary]} : (tensor<16xf32>) -> tensor<16xf32>
  %i = exec.copy %x {exec.slices = [#first]} : tensor<16xf32>
  %l = stablehlo.while(%v = %i) : tensor<16xf32> attributes {exec.slices = [#first], exec.argument_slices = [[#first], [#first]]}
  cond {
    %p = exec.custom_call "go on"(%v) {api_version = 4 : i32, config = {}, exec.slices = [#exec.slice<allocation = 3, offset = 64, bytes = 1>]} : (tensor<16xf32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    // expected-error @below {{E2020 schedule: 'exec.custom_call' reads 64 bytes at offset 0 of allocation 3}}
    %n = exec.custom_call "use"(%v, %w) {api_version = 4 : i32, config = {}, exec.slices = [#second]} : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %o = exec.reverse(%n) {dimensions = array<i64: 0>, exec.slices = [#temporary]} : (tensor<16xf32>) -> tensor<16xf32>
    %y = exec.copy %o {exec.slices = [#first]} : tensor<16xf32>
    stablehlo.return %y : tensor<16xf32>
  }
  %s = exec.copy %l {exec.slices = [#second]} : tensor<16xf32>
  return %l, %s : tensor<16xf32>, tensor<16xf32>
}

// -----

/// A branch leaves its value where the other branch does not.
#x = #exec.slice<allocation = 0, offset = 0, bytes = 64>
#first = #exec.slice<allocation = 1, offset = 0, bytes = 64>
#second = #exec.slice<allocation = 2, offset = 0, bytes = 64>
#temporary = #exec.slice<allocation = 3, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
#r0 = #exec.allocation<storage = "result", index = 0, bytes = 64, space = 0>
#r1 = #exec.allocation<storage = "result", index = 1, bytes = 64, space = 0>
#t = #exec.allocation<storage = "temporary", index = 0, bytes = 128, space = 0>
func.func @branches(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) attributes {
    exec.allocations = [#p, #r0, #r1, #t], exec.argument_slices = [[#x]]} {
  %p = exec.custom_call "choose"(%x) {api_version = 4 : i32, config = {}, exec.slices = [#exec.slice<allocation = 3, offset = 64, bytes = 1>]} : (tensor<16xf32>) -> tensor<i1>
  %r = "stablehlo.if"(%p) ({
    %a = exec.reverse(%x) {dimensions = array<i64: 0>, exec.slices = [#first]} : (tensor<16xf32>) -> tensor<16xf32>
    stablehlo.return %a : tensor<16xf32>
  }, {
    %b = exec.reverse(%x) {dimensions = array<i64: 0>, exec.slices = [#temporary]} : (tensor<16xf32>) -> tensor<16xf32>
    // expected-error @below {{E2020 schedule: 'stablehlo.return' passes on a value that is not in the memory of its destination}}
    stablehlo.return %b : tensor<16xf32>
  }) {exec.slices = [#first], exec.argument_slices = [[], []]} : (tensor<i1>) -> tensor<16xf32>
  %s = exec.copy %r {exec.slices = [#second]} : tensor<16xf32>
  return %r, %s : tensor<16xf32>, tensor<16xf32>
}

// -----

// expected-error @below {{E2020 schedule: function @not_scheduled has no exec.allocations; this is a compiler bug}}
func.func @not_scheduled(%x: tensor<16xf32>) -> tensor<16xf32> {
  return %x : tensor<16xf32>
}

// -----

#x = #exec.slice<allocation = 0, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
func.func @no_slice(%x: tensor<16xf32>) attributes {exec.allocations = [#p], exec.argument_slices = [[#x]]} {
  // expected-error @below {{E2020 schedule: 'exec.reverse' needs a slice of an allocation for each of its 1 results; this is a compiler bug}}
  %a = exec.reverse(%x) {dimensions = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32>
  return
}

// -----

/// There is no allocation 7.
#x = #exec.slice<allocation = 7, offset = 0, bytes = 64>
#p = #exec.allocation<storage = "parameter", index = 0, bytes = 64, space = 0>
// expected-error @below {{E2020 schedule: 'func.func' needs a slice of an allocation for each of the 1 arguments of region 0; this is a compiler bug}}
func.func @no_argument_slice(%x: tensor<16xf32>) attributes {exec.allocations = [#p], exec.argument_slices = [[#x]]} {
  return
}
