#include <cooperative_groups.h>
namespace cg = cooperative_groups;

template <int BINS>
__global__ void histogram(int *bins, const int *values, size_t count)
{
    extern __shared__ int own[];
    cg::cluster_group cluster = cg::this_cluster();
    int all = BINS * cluster.num_blocks();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) own[bin] = 0;
    cluster.sync();
    size_t step = blockDim.x * gridDim.x;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        int bin = ((values[i] % all) + all) % all;
        atomicAdd(cluster.map_shared_rank(own, bin / BINS) + bin % BINS, 1);
    }
    cluster.sync();
    int *place = bins + cluster.block_rank() * BINS;
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(&place[bin], own[bin]);
}

__global__ void neighbours(float *out, const float *in, int n)
{
    __shared__ float box[64];
    cg::cluster_group cluster = cg::this_cluster();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    box[threadIdx.x] = i < n ? in[i] : 0.0f;
    cluster.sync();
    float *next = cluster.map_shared_rank(box, (cluster.block_rank() + 1) % cluster.num_blocks());
    if (i < n) out[i] = next[threadIdx.x] - in[i];
    cluster.sync();
}

void run_neighbours(float *out, float *in, int n, cudaStream_t stream)
{
    dim3 block(64);
    dim3 grid((n + block.x - 1) / block.x);
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    attributes[1] = {.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {4, 1, 1}}};
    cudaLaunchConfig_t config{grid, block, 0, stream, attributes, 2};
    void *arguments[] = {&out, (void *)&in, &n};
    cudaLaunchKernelExC(&config, (const void *)neighbours, arguments);
}

int main()
{
    const int count = 2048, bins = 96, size = 2;
    int *values, *counts;
    cudaMalloc(&values, count * sizeof(int));
    cudaMalloc(&counts, bins * sizeof(int));
    cudaMemset(counts, 0, bins * sizeof(int));
    cudaLaunchConfig_t config = {0};
    config.gridDim = 6;
    config.blockDim = 128;
    cudaLaunchAttribute attribute[1];
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim.x = size;
    attribute[0].val.clusterDim.y = attribute[0].val.clusterDim.z = 1;
    config.numAttrs = 1;
    config.attrs = attribute;
    config.dynamicSmemBytes = bins / size * sizeof(int);
    cudaLaunchKernelEx(&config, histogram<bins / size>, counts, (const int *)values, (size_t)count);

    int n = 1000;  // 16 blocks, four clusters
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    run_neighbours(out, in, n, 0);
    cudaDeviceSynchronize();
}
