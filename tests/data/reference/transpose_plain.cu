// Transposes through global memory alone: one side strided by the row length.
extern "C" __global__ void transpose_plain(const ELEMENT* in, ELEMENT* out, int rows, int cols)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < cols && y < rows)
        out[x * rows + y] = in[y * cols + x];
}
