// C = A transposed, a box of 32 x 32 at a time: one thread orders it from the copy engine (TMA), then every
// lane takes one row of it, 16 bytes at a time.
typedef unsigned long long u64;
struct alignas(64) TensorMap { u64 words[16]; };

__device__ unsigned at(const void* place) { return (unsigned)__cvta_generic_to_shared(place); }

// The map says where the matrix lies, how large it is and its boxes are, and whether they are swizzled.
__device__ void copy_box(void* to, const TensorMap* map, int col, int row, u64* barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];"
                 :: "r"(at(to)), "l"(map), "r"(col), "r"(row), "r"(at(barrier)) : "memory");
}

extern "C" __global__ void tma_transpose(const __grid_constant__ TensorMap A, float* C, int M, int N)
{
    __shared__ __align__(1024) float tile[32][32];
    __shared__ unsigned long long full;  // an mbarrier

    int lane = threadIdx.x;
    int row = blockIdx.y * 32, col = blockIdx.x * 32;

    if (lane == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full)) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(at(&full)), "r"((int)sizeof tile) : "memory");
        copy_box(tile, &A, col, row, &full);
    }
    __syncwarp();
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], 0; "
                 "@over bra done; bra again; done: }" :: "r"(at(&full)) : "memory");

    for (int piece = 0; piece < 8; piece++) {
        int place = SWIZZLED ? piece ^ lane % 8 : piece;
        float4 four = *(float4*)&tile[lane][4 * place];
        float values[4] = {four.x, four.y, four.z, four.w};
        for (int i = 0; i < 4; i++)
            if (row + lane < M && col + 4 * piece + i < N)
                C[(col + 4 * piece + i) * M + row + lane] = values[i];
    }
}
