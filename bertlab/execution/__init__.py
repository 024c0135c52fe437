"""Runs plans: in this process, or on the devices of a Ray cluster."""
