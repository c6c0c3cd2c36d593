import xla2py
