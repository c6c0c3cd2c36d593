"""Programs for several devices: collectives, sharded arrays, names of devices."""
