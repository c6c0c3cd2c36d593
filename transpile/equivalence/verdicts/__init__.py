"""Whether values agree: tolerances, known differences, sensitivity."""
