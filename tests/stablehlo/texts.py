"""Programs in StableHLO: forms of the specification, as JAX, torch, TensorFlow and Reactant write them."""

from pathlib import Path

TEXTS = {path.stem: path.read_text() for path in sorted(Path(__file__).with_name("programs").glob("*.mlir"))}
