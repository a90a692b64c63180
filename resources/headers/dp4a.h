// NVRTC 13 fails at these intrinsics where it makes debug information.
static __device__ __forceinline__ int tilescope___dp4a(int a, int b, int c)
{ int d; asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }
static __device__ __forceinline__ int tilescope___dp2a_lo(int a, int b, int c)
{ int d; asm("dp2a.lo.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }
static __device__ __forceinline__ int tilescope___dp2a_hi(int a, int b, int c)
{ int d; asm("dp2a.hi.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }
static __device__ __forceinline__ unsigned tilescope___dp4a(unsigned a, unsigned b, unsigned c)
{ unsigned d; asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }
static __device__ __forceinline__ unsigned tilescope___dp2a_lo(unsigned a, unsigned b, unsigned c)
{ unsigned d; asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }
static __device__ __forceinline__ unsigned tilescope___dp2a_hi(unsigned a, unsigned b, unsigned c)
{ unsigned d; asm("dp2a.hi.u32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }
#define __dp4a tilescope___dp4a
#define __dp2a_lo tilescope___dp2a_lo
#define __dp2a_hi tilescope___dp2a_hi
