#include "common.cuh"
extern "C" __global__ void single(ARGS) {
  float a = IN(float, 0), b = IN(float, 1), c = IN(float, 2);
  OUT(0, a + b); OUT(1, a - b); OUT(2, a * b); OUT(3, a / b); OUT(4, fmaf(a, b, c)); OUT(5, sqrtf(a)); OUT(6, 1.0f / a); OUT(7, fminf(a, b)); OUT(8, fmaxf(a, b)); OUT(9, -a); OUT(10, fabsf(a)); OUT(11, copysignf(a, b));
  OUT(12, (int)(a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b)); OUT(13, (int)isnan(a) + 2 * (int)isinf(a) + 4 * (int)signbit(a) + 8 * (int)isfinite(a));
  OUT(14, __fadd_rz(a, b)); OUT(15, __fadd_ru(a, b)); OUT(16, __fadd_rd(a, b)); OUT(17, __fmul_rz(a, b)); OUT(18, __fmul_ru(a, b)); OUT(19, __fmul_rd(a, b));
  OUT(20, __fmaf_rz(a, b, c)); OUT(21, __fmaf_ru(a, b, c)); OUT(22, __fmaf_rd(a, b, c)); OUT(23, __fdiv_rz(a, b)); OUT(24, __fdiv_ru(a, b)); OUT(25, __fdiv_rd(a, b));
  OUT(26, __fsqrt_rz(a)); OUT(27, __fsqrt_ru(a)); OUT(28, __fsqrt_rd(a)); OUT(29, __frcp_rz(a)); OUT(30, __frcp_ru(a)); OUT(31, __frcp_rd(a)); OUT(32, __fsub_rz(a, b)); OUT(33, __saturatef(a)); OUT(34, __frcp_rn(a)); OUT(35, __fsqrt_rn(a));
  OUT(36, floorf(a)); OUT(37, ceilf(a)); OUT(38, truncf(a)); OUT(39, rintf(a)); OUT(40, roundf(a)); OUT(41, fmodf(a, b)); OUT(42, fdimf(a, b)); OUT(43, ldexpf(a, (int)threadIdx.x - 40)); OUT(44, nextafterf(a, b)); { int e; OUT(45, frexpf(a, &e)); OUT(46, e); } OUT(47, remainderf(a, b)); OUT(48, logbf(a)); OUT(49, scalbnf(a, 3));
  OUT(50, __fmaf_ieee_rn(a, b, c)); OUT(51, modff(a, (float*)(out + 52 * 2048) + TID)); OUT(53, __fadd_rn(a, b)); OUT(54, ilogbf(a)); OUT(55, lrintf(c)); OUT(56, hypotf(0.f, b));
}
extern "C" __global__ void twice(ARGS) {
  double a = IN(double, 10), b = IN(double, 11), c = IN(double, 12);
  OUT(0, a + b); OUT(1, a - b); OUT(2, a * b); OUT(3, a / b); OUT(4, fma(a, b, c)); OUT(5, sqrt(a)); OUT(6, 1.0 / a); OUT(7, fmin(a, b)); OUT(8, fmax(a, b)); OUT(9, -a); OUT(10, fabs(a)); OUT(11, copysign(a, b));
  OUT(12, (int)(a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b) + 32 * (a >= b)); OUT(13, (int)isnan(a) + 2 * (int)isinf(a));
  OUT(14, __dadd_rz(a, b)); OUT(15, __dadd_ru(a, b)); OUT(16, __dadd_rd(a, b)); OUT(17, __dmul_rz(a, b)); OUT(18, __dmul_ru(a, b)); OUT(19, __dmul_rd(a, b));
  OUT(20, __fma_rz(a, b, c)); OUT(21, __fma_ru(a, b, c)); OUT(22, __fma_rd(a, b, c)); OUT(23, __ddiv_rz(a, b)); OUT(24, __ddiv_ru(a, b)); OUT(25, __ddiv_rd(a, b));
  OUT(26, __dsqrt_rz(a)); OUT(27, __dsqrt_ru(a)); OUT(28, __dsqrt_rd(a)); OUT(29, __drcp_rz(a)); OUT(30, __drcp_ru(a)); OUT(31, __drcp_rd(a));
  OUT(36, floor(a)); OUT(37, ceil(a)); OUT(38, trunc(a)); OUT(39, rint(a)); OUT(40, round(a)); OUT(41, fmod(c, 3.5)); OUT(43, ldexp(a, (int)threadIdx.x - 40)); OUT(44, nextafter(a, b)); OUT(47, (int)__double2hiint(a)); OUT(48, __hiloint2double(__double2hiint(a), __double2loint(b)));
}
extern "C" __global__ void rawfloat(ARGS) {
  float a = IN(float, 0), b = IN(float, 1), c = IN(float, 2), r; unsigned u; double p = IN(double, 10), q = IN(double, 11), s;
#define F2(slot, t) asm(t " %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); OUT(slot, r)
#define F3(slot, t) asm(t " %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c)); OUT(slot, r)
  F2(0, "add.ftz.f32"); F2(1, "add.sat.f32"); F2(2, "add.rz.ftz.sat.f32"); F2(3, "mul.ftz.f32"); F2(4, "mul.rp.sat.f32"); F2(5, "min.NaN.f32"); F2(6, "max.NaN.ftz.f32"); F2(7, "min.xorsign.abs.f32"); F2(8, "max.NaN.xorsign.abs.f32"); F2(9, "min.ftz.f32"); F2(10, "copysign.f32"); F2(11, "div.rn.ftz.f32"); F2(12, "sub.rm.f32"); F2(13, "max.f32");
  F3(14, "fma.rn.ftz.f32"); F3(15, "fma.rn.sat.f32"); F3(16, "fma.rz.ftz.sat.f32"); F3(17, "mad.rm.f32");
#define F1(slot, t) asm(t " %0, %1;" : "=f"(r) : "f"(a)); OUT(slot, r)
  F1(18, "neg.f32"); F1(19, "abs.ftz.f32"); F1(20, "rcp.rn.ftz.f32"); F1(21, "sqrt.rn.ftz.f32"); F1(22, "neg.ftz.f32"); F1(23, "sqrt.rz.ftz.f32"); F1(24, "rcp.rp.ftz.f32");
  asm("{.reg .pred p; testp.subnormal.f32 p, %1; selp.u32 %0, 1, 0, p; testp.normal.f32 p, %1; @p add.u32 %0, %0, 2; testp.notanumber.f32 p, %1; @p add.u32 %0, %0, 4; testp.infinite.f32 p, %1; @p add.u32 %0, %0, 8; testp.finite.f32 p, %1; @p add.u32 %0, %0, 16; testp.number.f32 p, %1; @p add.u32 %0, %0, 32;}" : "=&r"(u) : "f"(a)); OUT(25, u);
#define C2(slot, t) asm("{.reg .pred p; setp." t ".f32 p, %1, %2; selp.u32 %0, 1, 0, p;}" : "=r"(u) : "f"(a), "f"(b)); OUT(slot, u)
  C2(26, "equ"); C2(27, "neu"); C2(28, "ltu"); C2(29, "leu.ftz"); C2(30, "gtu"); C2(31, "geu"); C2(32, "num"); C2(33, "nan"); C2(34, "ne"); C2(35, "eq.ftz"); C2(36, "lt.ftz");
  asm("set.gt.f32.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); OUT(37, r);
  asm("set.ltu.u32.f64 %0, %1, %2;" : "=r"(u) : "d"(p), "d"(q)); OUT(38, u);
  asm("slct.f32.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(a), "f"(b), "f"(c)); OUT(39, r);
  asm("slct.ftz.f64.f32 %0, %1, %2, %3;" : "=d"(s) : "d"(p), "d"(q), "f"(a)); OUT(40, s);
  asm("min.f64 %0, %1, %2;" : "=d"(s) : "d"(p), "d"(q)); OUT(41, s);
}
extern "C" __global__ void approx(ARGS) {
  float a = IN(float, 3), b = IN(float, 2), r; double d = IN(double, 13), s;
#define A1(slot, t) asm(t " %0, %1;" : "=f"(r) : "f"(a)); OUT(slot, r)
  A1(0, "ex2.approx.f32"); A1(1, "lg2.approx.f32"); A1(2, "sin.approx.f32"); A1(3, "cos.approx.f32"); A1(4, "rcp.approx.f32"); A1(5, "rsqrt.approx.f32"); A1(6, "sqrt.approx.f32"); A1(7, "tanh.approx.f32"); A1(8, "ex2.approx.ftz.f32"); A1(9, "lg2.approx.ftz.f32");
  asm("div.approx.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); OUT(10, r); asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); OUT(11, r);
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(s) : "d"(d)); OUT(12, s); asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(s) : "d"(d)); OUT(13, s); asm("rsqrt.approx.f64 %0, %1;" : "=d"(s) : "d"(d)); OUT(14, s);
  OUT(15, __expf(a)); OUT(16, __logf(a)); OUT(17, __powf(a, b)); OUT(18, __sinf(a)); OUT(19, __fdividef(a, b)); OUT(20, __tanf(a)); OUT(21, __exp10f(a));
}
extern "C" __global__ void mathf(ARGS) {
  float a = IN(float, 3), b = IN(float, 2);
  OUT(0, sinf(a)); OUT(1, cosf(a)); OUT(2, tanf(a)); OUT(3, expf(a)); OUT(4, exp2f(a)); OUT(5, logf(a)); OUT(6, log2f(a)); OUT(7, log10f(a)); OUT(8, powf(a, b)); OUT(9, tanhf(a)); OUT(10, erff(a)); OUT(11, erfcf(a)); OUT(12, rsqrtf(a)); OUT(13, cbrtf(a)); OUT(14, atanf(a)); OUT(15, atan2f(a, b)); OUT(16, asinf(b)); OUT(17, acosf(b)); OUT(18, sinhf(a)); OUT(19, coshf(a)); OUT(20, lgammaf(a)); OUT(21, tgammaf(a)); OUT(22, hypotf(a, b)); OUT(23, expm1f(a)); OUT(24, log1pf(a)); OUT(25, sinf(a * 1e6f)); OUT(26, exp10f(a)); OUT(27, normcdff(a)); OUT(28, j0f(a)); OUT(29, norm3df(a, b, a)); OUT(30, rhypotf(a, b)); OUT(31, sinpif(a)); OUT(32, erfinvf(b)); OUT(33, asinhf(a)); OUT(34, atanhf(b));
  float s, c; sincosf(a, &s, &c); OUT(35, s + c);
}
extern "C" __global__ void mathd(ARGS) {
  double a = IN(double, 13), b = IN(double, 12);
  OUT(0, sin(a)); OUT(1, cos(a)); OUT(2, tan(a)); OUT(3, exp(a)); OUT(4, exp2(a)); OUT(5, log(a)); OUT(6, log2(a)); OUT(7, log10(a)); OUT(8, pow(a, b)); OUT(9, tanh(a)); OUT(10, erf(a)); OUT(11, erfc(a)); OUT(12, rsqrt(a)); OUT(13, cbrt(a)); OUT(14, atan(a)); OUT(15, atan2(a, b)); OUT(16, asin(b)); OUT(17, acos(b)); OUT(18, sinh(a)); OUT(19, cosh(a)); OUT(20, lgamma(a)); OUT(21, tgamma(a)); OUT(22, hypot(a, b)); OUT(23, expm1(a)); OUT(24, log1p(a)); OUT(25, sin(a * 1e9)); OUT(26, exp10(a));
}
