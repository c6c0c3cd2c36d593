"""The pass that works out what depends on no argument when a module is written."""
