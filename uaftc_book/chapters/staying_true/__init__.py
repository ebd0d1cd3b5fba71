"""Chapter 15_staying_true: what objectives that keep states close to their words buy, and what they cost."""

from uaftc_book.chapters.staying_true import objectives, readings  # noqa: F401  (registers what they hold)
