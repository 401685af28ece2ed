"""Bodies, joints, drivers, forces and motions: data and law side by side."""
