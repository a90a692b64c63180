// What OpenCV gives to kernels (opencv2/core/cuda_types.hpp): views of an image on the GPU, whose
// rows lie `step` bytes apart. Each of its headers has all of it.
#ifndef TILESCOPE_OPENCV
#define TILESCOPE_OPENCV
typedef unsigned char uchar;
typedef unsigned short ushort;
namespace cv { namespace cuda {
template <class T> struct DevPtr {
    typedef T elem_type;
    T* data;
    __device__ operator T*() { return data; }
    __device__ operator const T*() const { return data; }
};
template <class T> struct PtrSz : DevPtr<T> { size_t size; };
template <class T> struct PtrStep : DevPtr<T> {
    size_t step;
    __device__ T* ptr(int y = 0) { return (T*)((char*)this->data + y * step); }
    __device__ const T* ptr(int y = 0) const { return (const T*)((char*)this->data + y * step); }
    __device__ T& operator()(int y, int x) { return ptr(y)[x]; }
    __device__ const T& operator()(int y, int x) const { return ptr(y)[x]; }
};
template <class T> struct PtrStepSz : PtrStep<T> { int cols, rows; };
typedef PtrStepSz<unsigned char> PtrStepSzb;
typedef PtrStepSz<float> PtrStepSzf;
typedef PtrStepSz<int> PtrStepSzi;
typedef PtrStep<unsigned char> PtrStepb;
typedef PtrStep<float> PtrStepf;
typedef PtrStep<int> PtrStepi;
} }
#endif
