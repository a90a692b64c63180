// The device's runtime takes memory from the heap of a kernel's malloc (CUDA Programming Guide,
// Dynamic Parallelism, "Memory Allocation").
template <class T>
static __device__ __forceinline__ cudaError_t cudaMalloc(T** p, unsigned long long bytes)
{ *p = static_cast<T*>(malloc(bytes)); return *p ? cudaSuccess : cudaErrorMemoryAllocation; }
static __device__ __forceinline__ cudaError_t cudaFree(void* p) { free(p); return cudaSuccess; }
