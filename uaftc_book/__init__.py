"""The book: its equations, claims and experiments, chapter by chapter."""
