// What XLA works out of constants and what it leaves, and how results lie.
module @m {
  func.func public @main(%a: tensor<3x5xf32>, %i: tensor<i32>, %u: tensor<2x2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<2xcomplex<f32>>, tensor<4xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<3x1x3xf32>, tensor<f32>) {
    %infinite = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %low = stablehlo.negate %infinite : tensor<f32>
    %none = stablehlo.cosine %infinite : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %log = stablehlo.log %zero : tensor<f32>
    %floor = stablehlo.floor %half : tensor<f32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %rest = stablehlo.remainder %half, %two : tensor<f32>
    %six = stablehlo.constant dense<6> : tensor<i32>
    %bits = stablehlo.popcnt %six : tensor<i32>
    %numbers = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]> : tensor<3xcomplex<f32>>
    %part = stablehlo.slice %numbers [1:3] : (tensor<3xcomplex<f32>>) -> tensor<2xcomplex<f32>>
    %negative = stablehlo.constant dense<-1> : tensor<i32>
    %sign = stablehlo.compare LT, %i, %negative : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %first = stablehlo.constant dense<7.0> : tensor<4xf32>
    %second = stablehlo.constant dense<7.0> : tensor<4xf32>
    %same = stablehlo.select %sign, %first, %second : tensor<i1>, tensor<4xf32>
    %turned = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    %updated = stablehlo.dynamic_update_slice %turned, %u, %i, %i : (tensor<5x3xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<5x3xf32>
    %sorted = "stablehlo.sort"(%turned) <{dimension = 0 : i64}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %less = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    }) : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %square = stablehlo.slice %a [0:3, 0:3] : (tensor<3x5xf32>) -> tensor<3x3xf32>
    %line = stablehlo.broadcast_in_dim %square, dims = [0, 2] : (tensor<3x3xf32>) -> tensor<3x1x3xf32>
    %once = stablehlo.transpose %line, dims = [0, 2, 1] : (tensor<3x1x3xf32>) -> tensor<3x3x1xf32>
    %twice = stablehlo.transpose %once, dims = [1, 2, 0] : (tensor<3x3x1xf32>) -> tensor<3x1x3xf32>
    %one = stablehlo.constant dense<3.0> : tensor<f32>
    %again = stablehlo.constant dense<3.0> : tensor<f32>
    %loop:3 = stablehlo.while(%k = %i, %p = %one, %q = %half) : tensor<i32>, tensor<f32>, tensor<f32>
    cond {
      %more = stablehlo.compare LT, %k, %six : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.subtract %k, %negative : tensor<i32>
      %product = stablehlo.multiply %q, %p : tensor<f32>
      %grown = stablehlo.add %product, %two : tensor<f32>
      stablehlo.return %next, %again, %grown : tensor<i32>, tensor<f32>, tensor<f32>
    }
    %unused = stablehlo.custom_call @nothing(%a) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    return %low, %none, %log, %floor, %rest, %bits, %part, %same, %updated, %sorted, %twice, %loop#2 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>, tensor<2xcomplex<f32>>, tensor<4xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<3x1x3xf32>, tensor<f32>
  }
}
