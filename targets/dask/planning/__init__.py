"""How a program is cut into chunks: sizes, phases, and what each operation does with its blocks."""
