// What CUDA C++ kernels use, for g++ on x86-64: element types, intrinsics, and threads as fibers.
//
// Every thread of a block is a fiber with its own stack. Fibers switch only at barriers and warp operations, in an order
// that the seed chooses, so that a missing barrier shows as a result that depends on the seed. No header of CUDA is used.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <xmmintrin.h>

#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __restrict__
#define __launch_bounds__(...)

using std::abs; using std::isnan; using std::isinf; using std::isfinite; using std::signbit;
#ifdef HOSTCUDA_COMPLEX  // <complex> is four fifths of the precompiled header, which takes as long as a kernel to read
#include <complex>
template <class T> using complex = std::complex<T>;
#endif

static inline int __float_as_int(float x) { int b; memcpy(&b, &x, 4); return b; }
static inline unsigned __float_as_uint(float x) { unsigned b; memcpy(&b, &x, 4); return b; }
static inline float __int_as_float(int b) { float x; memcpy(&x, &b, 4); return x; }
static inline float __uint_as_float(unsigned b) { float x; memcpy(&x, &b, 4); return x; }
static inline long long __double_as_longlong(double x) { long long b; memcpy(&b, &x, 8); return b; }
static inline double __longlong_as_double(long long b) { double x; memcpy(&x, &b, 8); return x; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
static inline long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
static inline float normcdff(float x) { return (float)(0.5 * erfc(-(double)x * 0.70710678118654752)); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  shift &= 31; return shift ? (high << shift) | (low >> (32 - shift)) : high;
}
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }
template <class Wide, class Float> static inline Wide saturated(Float x, Float low, Float high, Wide least, Wide most) {
  return x != x ? Wide(0) : x <= low ? least : x >= high ? most : Wide(x);
}

struct Flushing {  // of subnormals: CuPy compiles all kernels with -ftz=true, which is about float32 alone
  unsigned before = _mm_getcsr();
  Flushing() { _mm_setcsr(before | 0x8040); }
  ~Flushing() { _mm_setcsr(before); }
};

struct float16 {  // computed in float, rounded once, as CuPy's
  uint16_t bits;
  float16() = default;
  template <class N> float16(N x) { _Float16 h = (_Float16)(float)x; memcpy(&bits, &h, 2); }
  operator float() const { _Float16 h; memcpy(&h, &bits, 2); return (float)h; }
};
struct bfloat16 {
  uint16_t bits;
  bfloat16() = default;
  template <class N> bfloat16(N number) {
    float x = (float)number;
    unsigned b = __float_as_uint(x);
    bits = x != x ? 0x7fc0 : (uint16_t)((b + 0x7fff + ((b >> 16) & 1)) >> 16);
  }
  operator float() const { return __uint_as_float((unsigned)bits << 16); }
  unsigned short to_bits() const { return bits; }
};
typedef bfloat16 __nv_bfloat16;  // of CUDA's own header
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { __nv_bfloat16 x; x.bits = bits; return x; }
static inline __nv_bfloat16 __hneg(__nv_bfloat16 x) { return __ushort_as_bfloat16(x.bits ^ 0x8000); }
static inline __nv_bfloat16 __hadd_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a + (float)b; }
static inline __nv_bfloat16 __hsub_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a - (float)b; }
static inline __nv_bfloat16 __hmul_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return (float)a * (float)b; }
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {a, b}; }
static inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 pair) { return pair.x; }
#define __expf expf  // a name that the C library has taken
static inline float __fdividef(float a, float b) { return fabsf(b) > 0x1p126f && !std::isinf(b) ? 0.0f * a : a / b; }

static bool is_read_outside;

template <class T> struct Raw {  // a `raw` parameter of an elementwise kernel
  T *data; long long count;
  T &operator[](long long at) const {
    if (at >= 0 && at < count) return data[at];
    is_read_outside = true;
    static T nothing;
    return nothing;
  }
  long long size() const { return count; }
};

struct Dim { int x, y, z; };
static Dim threadIdx, blockIdx, blockDim, gridDim;
static char *hostcuda_dynamic_shared;

