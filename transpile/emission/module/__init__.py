"""The parts of a module around its functions: header, imports, helpers, entry point, line map."""
