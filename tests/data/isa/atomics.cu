#include "common.cuh"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
typedef unsigned u32; typedef unsigned long long u64;
__device__ u32 g[16]; __device__ u64 h[16]; __device__ float f[4]; __device__ double d[4]; __device__ __half2 hh[2]; __device__ __nv_bfloat162 bb[2]; __device__ unsigned short us[4]; __device__ __half h1[4];
extern "C" __global__ void global(ARGS) {   // one block does it all, so that the end is defined
  int t = TID; u32 v = IN(u32, 4); u64 w = IN(u64, 7);
  atomicAdd(&g[0], v); atomicSub(&g[1], v); atomicMin(&g[2], v); atomicMax(&g[3], v); atomicAnd(&g[4], v | 0xf0); atomicOr(&g[5], v); atomicXor(&g[6], v); atomicInc(&g[7], 50); atomicDec(&g[8], 50); atomicMin((int*)&g[9], (int)v); atomicMax((int*)&g[10], (int)v);
  atomicAdd(&h[0], w); atomicMin(&h[1], w); atomicMax((long long*)&h[2], (long long)w); atomicAnd(&h[3], w); atomicOr(&h[4], w); atomicXor(&h[5], w); atomicAdd(&f[0], (float)(v & 7)); atomicAdd(&d[0], (double)(v & 15)); atomicAdd(&hh[0], __floats2half2_rn(1.f, v & 1)); atomicAdd(&bb[0], __floats2bfloat162_rn(v & 1, 1.f)); atomicCAS(&g[11], 0u, 7u); atomicCAS(&us[0], (unsigned short)0, (unsigned short)9); atomicAdd(&h1[0], __float2half(1.f));
  u32 old = atomicAdd((u32*)(out + 2048 * 40) + t, v); OUT(0, old); OUT(1, atomicExch((u32*)(out + 2048 * 41) + t, v)); OUT(2, atomicCAS((u64*)(out + 2048 * 42) + t, 0ull, w)); OUT(3, atomicExch((float*)(out + 2048 * 43) + t, 2.5f)); OUT(4, atomicAdd((float*)(out + 2048 * 44) + t, IN(float, 2))); OUT(5, atomicAdd((double*)(out + 2048 * 45) + t, IN(double, 11)));
  asm volatile("red.global.add.f32 [%0], %1;" :: "l"((float*)(out + 2048 * 46) + t), "f"(IN(float, 2))); 
#if __CUDA_ARCH__ >= 900
  atomicAdd((float4*)(out + 2048 * 47) + t, make_float4(1, 2, 3, IN(float, 2)));
  asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1, %1};" :: "l"((u64*)(out + 2048 * 48) + t), "r"(0x3c003c00)); 
#endif
  asm volatile("atom.global.relaxed.gpu.min.u32 _, [%0], %1;" :: "l"((u32*)(out + 2048 * 49) + t), "r"(v)); u32 lock; asm volatile("atom.acquire.cta.global.cas.b32 %0, [%1], 0, 1;" : "=r"(lock) : "l"((u32*)(out + 2048 * 50) + t)); OUT(6, lock);
  __syncthreads(); if (t < 12) ((u32*)(out + 2048 * 51))[t] = g[t]; if (t < 6) ((u64*)(out + 2048 * 52))[t] = h[t]; if (t == 0) { ((float*)(out + 2048 * 53))[0] = f[0]; ((double*)(out + 2048 * 54))[0] = d[0]; ((__half2*)(out + 2048 * 55))[0] = hh[0]; ((__nv_bfloat162*)(out + 2048 * 56))[0] = bb[0]; ((unsigned short*)(out + 2048 * 57))[0] = us[0]; ((__half*)(out + 2048 * 58))[0] = h1[0]; }
}
extern "C" __global__ void shared(ARGS) {
  __shared__ u32 s[8]; __shared__ u64 q[4]; __shared__ float fs; __shared__ double ds; __shared__ int bins[16]; int t = threadIdx.x; if (t < 8) s[t] = 0; if (t < 4) q[t] = 0; if (t < 16) bins[t] = 0; if (t == 0) { fs = 0; ds = 0; } __syncthreads(); u32 v = IN(u32, 5);
  atomicAdd(&s[0], v); atomicMax(&s[1], v); atomicOr(&s[2], v); atomicInc(&s[3], 9); atomicCAS(&s[4], 0u, 5u); atomicExch(&s[5], 3u); atomicAdd(&q[0], (u64)v); atomicMax(&q[1], (u64)v << 20); atomicAdd(&fs, (float)(v & 3)); atomicAdd(&ds, (double)(v & 3)); atomicAdd(&bins[v & 15], 1); atomicXor(&s[6], v); atomicAnd_block(&s[7], v); atomicAdd_system(&q[2], 2ull); __syncthreads();
  if (t < 8) OUT(0, s[t]); if (t < 4) OUT(1, q[t]); OUT(2, fs); OUT(3, ds); if (t < 16) OUT(4, bins[t]);
}
