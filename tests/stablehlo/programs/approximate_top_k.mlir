// The largest of a row, and the three largest, as `jax.lax.approx_max_k` finds them.
module @m {
  func.func private @greater(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
    %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
  func.func public @main(%x: tensor<2x8xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>, tensor<2x3xf32>, tensor<2x3xi32>) {
    %places = stablehlo.iota dim = 1 : tensor<2x8xi32>
    %nowhere = stablehlo.constant dense<-1> : tensor<i32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %one:2 = stablehlo.custom_call @ApproxTopK(%x, %places, %low, %nowhere) {backend_config = "", called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 1 : i64}} : (tensor<2x8xf32>, tensor<2x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
    %three:2 = stablehlo.custom_call @ApproxTopK(%x, %places, %low, %nowhere) {backend_config = "", called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 3 : i64}} : (tensor<2x8xf32>, tensor<2x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    return %one#0, %one#1, %three#0, %three#1 : tensor<2x1xf32>, tensor<2x1xi32>, tensor<2x3xf32>, tensor<2x3xi32>
  }
}
