"""What the name of a held-out metric, as `Loss.metric_labels` has it, or of a metric of a task says of it."""


def is_share(metric: str) -> bool:
    """Whether it is a share, from 0 to 1 in a result and in points in a table."""
    return metric.endswith("accuracy")


def is_loss(metric: str) -> bool:
    """Whether it is in nats."""
    return metric.endswith("loss")


def is_diagnostic(metric: str) -> bool:
    """Whether a metric of a measurement is one of a diagnostic, see `Diagnostic.metrics`."""
    return metric.endswith(("_loss", "_movement"))


def less_is_better(metric: str) -> bool:
    """Whether a better model has less of it."""
    return is_loss(metric) or metric.endswith(("perplexity", "bits_per_byte"))
