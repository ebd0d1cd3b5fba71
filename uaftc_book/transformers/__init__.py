"""Attention over the states of a transformer.

folder                 what it says of itself, reading it, and what is refused
states                 words as pieces, texts as windows, states that are kept
classifier             the model
pieces                 the texts of a masked language model
masked_language_model  the book's own, trained on reviews that no split holds
"""
