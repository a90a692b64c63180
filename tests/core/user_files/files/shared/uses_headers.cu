#include <vector>
// #include "no_header_at_all.h"
#include "tools.cuh"
__global__ void shifted(const float *in, float *out, Range range)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < range.count) out[i] = twice(in[i]) + range.first + SPARE;
}
int main()
{
    std::vector<float> h(200);
    float *a, *b;
    cudaMalloc(&a, 200 * sizeof(float));
    cudaMalloc(&b, 200 * sizeof(float));
    shifted<<<4, BLOCK>>>(a, b, Range{2, 200});
    report(greeting("you").size());
}
