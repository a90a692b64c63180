#include "common.cuh"
__device__ __noinline__ int twice(int x) { return 2 * x; } __device__ __noinline__ int square(int x) { return x * x; } __device__ __noinline__ int minus(int x) { return -x; }
typedef int (*F)(int); __device__ F functions[3] = {twice, square, minus};
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ int ack(int m, int n) { if (m == 0) return n + 1; if (n == 0) return ack(m - 1, 1); return ack(m - 1, ack(m, n - 1)); }
template <typename T, int N> __device__ __noinline__ T total(const T* p) { T s = 0; for (int i = 0; i < N; i++) s += p[i]; return s; }
struct Shape { __device__ virtual float area() const = 0; }; struct Square : Shape { float a; __device__ float area() const { return a * a; } }; struct Circle : Shape { float r; __device__ float area() const { return 3 * r * r; } };
extern "C" __global__ void calls(ARGS) {
  OUT(0, twice(TID) + square(TID)); F f = functions[TID % 3]; OUT(1, f(TID)); OUT(2, fib(threadIdx.x % 9)); OUT(3, ack(threadIdx.x % 3, threadIdx.x % 4)); OUT(4, total<float, 3>((const float*)(in + 24 * 2048) + TID) + (float)total<int, 2>((const int*)in + TID));
  Square s; s.a = TID; Circle c; c.r = TID; const Shape* p = (TID & 1) ? (const Shape*)&s : &c; OUT(5, p->area());
  auto lambda = [&](int x) { return x + TID; }; OUT(6, lambda(4)); F g = (TID & 2) ? twice : minus; OUT(7, g(g(TID)));
}
extern "C" __global__ void switches(ARGS) {
  int t = TID, r = 0; switch (t % 9) { case 0: r = 5; break; case 1: r = t * 7; break; case 2: r = t / 3; case 3: r += 100; break; case 4: r = -t; break; case 5: r = t ^ 21; break; case 6: r = t << 3; break; case 7: r = in[t]; break; default: r = 77; }
  OUT(0, r); int n = 0; for (int i = 0; i < t; i++) { if (i % 3 == 0) continue; if (i > 40) break; n += i; } OUT(1, n); int w = t; while (w > 1) w = (w & 1) ? 3 * w + 1 : w >> 1; OUT(2, w); do { n -= 7; } while (n > 0); OUT(3, n); if (t > 100) return; OUT(4, t);
  unsigned q; asm("{.reg .u32 i; rem.u32 i, %1, 3; T: .branchtargets A, B, C; brx.idx i, T; A: mov.u32 %0, 10; bra.uni D; B: mov.u32 %0, 20; bra.uni D; C: mov.u32 %0, 30; D: }" : "=r"(q) : "r"(t)); OUT(5, q);
}
