#include "common.cuh"
#include <stdio.h>
#include <assert.h>
extern "C" __global__ void prints(ARGS) { if (threadIdx.x < 3) printf("thread %d of block %u: %5.2f %s %lld %c %%\n", threadIdx.x, blockIdx.x, 1.5 * threadIdx.x, "text", 1ll << 40, 'x'); if (threadIdx.x == 40) printf("no arguments\n"); OUT(0, printf("%x\n", 255u)); }
extern "C" __global__ void asserts(ARGS) { int v = TID; assert(v != 5 && "five is bad"); OUT(0, v); }
extern "C" __global__ void traps(ARGS) { if (TID == 70) __trap(); OUT(0, TID); if (TID == 71) __brkpt(); }
extern "C" __global__ void clocks(ARGS) { long long a = clock64(); unsigned c = clock(); unsigned long long g; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g)); unsigned long long s = 0; for (int i = 0; i < TID; i++) s += in[i]; long long b = clock64(); OUT(0, (int)(b > a)); OUT(1, s); __nanosleep(100); unsigned long long h; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(h)); OUT(2, (int)(h >= g)); OUT(3, c != 0u); unsigned e; asm volatile("mov.u32 %0, %%smid;" : "=r"(e)); asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(e)); OUT(4, e); asm volatile("mov.u32 %0, %%clock_hi;" : "=r"(e)); asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(e)); asm volatile("mov.u32 %0, %%nsmid;" : "=r"(e));asm volatile("pmevent 3;");}
extern "C" __global__ void heap(ARGS) { int* p = (int*)malloc(16); p[1] = TID; p[2] = 5; OUT(0, p[1] + p[2]); free(p); int* q = new int[4]; q[3] = 7; OUT(1, q[3]); delete[] q; }
extern "C" __global__ void exits(ARGS) { OUT(0, TID); if (TID & 1) asm volatile("exit;"); OUT(1, TID); }
