"""Equations to machine code: programs, the compiled System, the prepared Mechanism that all analyses share."""
