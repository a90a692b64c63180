// One cp.async of SIZE bytes a lane, from source[lane] of `from` to target[lane] of shared memory, in
// bytes; a source below zero: the lane is idle. given[lane] bytes are copied, the rest is set to zero.
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
extern "C" __global__ void scattered_copy(const int* source, const int* target, const int* given,
                                          const char* from, int* out)
{
    __shared__ __align__(128) char tile[4096];
    int lane = threadIdx.x;
    int place = source[lane];
    unsigned to = (unsigned)__cvta_generic_to_shared(tile + target[lane]);
    for (int i = lane; i < 1024; i += 32)
        ((int*)tile)[i] = -1;
    __syncthreads();
    if (place >= 0)
        asm volatile("cp.async." TEXT(CACHE) ".shared.global [%0], [%1], " TEXT(SIZE) ", %2;"
                     :: "r"(to), "l"(from + place), "r"(given[lane]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    for (int i = lane; i < 1024; i += 32)
        out[i] = ((int*)tile)[i];
}
