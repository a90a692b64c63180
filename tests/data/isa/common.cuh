// Every kernel reads and writes 2 KiB slots: one element a thread, 128 threads in 2 blocks of 64.
#define ARGS const unsigned char* __restrict__ in, unsigned char* __restrict__ out
#define TID (int)(blockIdx.x * blockDim.x + threadIdx.x)
#define IN(T, slot) (((const T*)(in + (slot) * 2048))[TID])
template <class T> struct Bare { typedef T t; }; template <class T> struct Bare<T&> { typedef T t; }; template <class T> struct Bare<const T&> { typedef T t; };
#define OUT(slot, ...) (((Bare<decltype(__VA_ARGS__)>::t*)(out + (slot) * 2048))[TID] = (__VA_ARGS__))
