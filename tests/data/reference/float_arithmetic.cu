// Correctly rounded arithmetic, conversions and comparisons: every output bit is defined.
extern "C" __global__ void float_arithmetic(const float* a, const float* b, float* out, int* whole,
                                            double* wide, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = a[i], y = b[i];
    out[8 * i] = x / y;
    out[8 * i + 1] = sqrtf(fabsf(x));
    out[8 * i + 2] = fmaf(x, y, -x);
    out[8 * i + 3] = __fadd_rz(x, y);
    out[8 * i + 4] = fminf(x, y) + truncf(x * 100.0f);
    out[8 * i + 5] = x * y + y;
    out[8 * i + 6] = (float)(int)(x * 1e6f) + rintf(y * 37.5f);
    out[8 * i + 7] = x > y ? floorf(x * 9.0f) : ceilf(y * 9.0f);
    whole[2 * i] = __float2int_rn(x * 12345.678f);
    whole[2 * i + 1] = (int)(unsigned char)(y * 50.0f + 60.0f) ^ __float_as_int(x);
    wide[2 * i] = (double)x / (double)y;
    wide[2 * i + 1] = sqrt((double)fabsf(y)) * (double)x + 0.1;
}
