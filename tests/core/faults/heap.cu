// What malloc gives and free takes back. `//!` marks what is to be found on a line.

//@ read_after_free grid=2 block=32 y=output:int32[64]
extern "C" __global__ void read_after_free(int* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int* p = (int*)malloc(3 * sizeof(int));
    p[2] = i;
    free(p);
    y[i] = p[2];  //! use_after_free device_heap
}
extern "C" __global__ void read_after_free_ok(int* y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int* p = (int*)malloc(3 * sizeof(int));
    p[2] = i;
    y[i] = p[2];
    free(p);
}

//@ written_after_another_freed grid=1 block=64 y=output:int32[64]
extern "C" __global__ void written_after_another_freed(int* y)
{
    __shared__ int* p;
    if (threadIdx.x == 40)
        p = (int*)malloc(64 * sizeof(int));
    __syncthreads();
    p[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 7)
        free(p);
    __syncthreads();
    p[threadIdx.x] += 1;  //! use_after_free device_heap
    y[threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void written_after_another_freed_ok(int* y)
{
    __shared__ int* p;
    if (threadIdx.x == 40)
        p = (int*)malloc(64 * sizeof(int));
    __syncthreads();
    p[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    p[threadIdx.x] += 1;
    y[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 7)
        free(p);
}

//@ dead_list grid=1 block=8 y=output:int32[8]
struct Node {
    int value;
    Node* next;
};
extern "C" __global__ void dead_list(int* y)
{
    Node* head = nullptr;
    for (int k = 0; k <= threadIdx.x; k++) {
        Node* node = (Node*)malloc(sizeof(Node));
        node->value = k;
        node->next = head;
        head = node;
    }
    int sum = 0;
    for (Node* node = head; node; node = node->next) {  //! use_after_free device_heap
        sum += node->value;
        free(node);
    }
    y[threadIdx.x] = sum;
}
extern "C" __global__ void dead_list_ok(int* y)
{
    Node* head = nullptr;
    for (int k = 0; k <= threadIdx.x; k++) {
        Node* node = (Node*)malloc(sizeof(Node));
        node->value = k;
        node->next = head;
        head = node;
    }
    int sum = 0;
    while (head) {
        Node* node = head;
        sum += node->value;
        head = node->next;
        free(node);
    }
    y[threadIdx.x] = sum;
}

//@ freed_twice grid=1 block=32 y=output:int32[32]
extern "C" __global__ void freed_twice(int* y)
{
    int* p = (int*)malloc(40);
    p[threadIdx.x % 10] = threadIdx.x;
    y[threadIdx.x] = p[threadIdx.x % 10];
    if (threadIdx.x % 3 == 0)
        free(p);
    free(p);  //! bad_free device_heap
}
extern "C" __global__ void freed_twice_ok(int* y)
{
    int* p = (int*)malloc(40);
    p[threadIdx.x % 10] = threadIdx.x;
    y[threadIdx.x] = p[threadIdx.x % 10];
    if (threadIdx.x % 3 == 0) {
        free(p);
        p = nullptr;
    }
    free(p);
}

//@ freed_by_all grid=1 block=32 y=output:int32[32]
extern "C" __global__ void freed_by_all(int* y)
{
    __shared__ int* p;
    if (threadIdx.x == 0)
        p = (int*)malloc(32 * sizeof(int));
    __syncthreads();
    p[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    free(p);  //! bad_free device_heap
}
extern "C" __global__ void freed_by_all_ok(int* y)
{
    __shared__ int* p;
    if (threadIdx.x == 0)
        p = (int*)malloc(32 * sizeof(int));
    __syncthreads();
    p[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 31)
        free(p);
}

//@ freed_in_the_middle grid=1 block=32 y=output:int32[32]
extern "C" __global__ void freed_in_the_middle(int* y)
{
    int* p = (int*)malloc(64);
    *p++ = threadIdx.x;
    y[threadIdx.x] = p[-1];
    free(p);  //! bad_free device_heap
}
extern "C" __global__ void freed_in_the_middle_ok(int* y)
{
    int* p = (int*)malloc(64);
    *p++ = threadIdx.x;
    y[threadIdx.x] = p[-1];
    free(p - 1);
}

//@ frees_an_argument grid=1 block=32 y=inout:int32[32]
extern "C" __global__ void frees_an_argument(int* y)
{
    y[threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 5)
        free(y);  //! bad_free y
}
extern "C" __global__ void frees_an_argument_ok(int* y)
{
    y[threadIdx.x] += 1;
}

//@ past_the_piece grid=1 block=32 y=output:int32[32]
extern "C" __global__ void past_the_piece(int* y)
{
    __shared__ int* p;
    if (threadIdx.x == 0)
        p = (int*)malloc(31 * sizeof(int));
    __syncthreads();
    p[threadIdx.x] = threadIdx.x;  //! out_of_bounds device_heap
    y[threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void past_the_piece_ok(int* y)
{
    __shared__ int* p;
    if (threadIdx.x == 0)
        p = (int*)malloc(32 * sizeof(int));
    __syncthreads();
    p[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = p[threadIdx.x];
}

//@ nothing_given grid=1 block=32 y=output:int32[32]
extern "C" __global__ void nothing_given(int* y)
{
    int* p = (int*)malloc((size_t)-1);
    y[threadIdx.x] = p == nullptr;
    p[threadIdx.x] = 1;  //! out_of_bounds
}
extern "C" __global__ void nothing_given_ok(int* y)
{
    int* p = (int*)malloc((size_t)1 << 63);
    y[threadIdx.x] = p == nullptr;
    if (p)
        p[threadIdx.x] = 1;
}

//@ fresh_but_unwritten grid=1 block=32 y=output:int32[32]
extern "C" __global__ void fresh_but_unwritten(int* y)
{
    int* p = (int*)malloc(8);
    p[0] = threadIdx.x;
    y[threadIdx.x] = p[0] + p[1];  //! uninitialised device_heap
    free(p);
}
extern "C" __global__ void fresh_but_unwritten_ok(int* y)
{
    int* p = (int*)malloc(8);
    p[0] = p[1] = threadIdx.x;
    y[threadIdx.x] = p[0] + p[1];
    free(p);
}

//@ used_again grid=1 block=32 y=output:int32[32]
extern "C" __global__ void used_again(int* y)
{
    int* p = nullptr;
    for (int k = 0; k < 12; k++) {  // 32 threads take 1.5 times the heap in all
        p = (int*)malloc(32 << 10);
        if (p == nullptr)
            break;
        p[k] = threadIdx.x;
        if (k < 11)
            free(p);
    }
    y[threadIdx.x] = p[10];  //! uninitialised device_heap
}
extern "C" __global__ void used_again_ok(int* y)
{
    int* p = nullptr;
    for (int k = 0; k < 12; k++) {
        p = (int*)malloc(32 << 10);
        if (p == nullptr)
            break;
        p[k] = threadIdx.x;
        if (k < 11)
            free(p);
    }
    y[threadIdx.x] = p[11];
}
