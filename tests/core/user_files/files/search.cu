// Finds a word in a text, counts keys by warp, crosses out multiples.
#include <cuda_runtime.h>
#include <string>
__constant__ char word[16];
__constant__ int wordLength;

__global__ void find(const char *text, int length, int *places, int *found)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + wordLength > length) return;
    for (int k = 0; k < wordLength; k++)
        if (text[i + k] != word[k]) return;
    places[atomicAdd(found, 1)] = i;
}

__global__ void countKeys(const int *keys, int *counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
        int key = keys[i] & 7;
        unsigned peers = __match_any_sync(active, key);
        if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&counts[key], __popc(peers));
    }
}

int main()
{
    std::string needle = "ab";
    int size = needle.size();
    char *text;
    int *places, *found, *keys, *counts;
    cudaMalloc(&text, 300);
    cudaMalloc(&places, 300 * sizeof(int));
    cudaMalloc(&found, sizeof(int));
    cudaMalloc(&keys, 250 * sizeof *keys);
    cudaMalloc(&counts, 8 * sizeof(int));
    cudaMemcpyToSymbol(word, needle.data(), size);
    cudaMemcpyToSymbol(wordLength, &size, sizeof size);
    find<<<(300 + 63) / 64, 64>>>(text, 300, places, found);
    countKeys<<<4, 64>>>(keys, counts, 250);
}
