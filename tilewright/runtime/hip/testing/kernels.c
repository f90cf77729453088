// The kernels of conformance/Kit.h for GPUs of AMD, and some more; CMake compiles them. Each
// work-item processes one element.
//
//   sum(f32 x[n], f32 y[1])   y = the sum of x, by one workgroup of n items through LDS; n is a
//                             power of two; needs 4n bytes of dynamic LDS
//   trap(f32 x[n], f32 y[n])  fails: writes to memory that is not allocated
//   wide(f32 x[n], f32 y[n])  add_one, with 2048 bytes of LDS of its own
#define KERNEL __attribute__((amdgpu_kernel, visibility("protected"))) void
#define GLOBAL __attribute__((address_space(1)))
#define LDS __attribute__((address_space(3)))

extern LDS float dynamic[];

static unsigned item(void) { return __builtin_amdgcn_workitem_id_x(); }
static unsigned items(void) { return __builtin_amdgcn_workgroup_size_x(); }
static unsigned position(void) { return __builtin_amdgcn_workgroup_id_x() * items() + item(); }
static void barrier(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL add_one(const GLOBAL float *x, GLOBAL float *y) { y[position()] = x[position()] + 1; }

KERNEL add(const GLOBAL float *a, const GLOBAL float *b, GLOBAL float *y) {
  y[position()] = a[position()] + b[position()];
}

KERNEL slow(const GLOBAL float *x, GLOBAL float *y) {
  for (unsigned i = 0; i < 100000; ++i)
    __asm__ volatile("s_nop 0");
  y[position()] = x[position()] + 1;
}

KERNEL increment(const GLOBAL int *x, GLOBAL int *y) { *y = *x + 1; }

KERNEL less(const GLOBAL int *a, const GLOBAL int *b, GLOBAL unsigned char *y) { *y = *a < *b; }

KERNEL sum(const GLOBAL float *x, GLOBAL float *y) {
  dynamic[item()] = x[item()];
  barrier();
  for (unsigned half = items() / 2; half > 0; half /= 2) {
    if (item() < half)
      dynamic[item()] += dynamic[item() + half];
    barrier();
  }
  if (item() == 0)
    *y = dynamic[0];
}

KERNEL trap(const GLOBAL float *x, GLOBAL float *y) {
  ((GLOBAL float *)16)[position()] = x[position()];
  y[position()] = 0;
}

KERNEL wide(const GLOBAL float *x, GLOBAL float *y) {
  static volatile LDS float fixed[512] __attribute__((loader_uninitialized));
  fixed[item()] = x[position()];
  y[position()] = fixed[item()] + 1;
}
