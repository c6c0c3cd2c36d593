"""The subcommands of ``xla2py``, one module each; every module has its click command under the name ``command``."""
