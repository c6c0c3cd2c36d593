"""Read StableHLO with jaxlib, whose modules tests compare with those of our own reader."""

import importlib
import io

from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from xla2py.transpile.frontends.hlo_proto import without_large_literals
from xla2py.transpile.frontends.jaxlib_conversion import ConvertedModule, module_text


def converted_stablehlo(content):
    """StableHLO of any form as HLO text."""
    program = _from_artifact(content) if content.startswith(b"ML\xefR") else content
    computation = _jax.mlir.mlir_module_to_xla_computation(program, False, False)
    proto, literals = without_large_literals(memoryview(computation.as_serialized_hlo_module_proto()))
    return ConvertedModule(module_text(proto), literals)


def _from_artifact(content):
    """A portable artefact as bytecode of StableHLO."""
    written = io.BytesIO()
    stablehlo.deserialize_portable_artifact(mlir_context(), content).operation.write_bytecode(written)
    return written.getvalue()


def mlir_context():
    """A context of jaxlib's MLIR with the dialects that a program of JAX may use."""
    context, registry = ir.Context(), ir.DialectRegistry()
    importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    for name in ("sdy", "mpmd", "chlo", "stablehlo"):
        importlib.import_module(f"jaxlib.mlir.dialects.{name}").register_dialect(context)
    return context
