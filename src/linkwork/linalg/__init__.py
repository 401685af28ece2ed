"""Linear algebra on small matrices and vectors for kernels; it knows no mechanics.

For the twenty or so coordinates of a mechanism these loops are faster than LAPACK, and they need nothing but the memory
they are given, so that their object code stands alone. Eigenvalues and vectors of 6, 12 and 40 rows take 1.4, 5 and
120 us, by dsyev called at its address 5, 14 and 420; a system of these sizes 0.3, 1.0 and 10 us by LU with row pivots,
by dgesv 1.8, 2.8 and 12, of which about one is the call. LU with both pivots tells the rank of Psi_q, the one that is
planned leaves out zeros (see there).

A matrix is a pointer to rows of `width` doubles, `width` being a multiple of four, with zeros beyond the last column.
The cubic loops take four columns at a time, which LLVM turns into one vector each (`columns`). Indices are kept as
doubles, like all else. What a factorization leaves (`Reflections`, `Trapezoid`, `Spectral`) is a named tuple of its
places, which stand in rows of the same width.
"""
