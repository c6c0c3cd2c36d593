module @m {
  func.func @main(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>, %c: tensor<f32>) -> tensor<4x3xf32> {
    %0 = stablehlo.add %a, %b : tensor<4x3xf32>
    %1 = "stablehlo.multiply"(%0, %b) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %2 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %3 = stablehlo.select %2, %0, %1 : tensor<4x3xi1>, tensor<4x3xf32>
    %4 = "stablehlo.compare"(%3, %b) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
    %5 = stablehlo.convert %4 : (tensor<4x3xi1>) -> tensor<4x3xf32>
    %6 = stablehlo.clamp %c, %5, %c : (tensor<f32>, tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xf32>
    %7 = stablehlo.reduce_precision %6, format = e5m10 : tensor<4x3xf32>
    %8 = chlo.erf %7 : tensor<4x3xf32> -> tensor<4x3xf32>
    %9 = chlo.lgamma %8 : tensor<4x3xf32> -> tensor<4x3xf32>
    return %9 : tensor<4x3xf32>
  }
}
