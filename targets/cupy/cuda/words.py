"""Words that a name in a CUDA kernel cannot be."""

# Reserved words of CUDA C++, and functions that the macros call.
WORDS = frozenset(
    "alignas alignof asm auto bool case catch char class const constexpr const_cast decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept nullptr operator private protected public register reinterpret_cast return short signed sizeof "
    "static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename "
    "union unsigned using virtual void volatile while and or not xor bitand bitor compl float16 bfloat16 complex at i "
    "n threadIdx blockIdx blockDim gridDim infinite infinite_double not_a_number "
    "not_a_number_double to_bfloat16 larger smaller squared sigmoid saturate sign popcount count_leading_zeros mulhi "
    "int_divide int_remainder int_power shift_left shift_right_logical shift_right_arithmetic logistic rsqrt "
    "round_half_away abs isfinite isnan min max half bool_ linux unix j0 j1 jn y0 y1 yn gamma signbit isinf "
    "round".split()
)
DOUBLE_WORDS = frozenset(  # functions of double, which only float64 kernels call
    "exp expm1 log log1p sqrt cbrt sin cos tan tanh sinh cosh asin acos asinh acosh atanh floor ceil rint erf pow "
    "atan2 fabs fmod".split()
)
