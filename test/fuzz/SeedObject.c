/* Object code for the executables that fuzzers start from: kernels, a body,
   constants, data, calls to the runtime. */
typedef long I;
float expf(float);
void tw_scalar_call(const void *, const void *, const void *, const void *, void *);
extern const char divide __asm__("tw_scalar_record.divide.c64.c64");
static const float table[] = {1, 2, 3, 4};
static const float *const addresses[] = {table, table + 1};
int counter = 1;

void fusion_0(void *const *b, I begin, I end, char *scratch) {
  for (I i = begin; i < end; ++i)
    ((float *)b[2])[i] = expf(((const float *)b[0])[i]) + addresses[i & 1][i & 3] + counter++;
}
void fusion_1(void *const *b, I begin, I end, char *scratch) {
  tw_scalar_call(&divide, b[0], b[0], 0, scratch);
}
void compare_0(const void *const *args, void *const *results) {
  *(char *)results[0] = *(const float *)args[0] < *(const float *)args[1];
}
