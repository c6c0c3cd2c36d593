module @m {
  func.func @main(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.composite "my.op" %a {composite_attributes = {n = 1 : i64}, decomposition = @part, version = 1 : i32} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.custom_call @other(%0) {api_version = 4 : i32, backend_config = {n = 3 : i32, s = "x"}, has_side_effect = true, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %2 = stablehlo.optimization_barrier %1 : tensor<4x3xf32>
    %3 = call @inner(%2) : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %3 : tensor<4x3xf32>
  }
  func.func private @part(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.cosine %a : tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
  func.func private @inner(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.sine %a : tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
