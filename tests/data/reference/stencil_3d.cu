// Seven-point stencil on a box of nx * ny * nz, three-dimensional blocks.
extern "C" __global__ void stencil_3d(const float* in, float* out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1)
        return;
    int at = (z * ny + y) * nx + x;
    out[at] = 0.4f * in[at] + 0.1f * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx]
                                      + in[at - nx * ny] + in[at + nx * ny]);
}
