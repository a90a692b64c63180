// C = A A^T where A is M x TILE_DIM: one tile covers the whole sum, so there are no phases.
extern "C" __global__ void aat_16(const float* A, float* C, int M)
{
    __shared__ float tile[TILE_DIM][TILE_DIM];
    __shared__ float turned[TILE_DIM][TILE_DIM + PAD];
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    tile[threadIdx.y][threadIdx.x] = A[row * TILE_DIM + threadIdx.x];
    turned[threadIdx.x][threadIdx.y] =
        A[(blockIdx.x * blockDim.x + threadIdx.y) * TILE_DIM + threadIdx.x];
    __syncthreads();

    float sum = 0.0f;
    for (int i = 0; i < TILE_DIM; i++)
        sum += tile[threadIdx.y][i] * turned[i][threadIdx.x];
    C[row * M + col] = sum;
}
