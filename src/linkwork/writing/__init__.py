"""Printers and notation: expressions as text, LaTeX and programs in other languages; no run needs them."""
