// What loops and branches are given lies in order within them, however it lies outside.
module @m {
  func.func public @main(%a: tensor<3x5xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<5x3xf32>, tensor<5x3xf32>) {
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    %u = stablehlo.sine %t : tensor<5x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %l:2 = stablehlo.while(%i = %c, %x = %t) : tensor<i32>, tensor<5x3xf32>
    cond {
      %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %y = stablehlo.multiply %x, %u : tensor<5x3xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<5x3xf32>
    }
    %r = "stablehlo.if"(%p) ({
      %s = stablehlo.add %t, %u : tensor<5x3xf32>
      stablehlo.return %s : tensor<5x3xf32>
    }, {
      stablehlo.return %u : tensor<5x3xf32>
    }) : (tensor<i1>) -> tensor<5x3xf32>
    return %l#1, %r : tensor<5x3xf32>, tensor<5x3xf32>
  }
}
