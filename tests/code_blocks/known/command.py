import jax
import numpy as np
from model import predict as f

arguments = (np.ones((8, 128), np.float32),)
