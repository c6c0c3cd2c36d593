"""Programs of several devices: collectives, sharded arrays, names of devices."""
