// Swaps x and z of a box with three-dimensional blocks: how threads fall into warps.
extern "C" __global__ void block_3d(const short* in, short* out, int nx, int ny, int nz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < nx && y < ny && z < nz)
        out[(x * ny + y) * nz + z] = in[(z * ny + y) * nx + x];
}
