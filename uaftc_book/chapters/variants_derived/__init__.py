"""Chapter A1_variants_derived: Equations 56 to 71 (two_layers) and 72 to 83 (several_classes)."""

from uaftc_book.chapters.variants_derived import several_classes, two_layers

__all__ = ["several_classes", "two_layers"]
