"""Chapter 16_pretrained: words that come with a meaning, and words that know their text."""

from uaftc_book.chapters.pretrained import (  # noqa: F401  (registers)
    contextual,
    far_from_zero,
    lifted_by,
    readings,
    similar_words,
    sources,
    unseen_words,
)
