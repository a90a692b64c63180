// Times a kernel of the ladder outside Python, to check what the PyCUDA worker measures.
//
//     nvcc -O3 -arch=native -DKERNEL_FILE='"12_tiled.cu"' -DKERNEL=tiled -DTILE_WIDTH=32
//          -I kernels -o harness harness.cu
//     ./harness N BLOCK_X BLOCK_Y GRID_X GRID_Y LAUNCHES FLUSH_BYTES
//
// Kernels of the form (const float* A, const float* B, float* C, int N) only. Prints the time of each
// launch in milliseconds, a line each. Before each launch FLUSH_BYTES are written, so that L2 holds
// nothing of the matrices.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include KERNEL_FILE

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t status = (call);                                                     \
        if (status != cudaSuccess) {                                                     \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));         \
            std::exit(1);                                                                \
        }                                                                                \
    } while (0)

static float* random_matrix(size_t count, unsigned seed)
{
    std::mt19937 engine(seed);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::vector<float> host(count);
    for (float& value : host)
        value = uniform(engine);
    float* device = nullptr;
    CHECK(cudaMalloc(&device, count * sizeof(float)));
    CHECK(cudaMemcpy(device, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    return device;
}

int main(int argc, char** argv)
{
    if (argc != 8) {
        std::fprintf(stderr, "%s N BLOCK_X BLOCK_Y GRID_X GRID_Y LAUNCHES FLUSH_BYTES\n", argv[0]);
        return 2;
    }
    const int n = std::atoi(argv[1]);
    const dim3 block(std::atoi(argv[2]), std::atoi(argv[3]));
    const dim3 grid(std::atoi(argv[4]), std::atoi(argv[5]));
    const int launches = std::atoi(argv[6]);
    const size_t flush_bytes = std::strtoull(argv[7], nullptr, 10);
    const size_t count = size_t(n) * n;

    float* a = random_matrix(count, 1);
    float* b = random_matrix(count, 2);
    float* c = random_matrix(count, 3);
    void* flush = nullptr;
    CHECK(cudaMalloc(&flush, flush_bytes));
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));

    const int warm_up = 3;
    for (int launch = -warm_up; launch < launches; launch++) {
        CHECK(cudaMemsetAsync(flush, 0, flush_bytes));
        CHECK(cudaEventRecord(before));
        KERNEL<<<grid, block>>>(a, b, c, n);
        CHECK(cudaEventRecord(after));
        CHECK(cudaEventSynchronize(after));
        CHECK(cudaGetLastError());
        float milliseconds = 0.0f;
        CHECK(cudaEventElapsedTime(&milliseconds, before, after));
        if (launch >= 0)
            std::printf("%.6f\n", milliseconds);
    }
    return 0;
}
