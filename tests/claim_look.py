"""What a look found at some claim."""

from bertlab.store.record import ClaimLook


def look(n: int, p: float, as_claimed: bool, power: float) -> ClaimLook:
    return ClaimLook(claim="", hypothesis="", on="", metric="", n=n, p=p, as_claimed=as_claimed, power=power)
