"""Chapter 20_since_2020: which words attention chooses, by theorems of the years after the paper, run on its words."""

from uaftc_book.chapters.since_2020 import biases, first_step, joint, race, readings, selected, together  # noqa: F401  (registers)
