#include "common.cuh"
typedef long long i64; typedef unsigned long long u64; typedef unsigned u32; typedef unsigned short u16; typedef unsigned char u8; typedef signed char s8;
extern "C" __global__ void intrinsics(ARGS) {
  u32 a = IN(u32, 4), b = IN(u32, 5), c = IN(u32, 6); int s = a, t = b; u64 x = IN(u64, 7), y = IN(u64, 8);
  OUT(0, __mul24(s, t)); OUT(1, __umul24(a, b)); OUT(2, __mulhi(s, t)); OUT(3, __umulhi(a, b)); OUT(4, __mul64hi((i64)x, (i64)y)); OUT(5, __umul64hi(x, y));
  OUT(6, __sad(s, t, c)); OUT(7, __usad(a, b, c)); OUT(8, __brev(a)); OUT(9, __brevll(x)); OUT(10, __clz(s)); OUT(11, __clzll(x)); OUT(12, __popc(a)); OUT(13, __popcll(x));
  OUT(14, __ffs(s)); OUT(15, __ffsll((i64)x)); OUT(16, __byte_perm(a, b, c)); OUT(17, __funnelshift_l(a, b, c)); OUT(18, __funnelshift_r(a, b, c)); OUT(19, __funnelshift_lc(a, b, c)); OUT(20, __funnelshift_rc(a, b, c));
  OUT(21, __hadd(s, t)); OUT(22, __rhadd(s, t)); OUT(23, __uhadd(a, b)); OUT(24, __urhadd(a, b));
  OUT(25, __dp4a(s, t, (int)c)); OUT(26, __dp4a(a, b, c)); OUT(27, __dp2a_lo(s, t, (int)c)); OUT(28, __dp2a_hi(a, b, c));
  OUT(29, (a & b) ^ (b & c) ^ (a & c)); OUT(30, __fns(a, b & 31, (int)(c & 15) - 8));
  OUT(31, __vadd4(a, b)); OUT(32, __vabsdiffu4(a, b)); OUT(33, __vsadu4(a, b)); OUT(34, __vmaxs2(a, b)); OUT(35, __vcmpgtu4(a, b)); OUT(36, __vaddss2(a, b)); OUT(37, __vavgu4(a, b)); OUT(38, __vabs4(a)); OUT(39, __vsetltu2(a, b));
  OUT(40, __vaddus4(a, b)); OUT(41, __vsubss4(a, b)); OUT(42, __vneg2(a)); OUT(43, __vminu4(a, b)); OUT(44, __vsads2(a, b)); OUT(45, __viaddmax_s32(s, t, (int)c)); OUT(46, __vimin3_s32_relu(s, t, (int)c)); OUT(47, __viaddmin_u32(a,b,c)); OUT(48, __vimax3_u16x2(a,b,c));
}
