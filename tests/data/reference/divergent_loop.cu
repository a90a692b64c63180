// Each thread sums as many elements as its own counter says: lanes leave the loop one by one.
extern "C" __global__ void divergent_loop(const int* in, const int* length, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int sum = 0;
    for (int k = 0; k < length[i]; k++)
        sum += in[(i + k * 5) % n];
    out[i] = sum;
}
