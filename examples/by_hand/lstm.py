"""An LSTM layer over a sequence."""

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def main(params_bias, params_input, params_recurrent, inputs):
    """Return the hidden state after each step [steps, batch, width], and the last cell state."""
    for name, given, shape in (
        ("params_bias", params_bias, (128,)),
        ("params_input", params_input, (16, 128)),
        ("params_recurrent", params_recurrent, (32, 128)),
        ("inputs", inputs, (24, 4, 16)),
    ):
        if given.dtype != np.float32 or given.shape != shape:
            raise TypeError(f"{name}: expected float32{shape}, got {given.dtype}{given.shape}")
    length, batch, _ = inputs.shape
    width = len(params_recurrent)
    hidden = cell = np.zeros((batch, width), dtype=np.float32)
    hiddens = np.empty((length, batch, width), dtype=np.float32)
    for t in range(length):
        gates = inputs[t] @ params_input + hidden @ params_recurrent + params_bias
        update, forget, candidate, output = np.split(gates, 4, axis=-1)
        cell = sigmoid(forget + 1) * cell + sigmoid(update) * np.tanh(candidate)
        hidden = sigmoid(output) * np.tanh(cell)
        hiddens[t] = hidden
    return hiddens, cell
