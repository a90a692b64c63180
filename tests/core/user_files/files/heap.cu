#include <cstdio>
#include <cassert>
struct Node { int value; Node *next; __device__ Node(int v, Node *n) : value(v), next(n) {} };
class Shape { public: __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
class Circle : public Shape { float r; public: __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3.14159265f * r * r; } };
class Square : public Shape { float a; public: __device__ Square(float a) : a(a) {} __device__ float area() const override { return a * a; } };

__global__ void lists(int *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Node *head = nullptr;
    for (int k = 0; k <= i % 5; ++k) head = new Node(k * i, head);
    int sum = 0;
    while (head) { sum += head->value; Node *dead = head; head = head->next; delete dead; }
    sums[i] = sum;
    assert(sum >= 0);
    if (i < 3) printf("thread %d: sum %d (%.2f)\n", i, sum, sum / 2.0);
}
__global__ void shapes(float *areas)
{
    Shape *s = threadIdx.x % 2 ? (Shape *)new Circle(threadIdx.x) : (Shape *)new Square(threadIdx.x);
    areas[threadIdx.x] = s->area();
    delete s;
    int *scratch = (int *)malloc(16 * sizeof(int));
    if (!scratch) { printf("no memory\n"); return; }
    for (int i = 0; i < 16; ++i) scratch[i] = i;
    areas[threadIdx.x] += scratch[threadIdx.x % 16];
    free(scratch);
}
int main() { int *s; cudaMalloc(&s, 256 * 4); lists<<<2, 64>>>(s, 100); cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 24); }
