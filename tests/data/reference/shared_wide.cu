// One access of BYTES a lane to shared memory at element index[lane] (negative: the lane is idle).
// GENERIC says which addresses it uses, STORE whether it stores or loads.
#if GENERIC
#define SPACE ""
#define ADDRESS "l"(reinterpret_cast<unsigned long long>(p))
#else
#define SPACE ".shared"
#define ADDRESS "r"(static_cast<unsigned>(__cvta_generic_to_shared(p)))
#endif

extern "C" __global__ void shared_wide(const int* index, unsigned* out)
{
    __shared__ __align__(16) unsigned s[1024];
    unsigned t = threadIdx.x;
    for (unsigned c = t; c < 1024; c += blockDim.x)
        s[c] = c * 3 + 1;
    __syncthreads();
    int at = index[t];
    unsigned x = 0, y = 0, z = 0, w = 0;
    if (at >= 0) {
        void* p = reinterpret_cast<unsigned char*>(s) + at * BYTES;
#if STORE && BYTES == 16
        asm volatile("st" SPACE ".v4.u32 [%0], {%1, %2, %3, %4};"
                     :: ADDRESS, "r"(at), "r"(at + 1), "r"(at + 2), "r"(at + 3) : "memory");
#elif STORE
        asm volatile("st" SPACE ".v2.u32 [%0], {%1, %2};" :: ADDRESS, "r"(at), "r"(at + 1) : "memory");
#elif BYTES == 16
        asm volatile("ld" SPACE ".v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : ADDRESS : "memory");
#else
        asm volatile("ld" SPACE ".v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : ADDRESS : "memory");
#endif
    }
    __syncthreads();
    for (unsigned c = t; c < 1024; c += blockDim.x)
        out[c] = s[c] + x + 7 * y + 49 * z + 343 * w;
}
