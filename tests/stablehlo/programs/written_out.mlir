// Operations that are written out before the program is simplified: what one takes apart, another one put together.
func.func @main(%a: tensor<3xcomplex<f32>>, %b: tensor<3xbf16>, %c: tensor<2x1xf32>, %d: tensor<2x3xf32>)
    -> (tensor<3xcomplex<f32>>, tensor<3xf32>, tensor<3xbf16>, tensor<2x3xf32>, tensor<f32>) {
  %0 = stablehlo.log %a : tensor<3xcomplex<f32>>
  %1 = stablehlo.exponential %0 : tensor<3xcomplex<f32>>
  %2 = stablehlo.real %0 : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %3 = chlo.lgamma %b : tensor<3xbf16> -> tensor<3xbf16>
  %4 = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = chlo.broadcast_add %c, %d : (tensor<2x1xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %6 = chlo.broadcast_maximum %5, %4 : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %7 = stablehlo.constant dense<0.5> : tensor<f32>
  %8 = chlo.erf %7 : tensor<f32> -> tensor<f32>
  return %1, %2, %3, %6, %8 : tensor<3xcomplex<f32>>, tensor<3xf32>, tensor<3xbf16>, tensor<2x3xf32>, tensor<f32>
}
