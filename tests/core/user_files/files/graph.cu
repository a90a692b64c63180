typedef unsigned vertex;
// Rows of a sparse matrix, a frontier, and the trees of a forest: integers that are indices.
__global__ void rows(int count, const int *rowPtr, const int *columnIdx, const float *values, const float *x, float *y)
{
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < count; row += blockDim.x * gridDim.x) {
        float sum = 0;
        for (int at = rowPtr[row]; at < rowPtr[row + 1]; ++at) sum += values[at] * x[columnIdx[at]];
        y[row] = sum;
    }
}
__global__ void expand(const vertex *offsets, const vertex *edges, int *level, const vertex *frontier, int size, int depth)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    for (vertex e = offsets[frontier[i]]; e < offsets[frontier[i] + 1]; ++e)
        if (atomicCAS(&level[edges[e]], -1, depth + 1) == -1) atomicMax(&level[edges[e]], depth + 1);
}
__global__ void roots(int *parent, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        volatile int *tree = parent;
        int r = i;
        while (r != tree[r]) r = tree[r];
        tree[i] = r;
    }
}
