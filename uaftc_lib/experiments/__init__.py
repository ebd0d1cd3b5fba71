"""Stored tables: one store, one reader, one command for all of them.

``store`` keeps a table, and runs what it lacks; ``registry`` knows the experiments, reads a stored table and compares
with it; ``cells`` and ``sweep`` are grids of training runs, ``tables`` is what ``uaftc tables`` does. Nothing is
imported here: the command answers a wrong name without torch.
"""
