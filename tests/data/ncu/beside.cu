// Stores to shared memory while the copy engine fills other parts of it: the hardware's counter of
// wavefronts has more than the stores need, and other numbers in every run.

extern "C" __global__ void beside(const float* x, float* y, int rounds)
{
    __shared__ __align__(128) float copied[8192];
    __shared__ float stored[8 * 160];
    __shared__ __align__(8) unsigned long long full;

    unsigned barrier = (unsigned)__cvta_generic_to_shared(&full);
    unsigned to = (unsigned)__cvta_generic_to_shared(copied);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int i = 0; i < rounds; i++) {
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 32768;"
                             :: "r"(barrier) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                             "[%0], [%1], 32768, [%2];"
                             :: "r"(to), "l"(x), "r"(barrier) : "memory");
                asm volatile("{\n"
                             ".reg .pred done;\n"
                             "again:\n"
                             "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                             "@!done bra again;\n"
                             "}" :: "r"(barrier), "r"(i % 2) : "memory");
            }
    } else {
        volatile float* mine = stored + threadIdx.x;
        #pragma unroll 1
        for (int i = 0; i < 8 * rounds; i++)
            #pragma unroll
            for (int j = 0; j < 8; j++)
                mine[j * 160] = i * j;
    }
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = copied[threadIdx.x] + stored[1280 - 1 - threadIdx.x % 128];
}
