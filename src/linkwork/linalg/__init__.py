"""Linear algebra on small matrices and vectors for kernels; it knows no mechanics.

For the twenty or so coordinates of a mechanism these loops are several times faster than calls of LAPACK, and they need
nothing but the memory they are given, so that their object code stands alone.

A matrix is a pointer to rows of `width` doubles, `width` being a multiple of four, with zeros beyond the last column.
The cubic loops take four columns at a time, which LLVM turns into one vector each (`columns`). Indices are kept as
doubles, like all else. What a factorization leaves (`Reflections`, `Trapezoid`, `Spectral`) is a named tuple of its
places, which stand in rows of the same width.
"""