extern "C" void hostcuda_switch(void **save, void *load);
asm(R"(
.text
hostcuda_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

struct Barrier {  // a thread that has ended no longer counts
  int alive = 0, waiting = 0; long generation = 0;
  void release() { if (alive && waiting == alive) { waiting = 0; generation++; } }
};
struct Fiber { void *stack; void *pointer; Dim thread; int warp, lane; bool done; };
static Fiber *fibers; static Barrier block_barrier, warp_barriers[32]; static int current; static void *scheduler;
static long progress; static uint64_t slots[32][32]; static void (*hostcuda_body)(void *); static void *hostcuda_context;

static void yield() { hostcuda_switch(&fibers[current].pointer, scheduler); }
static void wait_at(Barrier &barrier) {
  long own = barrier.generation; progress++; barrier.waiting++; barrier.release();
  while (barrier.generation == own) yield();
}
static inline void __syncthreads() { wait_at(block_barrier); }
static inline void __syncwarp(unsigned = ~0u) { wait_at(warp_barriers[fibers[current].warp]); }
template <class T> static T exchange(T value, int lane) {
  Fiber &own = fibers[current];
  memcpy(&slots[own.warp][own.lane], &value, sizeof(T));
  __syncwarp();
  T other; memcpy(&other, &slots[own.warp][lane & 31], sizeof(T));
  __syncwarp();
  return other;
}
template <class T> static T __shfl_xor_sync(unsigned, T value, int mask) { return exchange(value, fibers[current].lane ^ mask); }
template <class T> static T __shfl_sync(unsigned, T value, int lane) { return exchange(value, lane); }
template <class T> static T __shfl_down_sync(unsigned, T value, int by) {
  int lane = fibers[current].lane; T other = exchange(value, lane + by); return lane + by < 32 ? other : value;
}
template <class T> static T atomicAdd(T *at, T value) { T old = *at; *at = old + value; return old; }
template <class T> static T atomicCAS(T *at, T compare, T value) { T old = *at; if (old == compare) *at = value; return old; }

static void start_fiber() {
  hostcuda_body(hostcuda_context);
  Fiber &own = fibers[current];
  own.done = true; progress++;
  block_barrier.alive--; block_barrier.release();
  warp_barriers[own.warp].alive--; warp_barriers[own.warp].release();
  yield();
}

template <class Body> static int hostcuda_launch(int gx, int gy, int gz, int bx, int by, int bz, int shared, int seed, Body body) {
  const size_t STACK = 128 * 1024;
  int count = bx * by * bz, failed = 0;
  gridDim = {gx, gy, gz}; blockDim = {bx, by, bz};
  hostcuda_context = &body;
  hostcuda_body = [](void *context) { (*(Body *)context)(); };
  hostcuda_dynamic_shared = (char *)malloc(shared + 16);
  fibers = (Fiber *)malloc(sizeof(Fiber) * count);
  char *stacks = (char *)malloc(STACK * count);
  int *order = (int *)malloc(sizeof(int) * count);
  uint64_t random = 88172645463325252ull + seed;
  for (int block = 0; block < gx * gy * gz && !failed; block++) {
    blockIdx = {block % gx, block / gx % gy, block / gx / gy};
    memset(hostcuda_dynamic_shared, 0xff, shared);
    block_barrier = Barrier(); block_barrier.alive = count;
    for (auto &barrier : warp_barriers) barrier = Barrier();
    for (int k = 0; k < count; k++) {
      Fiber &f = fibers[k];
      f.thread = {k % bx, k / bx % by, k / bx / by}; f.warp = k / 32; f.lane = k % 32; f.done = false;
      warp_barriers[f.warp].alive++;
      void **top = (void **)(stacks + STACK * (k + 1)) - 3;  // as a call would leave it: 8 beside a multiple of 16
      *--top = (void *)start_fiber;
      for (int r = 0; r < 6; r++) *--top = nullptr;
      f.pointer = top; order[k] = k;
    }
    for (int live = count; live && !failed;) {
      if (seed) for (int k = count - 1; k > 0; k--) {
        random ^= random << 13; random ^= random >> 7; random ^= random << 17;
        int other = random % (k + 1), swapped = order[k]; order[k] = order[other]; order[other] = swapped;
      }
      long before = progress; live = 0;
      for (int k = 0; k < count; k++) {
        current = order[k];
        if (fibers[current].done) continue;
        threadIdx = fibers[current].thread;
        hostcuda_switch(&scheduler, fibers[current].pointer);
        live += !fibers[current].done;
      }
      if (live && progress == before) failed = 1;  // the threads wait at different barriers
    }
  }
  free(order); free(stacks); free(fibers); free(hostcuda_dynamic_shared);
  return failed;
}
