#include "common.cuh"
typedef long long i64; typedef unsigned long long u64; typedef unsigned u32;
extern "C" __global__ void fromfloat(ARGS) {
  float a = IN(float, 0); double d = IN(double, 10);
  OUT(0, __float2int_rn(a)); OUT(1, __float2int_rz(a)); OUT(2, __float2int_ru(a)); OUT(3, __float2int_rd(a)); OUT(4, __float2uint_rn(a)); OUT(5, __float2uint_rz(a)); OUT(6, __float2uint_ru(a)); OUT(7, __float2uint_rd(a));
  OUT(8, __float2ll_rn(a)); OUT(9, __float2ll_rz(a)); OUT(10, __float2ull_ru(a)); OUT(11, __float2ull_rd(a)); OUT(12, __double2int_rn(d)); OUT(13, __double2int_rz(d)); OUT(14, __double2uint_ru(d)); OUT(15, __double2uint_rd(d)); OUT(16, __double2ll_rn(d)); OUT(17, __double2ull_rz(d));
  OUT(18, __double2float_rn(d)); OUT(19, __double2float_rz(d)); OUT(20, __double2float_ru(d)); OUT(21, __double2float_rd(d)); OUT(22, (double)a); OUT(23, (short)a); OUT(24, (unsigned short)a); OUT(25, (signed char)a); OUT(26, (unsigned char)a); OUT(27, (short)d); OUT(28, (unsigned char)d);
  unsigned short h; short k; u32 r; 
#define X(slot, t, con, v, T) { T q; asm(t " %0, %1;" : "=" con(q) : v); OUT(slot, q); }
  X(29, "cvt.rzi.s16.f32", "h", "f"(a), short) X(30, "cvt.rni.u16.f32", "h", "f"(a), unsigned short) X(31, "cvt.rni.ftz.s32.f32", "r", "f"(a), int) X(32, "cvt.rpi.f32.f32", "f", "f"(a), float) X(33, "cvt.rni.ftz.sat.f32.f32", "f", "f"(a), float) X(34, "cvt.sat.f32.f32", "f", "f"(a), float) X(35, "cvt.rmi.f64.f64", "d", "d"(d), double) X(36, "cvt.rn.sat.f32.f64", "f", "d"(d), float) X(37, "cvt.ftz.f64.f32", "d", "f"(a), double) X(38, "cvt.rn.ftz.f32.f64", "f", "d"(d), float) X(39, "cvt.rzi.s64.f64", "l", "d"(d), i64) X(40, "cvt.rpi.u64.f64", "l", "d"(d), u64) X(41, "cvt.rzi.sat.s32.f32", "r", "f"(a), int) X(42, "cvt.sat.f64.f64", "d", "d"(d), double)
}
extern "C" __global__ void tofloat(ARGS) {
  u32 a = IN(u32, 4); int s = a; u64 x = IN(u64, 7); i64 y = x;
  OUT(0, __int2float_rn(s)); OUT(1, __int2float_rz(s)); OUT(2, __int2float_ru(s)); OUT(3, __int2float_rd(s)); OUT(4, __uint2float_rn(a)); OUT(5, __uint2float_rz(a)); OUT(6, __uint2float_ru(a)); OUT(7, __uint2float_rd(a));
  OUT(8, __ll2float_rn(y)); OUT(9, __ll2float_rz(y)); OUT(10, __ull2float_ru(x)); OUT(11, __ull2float_rd(x)); OUT(12, __int2double_rn(s)); OUT(13, __uint2double_rn(a)); OUT(14, __ll2double_rn(y)); OUT(15, __ll2double_rz(y)); OUT(16, __ull2double_ru(x)); OUT(17, __ull2double_rd(x)); OUT(18, (float)(short)a); OUT(19, (double)(unsigned char)a); OUT(20, (float)(signed char)a);
}
extern "C" __global__ void ints(ARGS) {
  u32 a = IN(u32, 4); u64 x = IN(u64, 7);
#define X(slot, t, con, v, T) { T q; asm(t " %0, %1;" : "=" con(q) : v); OUT(slot, q); }
  X(0, "cvt.s32.s8", "r", "r"(a), int) X(1, "cvt.u32.u8", "r", "r"(a), u32) X(2, "cvt.s16.s8", "h", "h"((short)a), short) X(3, "cvt.u64.u32", "l", "r"(a), u64) X(4, "cvt.s64.s32", "l", "r"(a), i64) X(5, "cvt.u32.u64", "r", "l"(x), u32) X(6, "cvt.sat.s8.s32", "r", "r"(a), int) X(7, "cvt.sat.u8.s32", "r", "r"(a), u32) X(8, "cvt.sat.u16.u32", "h", "r"(a), unsigned short) X(9, "cvt.sat.s32.s64", "r", "l"(x), int) X(10, "cvt.sat.u32.s64", "r", "l"(x), u32) X(11, "cvt.sat.s32.u64", "r", "l"(x), int) X(12, "cvt.s64.s16", "l", "h"((short)a), i64) X(13, "cvt.u8.u32", "r", "r"(a), u32) X(14, "cvt.s8.s64", "r", "l"(x), u32)
  { u32 q; asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(q) : "r"(a), "r"((u32)x)); OUT(15, q); asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(q) : "r"(a), "r"((u32)x), "r"((u32)(x >> 32))); OUT(16, q); }
}
