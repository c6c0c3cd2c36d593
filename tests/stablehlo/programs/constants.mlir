module @m {
  func.func @main() -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xi1>, tensor<complex<f32>>, tensor<3xui8>, tensor<2xf32>, tensor<0x2xi32>) {
    %0 = stablehlo.constant dense<[[1.0, -2.5e-1, 0x7FC00000], [0xFF800000, 4.0, 5.0]]> : tensor<2x3xf32>
    %1 = stablehlo.constant dense<"0x0000803F0000004000004040000080400000A0400000C040"> : tensor<2x3xf32>
    %2 = stablehlo.constant dense<true> : tensor<2x3xi1>
    %3 = stablehlo.constant dense<[[true, false, true], [false, false, true]]> : tensor<2x3xi1>
    %4 = stablehlo.and %2, %3 : tensor<2x3xi1>
    %5 = stablehlo.constant dense<(1.0, -2.0)> : tensor<complex<f32>>
    %6 = stablehlo.constant dense<[1, 2, 255]> : tensor<3xui8>
    %7 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %8 = stablehlo.constant dense<> : tensor<0x2xi32>
    return %0, %1, %4, %5, %6, %7, %8 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xi1>, tensor<complex<f32>>, tensor<3xui8>, tensor<2xf32>, tensor<0x2xi32>
  }
}
