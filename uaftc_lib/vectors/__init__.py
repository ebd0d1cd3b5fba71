"""Word vectors from a file, which the embeddings of a model may start from.

file_format     what a file says of itself, and which of its lines is wrong
word_vectors    reading, and the vectors of a vocabulary
unused_reviews  the book's own vectors, trained on reviews that no split holds
"""
