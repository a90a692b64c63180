// Prints what NVIDIA's cuda_occupancy.h says, for each line of numbers on standard input:
// major minor threads/SM registers/SM registers/block shared/SM shared/block opt-in reserved
// block registers static dynamic barriers carve-out
// -> active warps blocks registers shared barriers (block limits), registers and shared of a block.
#include <climits>
#include <cstdio>
#include <cuda_occupancy.h>

int main()
{
    int n[15];
    for (;;) {
        for (int i = 0; i < 15; i++)
            if (std::scanf("%d", &n[i]) != 1)
                return 0;
        cudaOccDeviceProp sm;
        sm.computeMajor = n[0];
        sm.computeMinor = n[1];
        sm.maxThreadsPerBlock = 1024;
        sm.maxThreadsPerMultiprocessor = n[2];
        sm.regsPerMultiprocessor = n[3];
        sm.regsPerBlock = n[4];
        sm.warpSize = 32;
        sm.sharedMemPerMultiprocessor = n[5];
        sm.sharedMemPerBlock = n[6];
        sm.sharedMemPerBlockOptin = n[7];
        sm.reservedSharedMemPerBlock = n[8];
        sm.numSms = 1;
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = INT_MAX;
        kernel.numRegs = n[10];
        kernel.sharedSizeBytes = n[11];
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = n[12];
        kernel.numBlockBarriers = n[13];
        cudaOccDeviceState state;
        state.carveoutConfig = n[14];
        cudaOccResult r;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&r, &sm, &kernel, &state, n[9], n[12])) {
            std::puts("error");
            continue;
        }
        std::printf("%d %d %d %d %d %d %d %d\n", r.activeBlocksPerMultiprocessor,
                    r.blockLimitWarps, r.blockLimitBlocks, r.blockLimitRegs, r.blockLimitSharedMem,
                    r.blockLimitBarriers, r.allocatedRegistersPerBlock,
                    (int)r.allocatedSharedMemPerBlock);
    }
}
