"""One mechanism by eight formulations: what each costs, and how accurate it is"""

import linkwork as lw

compared = lw.compare(
    lw.load("four_bar_redundant"),
    formulations=["augmented", "ggl", "coordinate-partitioning", "qr", "svd", "putd", "udwadia-kalaba", "schur"],
    t_end=0.5,
)
print(compared)
