"""Chapter 16_pretrained: embeddings that start from vectors of a file."""

from uaftc_lib.book.chapters.pretrained import far_from_zero  # noqa: F401  (registers its experiments)
