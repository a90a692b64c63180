#include "common.cuh"
typedef unsigned long long u64;
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ struct { float scale; double offset; short s[3]; } settings = {1.5f, -2.25, {7, -8, 9}};
__device__ int counter = 41; __device__ float board[128]; __device__ int* pointer = &counter; __device__ const char* text = "hello";
__device__ int scratch[4] = {1, 2, 3};
extern "C" __global__ void spaces(ARGS) {
  __shared__ int tile[64]; __shared__ double wide[64]; int t = threadIdx.x;
  tile[t] = IN(int, 4); wide[t] = IN(double, 11); __syncthreads();
  OUT(0, tile[63 - t]); OUT(1, wide[(t * 7) & 63]); OUT(2, table[t & 7]); OUT(3, settings.scale * settings.s[t % 3] + (float)settings.offset); board[TID] = (float)TID; OUT(4, board[TID] + *pointer); OUT(5, text[t % 6]); OUT(6, scratch[t & 3]);
  int local[16]; for (int i = 0; i < 16; i++) local[i] = i * t; OUT(7, local[(t * 5) & 15]);
  int* g = (t & 1) ? &tile[t] : &local[t & 15]; OUT(8, *g); OUT(9, (int)__isShared(g) + 2 * (int)__isLocal(g) + 4 * (int)__isGlobal(out) + 8 * (int)__isConstant(table));
  extern __shared__ unsigned char dynamic[]; u64* d = (u64*)dynamic; d[t] = IN(u64, 7); __syncthreads(); OUT(10, d[t ^ 1]);
}
extern "C" __global__ void vectors(ARGS) {
  OUT(0, IN(uchar2, 4)); OUT(1, IN(uchar4, 5)); OUT(2, IN(short2, 4)); OUT(3, IN(ushort4, 7)); OUT(4, IN(int2, 7)); OUT(5, IN(int4, 30)); OUT(6, IN(float4, 30)); OUT(7, IN(double2, 30)); OUT(8, IN(longlong2, 30)); OUT(9, IN(char, 4)); OUT(10, IN(short, 5));
  float3 v = IN(float3, 24); OUT(11, v.x + v.y * v.z); int4 w = __ldg((const int4*)(in + 30 * 2048) + TID); OUT(12, w.x ^ w.w);
  OUT(13, __ldcs((const int*)in + TID)); OUT(14, __ldca((const double*)in + TID)); OUT(15, __ldcg((const short*)in + TID)); OUT(16, __ldlu((const float4*)in + TID)); OUT(17, __ldcv((const unsigned*)in + TID)); __stcs((int*)(out + 18 * 2048) + TID, 5); __stwt((float2*)(out + 19 * 2048) + TID, make_float2(1, 2)); __stcg((u64*)(out + 20 * 2048) + TID, 7ull); __stwb((uchar4*)(out + 21 * 2048) + TID, make_uchar4(1, 2, 3, 4));
  volatile int* vo = (volatile int*)(out + 22 * 2048) + TID; *vo = 3; *vo += 4;
  unsigned q; asm volatile("ld.global.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(q) : "l"(in + 4 * TID)); OUT(23, q); asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(q) : "l"(in + 4 * TID)); OUT(24, q); asm volatile("st.release.gpu.global.u32 [%0], %1;" :: "l"(out + 25 * 2048 + 4 * TID), "r"(q)); asm volatile("st.relaxed.sys.global.v2.b32 [%0], {%1, %1};" :: "l"(out + 26 * 2048 + 8 * TID), "r"(q)); asm volatile("prefetch.global.L2 [%0];" :: "l"(in)); asm volatile("ld.global.b8 %0, [%1];" : "=r"(q) : "l"(in + TID)); OUT(27, q);
  asm volatile("{.reg .v4 .b32 vec; ld.global.v4.b32 vec, [%1]; mov.b32 %0, vec.z;}" : "=r"(q) : "l"(in + 16 * TID)); OUT(28, q);
}
struct Small { int a; float b; short c; }; struct Big { double m[9]; int n; char tag[5]; };
__device__ __noinline__ Big change(Big b, Small s) { b.m[s.a & 7] += s.b; b.n ^= s.c; b.tag[1] = 'x'; return b; }
extern "C" __global__ void structs(ARGS) {
  Big b; for (int i = 0; i < 9; i++) b.m[i] = i + TID; b.n = TID; for (int i = 0; i < 5; i++) b.tag[i] = 'a' + i;
  Small s = {TID, 0.5f, (short)(3 * TID)}; Big c = change(b, s); double sum = 0; for (int i = 0; i < 9; i++) sum += c.m[i] * (i + 1); OUT(0, sum); OUT(1, c.n); OUT(2, c.tag[1] * 256 + c.tag[4]);
}
extern "C" __global__ void generic(ARGS) {
  __shared__ int s[64]; s[threadIdx.x] = TID; __syncthreads(); int* p = s; unsigned a = (unsigned)__cvta_generic_to_shared(p + (threadIdx.x ^ 3)); int r; asm volatile("ld.shared.s32 %0, [%1];" : "=r"(r) : "r"(a)); OUT(0, r);
  memset(out + 2048 + TID * 8, TID, 8); memcpy(out + 4096 + TID * 12, in + TID * 12, 12);
  unsigned char bytes[13]; for (int i = 0; i < 13; i++) bytes[i] = (unsigned char)(i * TID); int x; memcpy(&x, bytes + 4, 4); OUT(3, x);
}
