#pragma once
namespace std {
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T& clamp(const T& v, const T& lo, const T& hi)
{ return v < lo ? lo : hi < v ? hi : v; }
#ifdef __CUDACC_RTC__
template <class T> __host__ __device__ constexpr T max(initializer_list<T> all)
{ T r = *all.begin(); for (const T& one : all) if (r < one) r = one; return r; }
template <class T> __host__ __device__ constexpr T min(initializer_list<T> all)
{ T r = *all.begin(); for (const T& one : all) if (one < r) r = one; return r; }
#endif
}
