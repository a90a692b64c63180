// Loads of what the block stored or updated before: each block has 1024 words of its own, and between
// two steps all threads wait. Octal digits of STEPS, the last one first: 1 loads another thread's word,
// 2 stores to one's own, 3 stores to every eighth word only (one of each sector), 4 and 5 update by an
// atomic whose old value is used or not.
extern "C" __global__ void stored(float* data, float* out)
{
    float* own = data + blockIdx.x * 1024;
    float sum = 0.0f;
    for (int left = STEPS; left; left >>= 3) {
        int step = left & 7;
        for (int i = threadIdx.x; i < 1024; i += blockDim.x) {
            if (step == 1)
                sum += own[1023 - i];
            if (step == 2 || (step == 3 && i % 8 == 3))
                own[i] = sum + step;
            if (step == 4)
                sum += atomicAdd(own + i, 1.0f);
            if (step == 5)
                atomicAdd(own + i, 1.0f);
        }
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
