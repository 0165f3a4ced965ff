"""LTL formulas judged by exact equivalence over infinite words."""
