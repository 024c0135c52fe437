"""Estimates what a plan costs: from similar finished runs, from short trials on this machine, or from a GPU's peak."""
