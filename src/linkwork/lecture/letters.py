"""The letters of the formulas, as in CONTRIBUTING.md and in the sources of the formulations."""

from __future__ import annotations

from collections.abc import Iterator

from linkwork.writing.notation import Symbol, symbol_of


def _letters(names: str) -> Iterator[Symbol]:
    return map(symbol_of, names.split())


t, q, v, a, p, u, lam, gamma, eps = _letters("t q v a p u lam gamma epsilon")
n, m, r, s, F = _letters("n m r s F")
M, Q, S, V, Psi, Unit = _letters("M Q S V Psi I")
Psi_q, Psi_t, Psi_u, Psi_p = _letters("Psi_q Psi_t Psi_u Psi_p")
A, B, D, E, G, H, K, L, P, R, T, U, Z, Lambda = _letters("A B D E G H K L P R T U Z Lambda")
D_2, H_1, K_1, K_2, P_1, P_c, P_u, P_p, Q_1, Q_2, R_1 = _letters("D_2 H_1 K_1 K_2 P_1 P_c P_u P_p Q_1 Q_2 R_1")
T_1, T_2, U_1, U_2, Lambda_1, Z_1 = _letters("T_1 T_2 U_1 U_2 Lambda_1 Z_1")
U_d, W_d, W_i, a_f, b, lam_0 = _letters("U_d W_d W_i a_f b lam_0")
d, h, mu, phi, y, y_0, z = _letters("d h mu phi y y_0 z")  # of forms that are integrated
# of the bodies, of the tree
C, M_b, M_t, P_2, Q_b, Q_t, v_b, beta, gamma_t, theta = _letters("C M_b M_t P_2 Q_b Q_t v_b beta gamma_t theta")
N, W, X, lam_1, phi_y, pivots = _letters("N W X lam_1 phi_y u")
