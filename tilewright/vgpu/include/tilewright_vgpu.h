/* The virtual GPU for C and C++ programs: load PTX text, launch a kernel on
 * memory of your own, read the result. No GPU, no driver.
 *
 *   char *error = NULL;
 *   tilewright_vgpu_module *module = tilewright_vgpu_load(text, "sm_90a", &error);
 *   tilewright_vgpu_config config = {.grid = {4, 1, 1}, .block = {256, 1, 1}};
 *   const void *arguments[] = {&a, &b, &n};
 *   if (!module || tilewright_vgpu_launch(module, "scale", &config, arguments, 3, &error) != 0)
 *     fprintf(stderr, "%s\n", error);
 *   tilewright_vgpu_free_error(error);
 *   tilewright_vgpu_unload(module);
 *
 * Every function may be called from several threads. */
#ifndef TILEWRIGHT_VGPU_INCLUDE_TILEWRIGHT_VGPU_H
#define TILEWRIGHT_VGPU_INCLUDE_TILEWRIGHT_VGPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tilewright_vgpu_module tilewright_vgpu_module;

typedef struct tilewright_vgpu_config {
  uint32_t grid[3], block[3];
  uint32_t cluster[3]; /* zeros: what the kernel says, else one block */
  uint32_t dynamic_shared_bytes;
  uint32_t threads;      /* of the host; 0 or 1 is the caller alone */
  int cooperative;       /* not 0: all blocks are resident at once */
  int hopper_arithmetic; /* not 0: tensor cores cut sums off as Hopper does */
  int completion;        /* of copies and wgmma: 0 at once, 1 as late as can be, 2 at random */
  uint64_t seed;         /* not 0: warps run in a random order that it decides */
} tilewright_vgpu_config;

/* Loads PTX text for a chip: "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a". NULL on
 * failure; then *error, if error is not NULL, is a text to free. */
tilewright_vgpu_module *tilewright_vgpu_load(const char *text, const char *chip, char **error);
void tilewright_vgpu_unload(tilewright_vgpu_module *module);

/* Runs a kernel to its end. `arguments` point to one value for each parameter;
 * pointers among them are addresses of the host. 0 on success, else the number of
 * the error's code as PJRT has it, and *error as above. */
int tilewright_vgpu_launch(tilewright_vgpu_module *module, const char *kernel,
                           const tilewright_vgpu_config *config, const void *const *arguments,
                           size_t argument_count, char **error);

/* Runs a kernel as above and checks it. `checks` is "all" (or NULL), or some of
 * races, uninit, bounds, barriers, strict with commas between. Afterwards *findings is the
 * number of places at which something is wrong, and *report, to free as errors are,
 * what it is: as "text" (or NULL) for people, "json" or "sarif" for tools. Either may
 * be NULL. Findings do not make the launch fail. In the library TilewrightVgpuCheck. */
int tilewright_vgpu_launch_checked(tilewright_vgpu_module *module, const char *kernel,
                                   const tilewright_vgpu_config *config,
                                   const void *const *arguments, size_t argument_count,
                                   const char *checks, const char *format, size_t *findings,
                                   char **report, char **error);

/* The memory of a variable of the module in global or constant memory; NULL if
 * there is none. *bytes is its size. */
void *tilewright_vgpu_variable(tilewright_vgpu_module *module, const char *name, size_t *bytes);

/* Writes the 128 bytes of a tensor map for tiles. `element` and `swizzle` are
 * numbered as CUtensorMapDataType and CUtensorMapSwizzle. Strides are in bytes,
 * rank - 1 of them. 0 on success. */
int tilewright_vgpu_encode_tensor_map(void *map, uint32_t element, uint32_t rank, void *address,
                                      const uint64_t *sizes, const uint64_t *strides,
                                      const uint32_t *box, const uint32_t *element_strides,
                                      uint32_t swizzle, int fill_nan, char **error);

void tilewright_vgpu_free_error(char *error);

#ifdef __cplusplus
}
#endif

#endif // TILEWRIGHT_VGPU_INCLUDE_TILEWRIGHT_VGPU_H
