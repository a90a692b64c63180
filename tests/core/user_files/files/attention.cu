// One thread a query; keys and values pass through shared memory, the softmax is kept up on the way.
#include <cuda_runtime.h>
#include <cmath>

template <int WIDTH, int TILE>
__global__ void attend(const float *__restrict__ queries, const float *__restrict__ keys,
                       const float *__restrict__ values, float *__restrict__ out, int count, float scale)
{
    extern __shared__ float room[];
    float *keyTile = room;
    float *valueTile = room + TILE * WIDTH;
    const int mine = blockIdx.x * TILE + threadIdx.x;
    float query[WIDTH], sum[WIDTH], largest = -INFINITY, weight = 0.f;
    for (int d = 0; d < WIDTH; ++d) {
        query[d] = mine < count ? queries[mine * WIDTH + d] : 0.f;
        sum[d] = 0.f;
    }
    for (int first = 0; first < count; first += TILE) {
        const int there = min(TILE, count - first);
        for (int at = threadIdx.x; at < there * WIDTH; at += TILE) {
            keyTile[at] = keys[first * WIDTH + at];
            valueTile[at] = values[first * WIDTH + at];
        }
        __syncthreads();
        for (int k = 0; k < there; ++k) {
            float score = 0.f;
            for (int d = 0; d < WIDTH; ++d) score += query[d] * keyTile[k * WIDTH + d];
            score *= scale;
            const float top = fmaxf(largest, score), old = expf(largest - top), now = expf(score - top);
            for (int d = 0; d < WIDTH; ++d) sum[d] = sum[d] * old + now * valueTile[k * WIDTH + d];
            weight = weight * old + now;
            largest = top;
        }
        __syncthreads();
    }
    if (mine < count)
        for (int d = 0; d < WIDTH; ++d) out[mine * WIDTH + d] = sum[d] / weight;
}

int main()
{
    constexpr int width = 4, tile = 32;
    const int count = 77;
    float *q, *k, *v, *o;
    for (float **p : {&q, &k, &v, &o}) cudaMalloc(p, count * width * sizeof(float));
    cudaMalloc(&q, count * width * sizeof(float));
    size_t bytes = 2 * tile * width * sizeof(float);
    attend<width, tile><<<(count + tile - 1) / tile, tile, bytes>>>(q, k, v, o, count, 1.0f / sqrtf(width));
}
