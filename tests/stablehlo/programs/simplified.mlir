// What XLA makes simpler on its way to HLO.
module @m {
  func.func @constants() -> (tensor<1xi32>, tensor<2xi32>, tensor<1xi32>, tensor<2xi1>, tensor<4xf32>, tensor<2xi32>,
      tensor<i32>, tensor<i1>) {
    %zero = stablehlo.constant dense<0> : tensor<1xi32>
    %same = stablehlo.constant dense<[5, 5]> : tensor<2xi32>
    %line = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
    %part = stablehlo.slice %line [1:2] : (tensor<3xi32>) -> tensor<1xi32>
    %less = stablehlo.constant dense<[true, true]> : tensor<2xi1>
    %bits = stablehlo.constant dense<"0x0000803F0000803F0000803F0000803F"> : tensor<4xf32>
    %left = stablehlo.constant dense<[7, -9]> : tensor<2xi32>
    %right = stablehlo.constant dense<[-2, 4]> : tensor<2xi32>
    %quotient = stablehlo.divide %left, %right : tensor<2xi32>
    %number = stablehlo.constant dense<2.5> : tensor<f32>
    %whole = stablehlo.convert %number : (tensor<f32>) -> tensor<i32>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %all = stablehlo.reduce(%less init: %true) applies stablehlo.and across dimensions = [0]
      : (tensor<2xi1>, tensor<i1>) -> tensor<i1>
    return %zero, %same, %part, %less, %bits, %quotient, %whole, %all : tensor<1xi32>, tensor<2xi32>, tensor<1xi32>,
      tensor<2xi1>, tensor<4xf32>, tensor<2xi32>, tensor<i32>, tensor<i1>
  }
  func.func @lines() -> (tensor<2x4x3xi32>, tensor<1x3xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<4x3xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<4x3xi32>) -> tensor<2x4x3xi32>
    %2 = stablehlo.iota dim = 1 : tensor<1x3xi32>
    return %1, %2 : tensor<2x4x3xi32>, tensor<1x3xi32>
  }
  func.func @neutral(%c: tensor<2xcomplex<f32>>, %p: tensor<2xi1>, %i: tensor<2xi32>) -> (tensor<2xcomplex<f32>>,
      tensor<2xi1>, tensor<2xi1>) {
    %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<2xcomplex<f32>>
    %0 = stablehlo.multiply %c, %one : tensor<2xcomplex<f32>>
    %false = stablehlo.constant dense<false> : tensor<2xi1>
    %1 = stablehlo.add %p, %false : tensor<2xi1>
    %three = stablehlo.constant dense<3> : tensor<2xi32>
    %4 = stablehlo.compare LT, %three, %i : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    return %0, %1, %4 : tensor<2xcomplex<f32>>, tensor<2xi1>, tensor<2xi1>
  }
  func.func @moved(%p: tensor<i1>, %a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>) -> (tensor<2xf32>, tensor<3xf32>,
      tensor<2xf32>) {
    %0 = stablehlo.not %p : tensor<i1>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i1>) -> tensor<2xi1>
    %2 = stablehlo.select %1, %a, %b : tensor<2xi1>, tensor<2xf32>
    %3 = stablehlo.concatenate %a, %b, %c, dim = 0 : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<6xf32>
    %4 = stablehlo.slice %3 [1:4] : (tensor<6xf32>) -> tensor<3xf32>
    %7 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %13 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %11 = stablehlo.constant dense<false> : tensor<i1>
    %12 = stablehlo.while(%k = %7) : tensor<2xf32>
    cond {
      stablehlo.return %11 : tensor<i1>
    } do {
      %14 = stablehlo.add %k, %k : tensor<2xf32>
      stablehlo.return %14 : tensor<2xf32>
    }
    return %2, %4, %12 : tensor<2xf32>, tensor<3xf32>, tensor<2xf32>
  }
  func.func @empty(%a: tensor<0xf32>, %c: tensor<f32>) -> (tensor<f32>, tensor<3xf32>) {
    %1 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.pad %a, %c, low = [1], high = [2], interior = [0] : (tensor<0xf32>, tensor<f32>) -> tensor<3xf32>
    return %1, %2 : tensor<f32>, tensor<3xf32>
  }
  func.func @main(%c: tensor<2xcomplex<f32>>, %p: tensor<2xi1>, %i: tensor<2xi32>, %q: tensor<i1>, %a: tensor<2xf32>,
      %e: tensor<0xf32>, %n: tensor<f32>) -> (tensor<2xcomplex<f32>>, tensor<2xi1>, tensor<2xf32>) {
    %0:8 = call @constants() : () -> (tensor<1xi32>, tensor<2xi32>, tensor<1xi32>, tensor<2xi1>, tensor<4xf32>,
      tensor<2xi32>, tensor<i32>, tensor<i1>)
    %1:2 = call @lines() : () -> (tensor<2x4x3xi32>, tensor<1x3xi32>)
    %2:3 = call @neutral(%c, %p, %i) : (tensor<2xcomplex<f32>>, tensor<2xi1>, tensor<2xi32>) -> (tensor<2xcomplex<f32>>,
      tensor<2xi1>, tensor<2xi1>)
    %3:3 = call @moved(%q, %a, %a, %a) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>,
      tensor<3xf32>, tensor<2xf32>)
    %4:2 = call @empty(%e, %n) : (tensor<0xf32>, tensor<f32>) -> (tensor<f32>, tensor<3xf32>)
    return %2#0, %2#1, %3#2 : tensor<2xcomplex<f32>>, tensor<2xi1>, tensor<2xf32>
  }
}
