// Doubles a matrix, one tile of 16 x 64 a block, through the copy engine.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cudaTypedefs.h>
#include <cstdint>
#include <cassert>

constexpr int TILE_ROWS = 16;
constexpr int TILE_COLS = 64;

__global__ void double_tiles(const CUtensorMap *in,
                             const CUtensorMap *out) {
    __shared__ alignas(128) float tile[TILE_ROWS][TILE_COLS];
    __shared__ alignas(8) uint64_t barrier;
    unsigned bar = (unsigned)__cvta_generic_to_shared(&barrier);
    unsigned to = (unsigned)__cvta_generic_to_shared(&tile[0][0]);
    int x = blockIdx.x * TILE_COLS, y = blockIdx.y * TILE_ROWS;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar));
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar),
                     "r"((int)sizeof(tile)));
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
            "l"(in), "r"(x), "r"(y), "r"(bar)
            : "memory");
    }
    __syncthreads();
    asm volatile(
        "{\n.reg .pred p;\n"
        "wait: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
        "@!p bra wait;\n}" ::"r"(bar)
        : "memory");
    for (int i = threadIdx.x; i < TILE_ROWS * TILE_COLS; i += blockDim.x)
        tile[i / TILE_COLS][i % TILE_COLS] *= 2.0f;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(out),
                     "r"(x), "r"(y), "r"(to)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

template <int BoxRows, int BoxCols, bool Swizzled = false>
static void make_map(CUtensorMap *map, float *data, int rows, int cols) {
    cuuint64_t shape[] = {static_cast<cuuint64_t>(cols), (cuuint64_t)rows};
    cuuint64_t strides[] = {sizeof(float), cols * sizeof(float)};
    cuuint32_t box[] = {cuuint32_t(BoxCols), BoxRows};
    cuuint32_t steps[] = {1, 1};
    CUresult result = cuTensorMapEncodeTiled(
        map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)data, shape, strides + 1, box, steps,
        CU_TENSOR_MAP_INTERLEAVE_NONE,
        Swizzled ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE,
        CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    assert(result == CUDA_SUCCESS);
}

template <int BoxRows, int BoxCols>
CUtensorMap *map_on_device(float *data, int rows, int cols) {
    CUtensorMap *on_device;
    cudaMalloc(&on_device, sizeof(CUtensorMap));
    CUtensorMap on_host;
    make_map<BoxRows, BoxCols>(&on_host, data, rows, cols);
    cudaMemcpy(on_device, &on_host, sizeof(CUtensorMap), cudaMemcpyHostToDevice);
    return on_device;
}

int main() {
    const int rows = 1024, cols = 2048;
    float *d_in, *d_out;
    cudaMalloc(&d_in, rows * cols * sizeof(float));
    cudaMalloc(&d_out, rows * cols * sizeof(float));
    CUtensorMap *map_in = map_on_device<TILE_ROWS, TILE_COLS>(d_in, rows, cols);
    CUtensorMap *map_out = map_on_device<TILE_ROWS, TILE_COLS>(d_out, rows, cols);
    double_tiles<<<dim3(cols / TILE_COLS, rows / TILE_ROWS), 128>>>(map_in, map_out);
    cudaDeviceSynchronize();
}
