#include "common.cuh"
typedef long long i64; typedef unsigned long long u64; typedef unsigned u32; typedef unsigned short u16; typedef unsigned char u8; typedef signed char s8;
extern "C" __global__ void widths(ARGS) {
  u32 a = IN(u32, 4), b = IN(u32, 5); int s = (int)a, t = (int)b;
  u64 c = IN(u64, 7), d = IN(u64, 8); i64 e = (i64)c, f = (i64)d;
  OUT(0, a + b); OUT(1, a - b); OUT(2, a * b); OUT(3, b ? a / b : 7u); OUT(4, b ? a % b : 7u);
  OUT(5, t && !(t == -1) ? s / t : 3); OUT(6, t && !(t == -1) ? s % t : 3); OUT(7, c + d); OUT(8, c - d); OUT(9, c * d);
  OUT(10, d ? c / d : 7ull); OUT(11, d ? c % d : 7ull); OUT(12, f && f != -1 ? e / f : 3ll); OUT(13, f && f != -1 ? e % f : 3ll);
  OUT(14, (u8)(a + b)); OUT(15, (s8)(s >> 3)); OUT(16, (u16)(a * b)); OUT(17, (short)(s - t));
  OUT(18, (i64)s * t); OUT(19, (u64)a * b); OUT(20, a << (b & 31)); OUT(21, s >> (b & 31)); OUT(22, c << (b & 63)); OUT(23, e >> (b & 63)); OUT(24, c >> (b & 63));
  OUT(25, min(s, t)); OUT(26, max(a, b)); OUT(27, min(e, f)); OUT(28, max(c, d)); OUT(29, abs(s)); OUT(30, llabs(e));
  OUT(31, ~a ^ b); OUT(32, !a); OUT(33, (a & b) | (a & ~b)); OUT(34, (s < t) + 2 * (a < b) + 4 * (e < f) + 8 * (c < d));
  u16 h = IN(u16, 4), g = IN(u16, 5); OUT(35, (u16)(h + g)); OUT(36, (u16)(h * g)); OUT(37, (short)((short)h >> 2)); OUT(38, (u16)(g ? h / g : 0)); OUT(39, (short)max((short)h, (short)g));
  u8 p = IN(u8, 4), q = IN(u8, 5); OUT(40, (u8)(p * q)); OUT(41, (s8)((s8)p / ((s8)q ? (s8)q : 1)));
}
