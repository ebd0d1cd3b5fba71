"""Chapter 20_since_2020: theorems of the years after the paper, run on its own model, words and data."""

from uaftc_lib.book.chapters.since_2020 import (  # noqa: F401  (registers)
    biases,
    detection,
    first_step,
    full_batches,
    joint,
    lengths,
    polarity_first,
    race,
    readings,
    selected,
    single_words,
    together,
    two_tables,
)
