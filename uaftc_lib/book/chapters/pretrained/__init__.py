"""Chapter 16_pretrained: what words that come with a meaning, and words that know their text, do to the paper's story."""

from uaftc_lib.book.chapters.pretrained import unseen_words  # noqa: F401  (registers)
