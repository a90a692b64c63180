#include <cstdint>
__device__ __forceinline__ uint32_t lane_id() { uint32_t r; asm volatile("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__device__ __forceinline__ uint32_t smem_u32(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void cp16(void *dst, const void *src) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" :: "r"(smem_u32(dst)), "l"(src));
}
__global__ void asm_copy(const float4 *__restrict__ in, float4 *out, uint64_t *clk)
{
    __shared__ float4 buf[128];
    uint64_t t0, t1;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t0));
    cp16(&buf[threadIdx.x], &in[blockIdx.x * blockDim.x + threadIdx.x]);
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;\n" ::: "memory");
    __syncthreads();
    float4 v = buf[threadIdx.x ^ 1];
    float x;
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(x) : "f"(v.x), "f"(v.y), "f"(v.z));
    v.w = x + lane_id();
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t1));
    if (threadIdx.x == 0) clk[blockIdx.x] = t1 - t0;
}
__global__ void bits(const uint32_t *in, uint32_t *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint32_t v = in[i], r;
    asm("{ .reg .pred p; setp.gt.u32 p, %1, 1000; @p bfe.u32 %0, %1, 4, 8; @!p mov.u32 %0, 7; }" : "=r"(r) : "r"(v));
    r += __popc(v) + __clz(v) * 3 + __ffs(v) * 5 + (__brev(v) >> 24) + __byte_perm(v, r, 0x0246) % 100 + __funnelshift_l(v, r, 3) % 7;
    r ^= __dp4a((int)v, (int)0x01020304, 5);
    out[i] = r;
}
