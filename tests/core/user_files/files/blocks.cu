// Sub-matrices as structures; the kernel is declared above the host's code and defined below it.
#include <cstdlib>
#ifndef SIDE
#define SIDE 8
#endif
typedef struct { int rows, columns; long pitch; double *cells; } Grid;

__global__ void product(const Grid left, const Grid top, Grid result);

static int up(int a, int b) { return (a + b - 1) / b; }

void multiply(int m, int k, int n)
{
    Grid a, b, c;
    a.rows = m; a.columns = k; a.pitch = k;
    b.rows = k; b.columns = n; b.pitch = n;
    c.rows = m; c.columns = n; c.pitch = n;
    cudaMalloc(&a.cells, m * k * sizeof(double));
    cudaMalloc(&b.cells, k * n * sizeof(double));
    cudaMalloc(&c.cells, m * n * sizeof(double));
    product<<<dim3(up(n, SIDE), up(m, SIDE)), dim3(SIDE, SIDE)>>>(a, b, c);
}

__device__ double at(const Grid &grid, int row, int column)
{
    return row < grid.rows && column < grid.columns ? grid.cells[row * grid.pitch + column] : 0.0;
}

__global__ void product(const Grid left, const Grid top, Grid result)
{
    __shared__ double one[SIDE][SIDE], two[SIDE][SIDE + 1];
    int row = blockIdx.y * SIDE + threadIdx.y, column = blockIdx.x * SIDE + threadIdx.x;
    double sum = 0;
    for (int first = 0; first < left.columns; first += SIDE) {
        one[threadIdx.y][threadIdx.x] = at(left, row, first + threadIdx.x);
        two[threadIdx.y][threadIdx.x] = at(top, first + threadIdx.y, column);
        __syncthreads();
        for (int k = 0; k < SIDE; ++k) sum += one[threadIdx.y][k] * two[k][threadIdx.x];
        __syncthreads();
    }
    if (row < result.rows && column < result.columns) result.cells[row * result.pitch + column] = sum;
}
