import jax
import jax.numpy as jnp
import numpy as np
from model import WEIGHTS

import xla2py

params = WEIGHTS
x, z = jnp.ones((8, 128)), jnp.ones((8, 16))
np.savez("in.npz", x=x)


def predict(params, x):
    return x @ params["hidden"]


def encode(params, x):
    return x @ params["hidden"]


def decode(params, z):
    return z @ params["hidden"].T
