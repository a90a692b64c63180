#include "common.cuh"
typedef unsigned long long u64; typedef unsigned u32; typedef __int128 i128; typedef unsigned __int128 u128;
extern "C" __global__ void wide(ARGS) {
  u64 a = IN(u64, 7), b = IN(u64, 8), c = IN(u64, 9), d = IN(u64, 10);
  u128 x = ((u128)a << 64) | b, y = ((u128)c << 64) | d;
  u128 s = x + y, t = x - y, p = x * y, q = y ? x / y : 0, r = y ? x % y : 0;
  OUT(0, (u64)s); OUT(1, (u64)(s >> 64)); OUT(2, (u64)t); OUT(3, (u64)(t >> 64)); OUT(4, (u64)p); OUT(5, (u64)(p >> 64));
  OUT(6, (u64)q); OUT(7, (u64)(q >> 64)); OUT(8, (u64)r); OUT(9, (u64)(r >> 64)); OUT(10, (u64)((i128)x >> (b & 127))); OUT(11, (int)(x < y) + 2 * (int)((i128)x < (i128)y));
  i128 sx = (i128)x, sy = (i128)y >> 70; i128 sq = sy ? sx / sy : 0; OUT(12, (u64)sq); OUT(13, (u64)(sq >> 64)); OUT(14, (double)x); OUT(15, (float)sx); OUT(16, (u64)(u128)(IN(double,10)>0&&IN(double,10)<1e30?IN(double,10):0.));
}
extern "C" __global__ void chains(ARGS) {
  u32 a = IN(u32, 4), b = IN(u32, 5), c = IN(u32, 6), d = a * 3 + 1, r, s, t, v; u64 x = IN(u64, 7), y = IN(u64, 8), w, z;
  asm("add.cc.u32 %0, %4, %5; addc.cc.u32 %1, %6, %7; addc.cc.u32 %2, %4, %6; addc.u32 %3, 0, 0;" : "=&r"(r), "=&r"(s), "=&r"(t), "=&r"(v) : "r"(a), "r"(b), "r"(c), "r"(d)); OUT(0, r); OUT(1, s); OUT(2, t); OUT(3, v);
  asm("sub.cc.u32 %0, %4, %5; subc.cc.u32 %1, %6, %7; subc.cc.u32 %2, %4, %6; subc.u32 %3, 0, 0;" : "=&r"(r), "=&r"(s), "=&r"(t), "=&r"(v) : "r"(a), "r"(b), "r"(c), "r"(d)); OUT(4, r); OUT(5, s); OUT(6, t); OUT(7, v);
  asm("mad.lo.cc.u32 %0, %4, %5, %6; madc.hi.cc.u32 %1, %4, %5, %7; madc.lo.cc.u32 %2, %6, %5, %4; addc.u32 %3, 0, 0;" : "=&r"(r), "=&r"(s), "=&r"(t), "=&r"(v) : "r"(a), "r"(b), "r"(c), "r"(d)); OUT(8, r); OUT(9, s); OUT(10, t); OUT(11, v);
  asm("add.cc.u64 %0, %2, %3; addc.u64 %1, 0, 0;" : "=&l"(w), "=&l"(z) : "l"(x), "l"(y)); OUT(12, w); OUT(13, z);
  asm("sub.cc.s64 %0, %2, %3; subc.s64 %1, 0, 0;" : "=&l"(w), "=&l"(z) : "l"(x), "l"(y)); OUT(14, w); OUT(15, z);
  asm("mad.hi.cc.u64 %0, %2, %3, %2; madc.lo.u64 %1, %2, %3, 0;" : "=&l"(w), "=&l"(z) : "l"(x), "l"(y)); OUT(16, w); OUT(17, z);
  asm("mad.hi.cc.s32 %0, %2, %3, %2; madc.hi.s32 %1, %2, %3, 0;" : "=&r"(r), "=&r"(s) : "r"(a), "r"(b)); OUT(18, r); OUT(19, s);
}
