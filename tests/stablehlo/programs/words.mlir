// What is said beside the operations: donated arguments, exactness, escapes of strings, dimensions from the last.
module @m {
  func.func public @main(%x: tensor<2x8xf32> {tf.aliasing_output = 1 : i32}, %y: tensor<8xf32> {tf.aliasing_output = 0 : i32}, %z: tensor<3xf32> {jax.buffer_donor = true}) -> (tensor<8xf32>, tensor<2x8xf32>, tensor<3xf32>, tensor<2x8xf32>) {
    %a = stablehlo.exponential %y {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, rtol = 2.500000e-01, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<8xf32>
    %b = "stablehlo.sort"(%x) <{dimension = -1 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %less = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %c = stablehlo.custom_call @with_words(%z) {backend_config = "{\22n\22: 1}\09\\\0A"} : (tensor<3xf32>) -> tensor<3xf32>
    %scale = stablehlo.constant dense<1.0> : tensor<8xf32>
    %d = "stablehlo.batch_norm_inference"(%x, %scale, %y, %y, %scale) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    %e = stablehlo.tanh %d {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2x8xf32>
    return %a, %b, %c, %e : tensor<8xf32>, tensor<2x8xf32>, tensor<3xf32>, tensor<2x8xf32>
  }
}
