"""Dialects: one module for each shading language that programs are printed in."""
