"""The chapters: checks of equations, experiments and readings of claims, each beside its notebook (contents.py)."""
