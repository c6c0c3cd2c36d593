"""The shape rules of HLO's operations, one module per topic, each with a ``RULES`` table opcode -> rule."""
