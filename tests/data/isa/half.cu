#include "common.cuh"
#include <cuda_fp16.h>
extern "C" __global__ void scalar(ARGS) {
  __half a = IN(__half, 14), b = IN(__half, 15), c = IN(__half, 16);
  OUT(0, __hadd(a, b)); OUT(1, __hsub(a, b)); OUT(2, __hmul(a, b)); OUT(3, __hfma(a, b, c)); OUT(4, __hadd_sat(a, b)); OUT(5, __hfma_relu(a, b, c)); OUT(6, __hmin(a, b)); OUT(7, __hmax(a, b)); OUT(8, __hmin_nan(a, b)); OUT(9, __hneg(a)); OUT(10, __habs(a)); OUT(11, __hdiv(a, b));
  OUT(12, (int)__hlt(a, b) + 2 * __heq(a, b) + 4 * __hne(a, b) + 8 * __hgtu(a, b) + 16 * __hequ(a, b) + 32 * __hneu(a, b)); OUT(13, __half2float(a)); OUT(14, __float2half_rn(IN(float, 0))); OUT(15, __float2half_rz(IN(float, 0))); OUT(16, __float2half_ru(IN(float, 2))); OUT(17, __float2half_rd(IN(float, 2)));
  OUT(18, __half2int_rn(a)); OUT(19, __half2int_rz(a)); OUT(20, __half2uint_ru(a)); OUT(21, __half2short_rd(a)); OUT(22, __half2ll_rn(a)); OUT(23, __int2half_rn(IN(int, 4))); OUT(24, __int2half_rz(IN(int, 19))); OUT(25, __ushort2half_ru(IN(unsigned short, 4))); OUT(26, __ll2half_rd(IN(int, 19)));
  OUT(27, hfloor(a)); OUT(28, hceil(a)); OUT(29, htrunc(a)); OUT(30, hrint(a)); OUT(31, __hisnan(a)); OUT(32, __hadd_rn(a, b)); OUT(33, __double2half(IN(double, 10))); OUT(34, __hfma_sat(a, b, c)); OUT(35, __half_as_ushort(a)); OUT(36, __half2ull_rz(a)); OUT(37, __float2half_rn(IN(float, 2)));
  __half r; 
#define H2(slot, t) asm(t " %0, %1, %2;" : "=h"(*(unsigned short*)&r) : "h"(*(unsigned short*)&a), "h"(*(unsigned short*)&b)); OUT(slot, r)
  H2(40, "add.ftz.f16"); H2(41, "mul.ftz.sat.f16"); H2(42, "max.NaN.ftz.f16"); H2(43, "min.xorsign.abs.f16"); H2(44, "set.lt.f16.f16");
}
extern "C" __global__ void packed(ARGS) {
  __half2 a = IN(__half2, 14), b = IN(__half2, 15), c = IN(__half2, 16);
  OUT(0, __hadd2(a, b)); OUT(1, __hsub2(a, b)); OUT(2, __hmul2(a, b)); OUT(3, __hfma2(a, b, c)); OUT(4, __hadd2_sat(a, b)); OUT(5, __hfma2_relu(a, b, c)); OUT(6, __hmin2(a, b)); OUT(7, __hmax2_nan(a, b)); OUT(8, __hneg2(a)); OUT(9, __habs2(a)); OUT(10, __hlt2(a, b)); OUT(11, __hgeu2(a, b)); OUT(12, (int)__hbeq2(a, b) + 2 * __hbltu2(a, b)); OUT(13, __heq2_mask(a, b)); OUT(14, __lows2half2(a, b)); OUT(15, __highs2half2(a, b)); OUT(16, __lowhigh2highlow(a)); OUT(17, __floats2half2_rn(IN(float, 0), IN(float, 2))); OUT(18, __half22float2(a)); OUT(19, h2floor(a)); OUT(20, __h2div(a, b)); OUT(21, __hisnan2(a)); OUT(22, __hcmadd(a, b, c)); OUT(23, __hne2(a,b)); OUT(24, __hgtu2_mask(a,b));
}
extern "C" __global__ void approx(ARGS) {
  __half a = IN(__half, 16); __half2 b = IN(__half2, 16);
  OUT(0, hexp(a)); OUT(1, hlog(a)); OUT(2, hsqrt(a)); OUT(3, hrsqrt(a)); OUT(4, hrcp(a)); OUT(5, hsin(a)); OUT(6, hcos(a)); OUT(7, hexp2(a)); OUT(8, hlog2(a)); OUT(9, hlog10(a)); OUT(10, hexp10(a)); OUT(11, h2exp(b)); OUT(12, h2sqrt(b)); OUT(13, h2rcp(b)); OUT(14, htanh_approx(a)); OUT(15, h2tanh_approx(b)); OUT(16, htanh(a)); OUT(17, h2sin(b)); OUT(18, h2exp2(b));
}
