// Constants whose arithmetic is easily wrong in the last bit, in a sign or beyond a type.
module @m {
  func.func @main() -> (tensor<ui8>, tensor<f32>, tensor<i1>) {
    %negative = stablehlo.constant dense<-1.5> : tensor<f32>
    %unsigned = stablehlo.convert %negative : (tensor<f32>) -> tensor<ui8>
    %minus_zero = stablehlo.constant dense<-0.0> : tensor<f32>
    %plus_zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.add %minus_zero, %plus_zero : tensor<f32>
    %false = stablehlo.constant dense<false> : tensor<3xi1>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %first = "stablehlo.reduce"(%false, %true) ({
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %both = stablehlo.and %a, %b : tensor<i1>
      stablehlo.return %a : tensor<i1>
    }) {dimensions = array<i64: 0>} : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
    return %unsigned, %sum, %first : tensor<ui8>, tensor<f32>, tensor<i1>
  }
}
