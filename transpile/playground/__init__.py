"""What the page asks and is answered: the same questions in a tab, by Pyodide, and from ``xla2py serve``."""
