module @m {
  func.func @main(%a: tensor<4x3xf32>, %c: tensor<f32>, %i: tensor<i32>) -> tensor<2x30xf32> {
    %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
    %1 = stablehlo.reverse %0, dims = [1] : tensor<3x4xf32>
    %2 = stablehlo.slice %1 [0:3:2, 1:4] : (tensor<3x4xf32>) -> tensor<2x3xf32>
    %3 = stablehlo.concatenate %2, %2, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %4 = stablehlo.pad %3, %c, low = [1, 0], high = [0, -1], interior = [0, 2] : (tensor<4x3xf32>, tensor<f32>) -> tensor<5x6xf32>
    %5 = stablehlo.iota dim = 1 : tensor<5x6xi32>
    %6 = stablehlo.convert %5 : (tensor<5x6xi32>) -> tensor<5x6xf32>
    %7 = stablehlo.add %4, %6 : tensor<5x6xf32>
    %8 = stablehlo.dynamic_slice %7, %i, %i, sizes = [2, 3] : (tensor<5x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %9 = stablehlo.dynamic_update_slice %7, %8, %i, %i : (tensor<5x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<5x6xf32>
    %10 = stablehlo.reshape %9 : (tensor<5x6xf32>) -> tensor<30xf32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<30xf32>) -> tensor<2x30xf32>
    return %11 : tensor<2x30xf32>
  }
}
