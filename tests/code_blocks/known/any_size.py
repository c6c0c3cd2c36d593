from kernels import attention, gram

import xla2py
