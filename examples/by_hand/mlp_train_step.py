"""One Adam step of a multi-layer perceptron."""

import numpy as np


def adam(parameter, gradient, mean, square, step):
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    scaled_mean = mean / (1 - 0.9 ** np.float32(step))
    scaled_square = square / (1 - 0.999 ** np.float32(step))
    return parameter - 0.001 * scaled_mean / (np.sqrt(scaled_square) + 1e-8), mean, square


def main(
    params_0_bias,
    params_0_weight,
    params_1_bias,
    params_1_weight,
    params_2_bias,
    params_2_weight,
    optimizer_state_mean_0_bias,
    optimizer_state_mean_0_weight,
    optimizer_state_mean_1_bias,
    optimizer_state_mean_1_weight,
    optimizer_state_mean_2_bias,
    optimizer_state_mean_2_weight,
    optimizer_state_square_0_bias,
    optimizer_state_square_0_weight,
    optimizer_state_square_1_bias,
    optimizer_state_square_1_weight,
    optimizer_state_square_2_bias,
    optimizer_state_square_2_weight,
    optimizer_state_step,
    images,
    labels,
):
    """Return the updated parameters, the updated state of Adam, and the loss."""
    for name, given, dtype, shape in (
        ("params_0_bias", params_0_bias, "float32", (128,)),
        ("params_0_weight", params_0_weight, "float32", (64, 128)),
        ("params_1_bias", params_1_bias, "float32", (32,)),
        ("params_1_weight", params_1_weight, "float32", (128, 32)),
        ("params_2_bias", params_2_bias, "float32", (10,)),
        ("params_2_weight", params_2_weight, "float32", (32, 10)),
        ("optimizer_state_mean_0_bias", optimizer_state_mean_0_bias, "float32", (128,)),
        ("optimizer_state_mean_0_weight", optimizer_state_mean_0_weight, "float32", (64, 128)),
        ("optimizer_state_mean_1_bias", optimizer_state_mean_1_bias, "float32", (32,)),
        ("optimizer_state_mean_1_weight", optimizer_state_mean_1_weight, "float32", (128, 32)),
        ("optimizer_state_mean_2_bias", optimizer_state_mean_2_bias, "float32", (10,)),
        ("optimizer_state_mean_2_weight", optimizer_state_mean_2_weight, "float32", (32, 10)),
        ("optimizer_state_square_0_bias", optimizer_state_square_0_bias, "float32", (128,)),
        ("optimizer_state_square_0_weight", optimizer_state_square_0_weight, "float32", (64, 128)),
        ("optimizer_state_square_1_bias", optimizer_state_square_1_bias, "float32", (32,)),
        ("optimizer_state_square_1_weight", optimizer_state_square_1_weight, "float32", (128, 32)),
        ("optimizer_state_square_2_bias", optimizer_state_square_2_bias, "float32", (10,)),
        ("optimizer_state_square_2_weight", optimizer_state_square_2_weight, "float32", (32, 10)),
        ("optimizer_state_step", optimizer_state_step, "int32", ()),
        ("images", images, "float32", (32, 64)),
        ("labels", labels, "int32", (32,)),
    ):
        if given.dtype != dtype or given.shape != shape:
            raise TypeError(f"{name}: expected {dtype}{shape}, got {given.dtype}{given.shape}")
    hidden_1 = np.maximum(images @ params_0_weight + params_0_bias, 0)
    hidden_2 = np.maximum(hidden_1 @ params_1_weight + params_1_bias, 0)
    logits = hidden_2 @ params_2_weight + params_2_bias
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    rows = np.arange(len(labels))
    loss = -log_probabilities[rows, labels].mean()
    d_logits = np.exp(log_probabilities)
    d_logits[rows, labels] -= 1
    d_logits = d_logits / len(labels)
    d_hidden_2 = np.where(hidden_2 > 0, d_logits @ params_2_weight.T, 0)
    d_hidden_1 = np.where(hidden_1 > 0, d_hidden_2 @ params_1_weight.T, 0)
    step = optimizer_state_step + 1
    bias_0, mean_bias_0, square_bias_0 = adam(
        params_0_bias, d_hidden_1.sum(axis=0), optimizer_state_mean_0_bias, optimizer_state_square_0_bias, step
    )
    weight_0, mean_weight_0, square_weight_0 = adam(
        params_0_weight, images.T @ d_hidden_1, optimizer_state_mean_0_weight, optimizer_state_square_0_weight, step
    )
    bias_1, mean_bias_1, square_bias_1 = adam(
        params_1_bias, d_hidden_2.sum(axis=0), optimizer_state_mean_1_bias, optimizer_state_square_1_bias, step
    )
    weight_1, mean_weight_1, square_weight_1 = adam(
        params_1_weight, hidden_1.T @ d_hidden_2, optimizer_state_mean_1_weight, optimizer_state_square_1_weight, step
    )
    bias_2, mean_bias_2, square_bias_2 = adam(
        params_2_bias, d_logits.sum(axis=0), optimizer_state_mean_2_bias, optimizer_state_square_2_bias, step
    )
    weight_2, mean_weight_2, square_weight_2 = adam(
        params_2_weight, hidden_2.T @ d_logits, optimizer_state_mean_2_weight, optimizer_state_square_2_weight, step
    )
    return (
        bias_0,
        weight_0,
        bias_1,
        weight_1,
        bias_2,
        weight_2,
        mean_bias_0,
        mean_weight_0,
        mean_bias_1,
        mean_weight_1,
        mean_bias_2,
        mean_weight_2,
        square_bias_0,
        square_weight_0,
        square_bias_1,
        square_weight_1,
        square_bias_2,
        square_weight_2,
        step,
        loss,
    )
