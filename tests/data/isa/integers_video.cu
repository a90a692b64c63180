#include "common.cuh"
typedef long long i64; typedef unsigned long long u64; typedef unsigned u32; typedef unsigned short u16; typedef unsigned char u8; typedef signed char s8;
extern "C" __global__ void video(ARGS) {
  u32 a = IN(u32, 4), b = IN(u32, 5), c = IN(u32, 6), r;
#define V3(slot, text) asm(text " %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); OUT(slot, r)
#define V2(slot, text) asm(text ";" : "=r"(r) : "r"(a), "r"(b)); OUT(slot, r)
  V2(0, "vadd.s32.s32.s32 %0, %1.b1, %2.h0"); V2(1, "vsub.s32.u32.s32.sat %0, %1, %2"); V2(2, "vabsdiff.u32.u32.u32 %0, %1.b3, %2.b0");
  V2(3, "vmin.s32.s32.s32 %0, %1.h1, %2.b2"); V2(4, "vmax.u32.u32.u32 %0, %1, %2"); V2(5, "vshl.u32.u32.u32.clamp %0, %1, %2"); V2(6, "vshr.s32.u32.u32.wrap %0, %1, %2");
  asm("vadd.s32.s32.s32.min %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); OUT(7, r);
  asm("vmad.s32.s32.s32 %0, %1.b0, %2.b1, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); OUT(8, r);
  asm("vadd4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); OUT(9, r);
  asm("vadd2.s32.s32.s32.sat %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c)); OUT(10, r);
  asm("vset.u32.u32.lt %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b)); OUT(11, r);
}
