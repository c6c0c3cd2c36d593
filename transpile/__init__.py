"""HLO in, Python out. Knows no array library."""
