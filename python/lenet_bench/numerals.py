"""How many of something there are, in words."""


def counted(number: int, what: str) -> str:
    """1 round, 12 rounds, 10,000 epochs; 1 batch, 2 batches."""
    plural = "es" if what.endswith("tch") else "s"
    return f"{number:,} {what}{plural if number != 1 else ''}"
