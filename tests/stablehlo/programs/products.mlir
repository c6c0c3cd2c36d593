module @m {
  func.func @main(%a: tensor<4x3xf32>, %b: tensor<3x5xf32>, %k: tensor<1x8x8x2xf32>, %w: tensor<3x3x2x4xf32>) -> (tensor<4x5xf32>, tensor<4xf32>, tensor<1x4x6x4xf32>, tensor<4x2xcomplex<f32>>) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %1 = "stablehlo.dot_general"(%a, %a) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4xf32>
    %2 = stablehlo.convolution(%k, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x2xf32>, tensor<3x3x2x4xf32>) -> tensor<1x4x6x4xf32>
    %3 = stablehlo.fft %a, type = RFFT, length = [3] : (tensor<4x3xf32>) -> tensor<4x2xcomplex<f32>>
    return %0, %1, %2, %3 : tensor<4x5xf32>, tensor<4xf32>, tensor<1x4x6x4xf32>, tensor<4x2xcomplex<f32>>
  }
}
