#include "common.cuh"
#include <cuda_bf16.h>
#if __CUDA_ARCH__ >= 800
typedef __nv_bfloat16 B; typedef __nv_bfloat162 B2;
extern "C" __global__ void scalar(ARGS) {
  B a = IN(B, 17), b = IN(B, 18), c = IN(B, 20);
  OUT(0, __hadd(a, b)); OUT(1, __hsub(a, b)); OUT(2, __hmul(a, b)); OUT(3, __hfma(a, b, c)); OUT(4, __hadd_sat(a, b)); OUT(5, __hfma_relu(a, b, c)); OUT(6, __hmin(a, b)); OUT(7, __hmax(a, b)); OUT(8, __hmax_nan(a, b)); OUT(9, __hneg(a)); OUT(10, __habs(a)); OUT(11, __hdiv(a, b));
  OUT(12, (int)__hlt(a, b) + 2 * __heq(a, b) + 4 * __hne(a, b) + 8 * __hgtu(a, b)); OUT(13, __bfloat162float(a)); OUT(14, __float2bfloat16_rn(IN(float, 0))); OUT(15, __float2bfloat16_rz(IN(float, 0))); OUT(16, __float2bfloat16_ru(IN(float, 2))); OUT(17, __float2bfloat16_rd(IN(float, 2)));
  OUT(18, __bfloat162int_rn(a)); OUT(19, __bfloat162uint_rz(a)); OUT(20, __int2bfloat16_rn(IN(int, 4))); OUT(21, __ull2bfloat16_rz(IN(unsigned, 4))); OUT(22, __double2bfloat16(IN(double, 10))); OUT(23, hfloor(a)); OUT(24, hrint(a)); OUT(25, __bfloat162short_rd(a)); OUT(26, __hisnan(a)); OUT(27, __short2bfloat16_ru(IN(short, 4)));OUT(28, htrunc(a));
}
extern "C" __global__ void packed(ARGS) {
  B2 a = IN(B2, 17), b = IN(B2, 18), c = IN(B2, 20);
  OUT(0, __hadd2(a, b)); OUT(1, __hsub2(a, b)); OUT(2, __hmul2(a, b)); OUT(3, __hfma2(a, b, c)); OUT(4, __hadd2_sat(a, b)); OUT(5, __hfma2_relu(a, b, c)); OUT(6, __hmin2(a, b)); OUT(7, __hmax2_nan(a, b)); OUT(8, __hneg2(a)); OUT(9, __habs2(a)); OUT(10, __hlt2(a, b)); OUT(11, __hgeu2(a, b)); OUT(12, (int)__hbeq2(a, b)); OUT(13, __heq2_mask(a, b)); OUT(14, __floats2bfloat162_rn(IN(float, 0), IN(float, 2))); OUT(15, __bfloat1622float2(a)); OUT(16, __h2div(a, b)); OUT(17, __hgtu2(a, b)); OUT(18, __hlt2_mask(a, b));
}
extern "C" __global__ void approx(ARGS) {
  B a = IN(B, 20); B2 b = IN(B2, 20);
  OUT(0, hexp(a)); OUT(1, hlog(a)); OUT(2, hsqrt(a)); OUT(3, hrsqrt(a)); OUT(4, hrcp(a)); OUT(5, hsin(a)); OUT(6, hcos(a)); OUT(7, hexp2(a)); OUT(8, h2exp2(b)); OUT(9, h2tanh_approx(b)); OUT(10, htanh_approx(a));
}
#endif
