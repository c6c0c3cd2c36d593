"""The notation of passes: patterns, rules and uses of nodes."""
