"""Chapter 23_learnt_first: what is learnt first and how long texts may be, by theorems of the years after 2020."""

from uaftc_book.chapters.learnt_first import (  # noqa: F401  (registers)
    detection,
    full_batches,
    lengths,
    polarity_first,
    readings,
    single_words,
    two_tables,
)
