"""StableHLO without MLIR: what its text and its bytecode say, as a module of HLO."""
