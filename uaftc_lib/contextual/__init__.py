"""Classifiers on the states of a transformer, and the book's own small one."""
