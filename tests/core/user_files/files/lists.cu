/* As in C: typedefs, a list's node that points to its like, an enumeration, code that is switched off. */
#include <stdio.h>
#include <stdlib.h>
struct node { int key; struct node *next; };
typedef enum { LEFT, RIGHT = 5 } side_t;
#if 0
__global__ void unfinished(float *x {
#endif
__global__ void keys(struct node *nodes, int *out, side_t side, int n)
{
    int i = blockIdx.x*blockDim.x + threadIdx.x;
    if (i >= n) return;
    nodes[i].key = i * i;
    nodes[i].next = &nodes[(i + 1) % n];
    out[i] = nodes[i].key + (side == RIGHT ? 1000 : 0);
}
template
<
  typename   T ,
  int        N
>
__global__
void
__launch_bounds__ ( N )
turned
(
  T       * out , /* with a comma ( */
  T const * in  , // in )
  int       n
)
{
  __shared__
  T
  room
  [ N
    + 1 ] ;
  int const i = blockIdx . x * N + threadIdx . x ;
  room [ threadIdx . x ] = i < n ? in [ i ] : T ( 0 ) ;
  __syncthreads ( ) ;
  if ( i < n ) out [ i ] = room [ N - 1 - threadIdx . x ] ;
}
void go ( float * o , float const * p , int n )
{
  turned < float , 64 >
    <<< ( n + 63 ) / 64 ,
        64
    >>> ( o , p , n ) ;
}
