"""Numbers as the pages write them."""


def short(value: float) -> str:
    """Two significant digits, a true minus sign."""
    text = f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
    return text.replace("-", "−")


def with_interval(mean: float, low: float, high: float) -> str:
    """A mean, and its interval in brackets."""
    return f"{short(mean)} [{short(low)}, {short(high)}]"
