"""The questions of the web page and their answers, both in a tab, by Pyodide, and from ``xla2py serve``."""
