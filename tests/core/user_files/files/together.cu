#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// All blocks meet between two sweeps.
__global__ void sweeps(float *a, float *b, int n)
{
    cg::grid_group grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = 2.0f * a[i];
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = b[n - 1 - i] + 1.0f;
}
__global__ void apart(float *a, float *b, int n)
{
    cg::grid_group grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = 2.0f * a[i];
    cg::this_thread_block().sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = b[n - 1 - i] + 1.0f;
}
int main()
{
    int n = 500;
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    void *args[] = {&a, &b, &n};
    cudaLaunchCooperativeKernel((void *)sweeps, dim3(4), dim3(64), args, 0, 0);
    cudaLaunchCooperativeKernel((void *)apart, dim3(4), dim3(64), args, 0, 0);
}
