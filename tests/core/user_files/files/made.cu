#define KERNEL __global__ void
#define ELEMENTWISE(NAME, T, OP)                                            \
    __global__ void NAME##_##T(const T *left, const T *right, T *out, int n) \
    {                                                                       \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                      \
        if (i < n) out[i] = left[i] OP right[i];                            \
    }
ELEMENTWISE(plus, float, +)
ELEMENTWISE(times, double, *)
#undef ELEMENTWISE
KERNEL border(uchar4 *picture, uint2 size, ushort width, const float3 tint)
{
	uint x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= size.x || y >= size.y) return;
	bool inside = x >= width && y >= width && x + width < size.x && y + width < size.y;
	if (!inside) picture[y * size.x + x] = make_uchar4(tint.x * 20, tint.y * 30, tint.z * 40, 255);
}
