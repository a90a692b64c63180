// Transposes through a tile in shared memory of TILE x (TILE + PAD) elements: bank conflicts by
// padding and by element size. Blocks are TILE x ROWS threads.
extern "C" __global__ void transpose_tile(const ELEMENT* in, ELEMENT* out, int rows, int cols)
{
    __shared__ ELEMENT tile[TILE][TILE + PAD];
    int x = blockIdx.x * TILE + threadIdx.x;
    int top = blockIdx.y * TILE;
    for (int r = threadIdx.y; r < TILE; r += blockDim.y)
        if (x < cols && top + r < rows)
            tile[r][threadIdx.x] = in[(top + r) * cols + x];
    __syncthreads();
    int out_x = top + threadIdx.x;
    int left = blockIdx.x * TILE;
    for (int r = threadIdx.y; r < TILE; r += blockDim.y)
        if (out_x < rows && left + r < cols)
            out[(left + r) * rows + out_x] = tile[threadIdx.x][r];
}
