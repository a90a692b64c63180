/* A CUDA driver without a GPU: device memory is the host's, a launch only copies its parameters.
   It holds what core/gpu/cuda_bindings_driver.py calls; cuda-bindings asks for each by its name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int status;
static unsigned char parameters[4096];
static size_t parameters_size;
static unsigned shape[7];
static uint64_t variable = 0;
static int dynamic_limit = 0, current = 0, retained = 0;

status cuInit(unsigned flags) { return flags ? 1 : 0; }
status cuDriverGetVersion(int *version) { *version = 13010; return 0; }
status cuDeviceGetCount(int *count) { *count = 1; return 0; }
status cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal ? 101 : 0; }
status cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Fake GPU", length); return 0; }
status cuDeviceGetPCIBusId(char *id, int length, int device) { strncpy(id, "0000:65:00.0", length); return 0; }
status cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)7 << 30; return 0; }
status cuDeviceGetAttribute(int *value, int attribute, int device) { *value = 1000 + attribute; return 0; }
status cuDevicePrimaryCtxRetain(void **context, int device) { *context = &retained; retained++; return 0; }
status cuDevicePrimaryCtxRelease_v2(int device) { return retained-- > 0 ? 0 : 201; }
status cuCtxSetCurrent(void *context) { current = context != NULL; return 0; }
status cuCtxSynchronize(void) { return current ? 0 : 201; }
status cuMemGetInfo_v2(size_t *free_, size_t *total) { *free_ = 1 << 30; *total = (size_t)7 << 30; return 0; }
status cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    if (bytes > (size_t)1 << 30) return 2;
    *address = (uint64_t)malloc(bytes);
    return 0;
}
status cuMemFree_v2(uint64_t address) { free((void *)address); return 0; }
status cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { memcpy((void *)to, from, bytes); return 0; }
status cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) { memcpy(to, (void *)from, bytes); return 0; }
status cuMemsetD8_v2(uint64_t to, unsigned char value, size_t count) { memset((void *)to, value, count); return 0; }
status cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream) {
    for (size_t i = 0; i < count; i++) ((unsigned *)to)[i] = value;
    return stream ? 1 : 0;
}
status cuEventCreate(void **event, unsigned flags) { *event = malloc(8); return 0; }
status cuEventRecord(void *event, void *stream) { return event && !stream ? 0 : 1; }
status cuEventSynchronize(void *event) { return event ? 0 : 1; }
status cuEventElapsedTime_v2(float *ms, void *start, void *end) { *ms = 0.25f; return start != end ? 0 : 1; }
status cuModuleLoadData(void **module, const void *image) {
    *module = &variable;
    return memcmp(image, "\177ELF", 4) ? 200 : 0;
}
status cuModuleGetFunction(void **function, void *module, const char *name) {
    *function = shape;
    return strcmp(name, "k") ? 500 : 0;
}
status cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *module, const char *name) {
    *address = (uint64_t)&variable;
    *bytes = sizeof variable;
    return strcmp(name, "factor") ? 500 : 0;
}
status cuFuncGetAttribute(int *value, int attribute, void *function) { *value = 10 + attribute; return 0; }
status cuFuncSetAttribute(void *function, int attribute, int value) {
    dynamic_limit = value;
    return attribute == 8 ? 0 : 1; /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
}
status cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, void *stream, void **one_by_one, void **extra) {
    unsigned asked[] = {gx, gy, gz, bx, by, bz, shared};
    if (stream || one_by_one || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4]) return 1;
    if (bx * by * bz > 1024) return 701;
    memcpy(shape, asked, sizeof shape);
    parameters_size = *(size_t *)extra[3];
    memcpy(parameters, extra[1], parameters_size);
    return 0;
}
status cuGetErrorString(int error, const char **text) {
    *text = error == 2 ? "out of memory"
          : error == 701 ? "too many resources requested for launch"
          : error == 500 ? "named symbol not found" : "something else";
    return 0;
}
status cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *why) {
    char newer[128];
    strcat(strcpy(newer, name), "_v2");
    void *self = dlopen(NULL, RTLD_LAZY);
    Dl_info here;
    if (dladdr((void *)&cuInit, &here)) self = dlopen(here.dli_fname, RTLD_LAZY);
    *found = dlsym(self, newer);
    if (!*found) *found = dlsym(self, name);
    if (why) *why = *found ? 0 : 1;
    return *found ? 0 : 500;
}

/* What the test asks. */
size_t fake_parameters(unsigned char *to) { memcpy(to, parameters, parameters_size); return parameters_size; }
void fake_shape(unsigned *to) { memcpy(to, shape, sizeof shape); }
uint64_t fake_variable(void) { return variable; }
int fake_contexts(void) { return retained; }
int fake_dynamic_limit(void) { return dynamic_limit; }
