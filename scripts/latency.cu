// How many clocks one load takes, by the memory that answers: each load's address is what the one before it brought.
//
//     nvcc -arch=native scripts/latency.cu -o latency && ./latency
//
// docs/evidence.md has what an H200 said. A chain, a line apart in random order,
// is walked once beforehand, so that it lies in the cache that is large enough; that of DRAM is not.

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

constexpr int APART = 16;       // pointers: a line of 128 bytes
constexpr int LOADS = 1 << 14;  // timed

__global__ void chase(void** at, int warm, long long* clocks, void** end)
{
    for (int i = 0; i < warm; i++)
        at = static_cast<void**>(*at);
    long long begin = clock64();
    for (int i = 0; i < LOADS; i++)
        at = static_cast<void**>(*at);
    *clocks = clock64() - begin;
    *end = at;
}

__global__ void chase_shared(long long* clocks, void** end)
{
    __shared__ unsigned chain[1024];  // of offsets in bytes
    for (int i = 0; i < 1024; i++)
        chain[i] = (i + 33) % 1024 * 4;
    unsigned at = 0;
    long long begin = clock64();
    for (int i = 0; i < LOADS; i++)
        at = *reinterpret_cast<unsigned*>(reinterpret_cast<char*>(chain) + at);
    *clocks = clock64() - begin;
    *end = reinterpret_cast<void*>(size_t(at));
}

int main()
{
    long long *clocks, found;
    void** end;
    cudaMalloc(&clocks, sizeof *clocks);
    cudaMalloc(&end, sizeof *end);
    auto say = [&](const char* where) {
        cudaMemcpy(&found, clocks, sizeof found, cudaMemcpyDeviceToHost);
        printf("%-28s %6.1f clocks  %s\n", where, double(found) / LOADS, cudaGetErrorString(cudaGetLastError()));
    };
    chase_shared<<<1, 1>>>(clocks, end);
    say("shared memory");
    struct { const char* where; size_t bytes; bool is_walked; } cases[] = {
        {"L1, 32 KiB", 32 << 10, true}, {"L2, 8 MiB", 8 << 20, true}, {"DRAM, 4 GiB", size_t(4) << 30, false}};
    for (auto& one : cases) {
        size_t lines = one.bytes / (APART * sizeof(void*));
        std::vector<unsigned> order(lines);
        std::vector<void*> chain(lines * APART);
        void** there;
        cudaMalloc(&there, one.bytes);
        std::iota(order.begin(), order.end(), 0u);
        std::shuffle(order.begin() + 1, order.end(), std::mt19937(7));
        for (size_t i = 0; i < lines; i++)
            chain[size_t(order[i]) * APART] = there + size_t(order[(i + 1) % lines]) * APART;
        cudaMemcpy(there, chain.data(), one.bytes, cudaMemcpyHostToDevice);
        chase<<<1, 1>>>(there, one.is_walked ? int(lines) : 0, clocks, end);
        say(one.where);
        cudaFree(there);
    }
    int device = 0, khz = 0;
    cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device);
    printf("highest clock %d MHz\n", khz / 1000);
}
