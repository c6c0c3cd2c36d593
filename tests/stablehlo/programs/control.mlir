module @m {
  func.func @main(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>, %p: tensor<i1>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%n = %zero, %x = %a, %k = %b) : tensor<i32>, tensor<4x3xf32>, tensor<4x3xf32>
    cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %8 = stablehlo.compare LT, %n, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %n, %one : tensor<i32>
      %9 = stablehlo.multiply %x, %k : tensor<4x3xf32>
      stablehlo.return %8, %9, %k : tensor<i32>, tensor<4x3xf32>, tensor<4x3xf32>
    }
    %1 = "stablehlo.if"(%p) ({
      stablehlo.return %0#1 : tensor<4x3xf32>
    }, {
      %8 = stablehlo.negate %b : tensor<4x3xf32>
      stablehlo.return %8 : tensor<4x3xf32>
    }) : (tensor<i1>) -> tensor<4x3xf32>
    %2:2 = "stablehlo.case"(%0#0) ({
      stablehlo.return %a, %1 : tensor<4x3xf32>, tensor<4x3xf32>
    }, {
      %8 = func.call @twice(%1) : (tensor<4x3xf32>) -> tensor<4x3xf32>
      stablehlo.return %8, %a : tensor<4x3xf32>, tensor<4x3xf32>
    }) : (tensor<i32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
    return %2#0, %2#1 : tensor<4x3xf32>, tensor<4x3xf32>
  }
  func.func private @twice(%a: tensor<4x3xf32>) -> tensor<4x3xf32> {
    %0 = stablehlo.add %a, %a : tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
