// The same work as array_of_structs on one array a field.
extern "C" __global__ void struct_of_arrays(const float* vx, const float* vy, const float* vz,
                                            float* energy, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    energy[i] = 0.5f * (vx[i] * vx[i] + vy[i] * vy[i] + vz[i] * vz[i]);
}
