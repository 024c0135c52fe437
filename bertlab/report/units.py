"""What the name of a held-out figure says of it, as `Loss.metric_labels` has it."""


def is_share(figure: str) -> bool:
    """Whether it is a share, from 0 to 1 in a result and in points in a table."""
    return figure.endswith("accuracy")


def is_loss(figure: str) -> bool:
    """Whether it is in nats."""
    return figure.endswith("loss")


def less_is_better(figure: str) -> bool:
    """Whether a better model has less of it."""
    return is_loss(figure) or figure.endswith(("perplexity", "bits_per_byte"))
