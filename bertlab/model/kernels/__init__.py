"""Fast paths, each behind the signature of the plain version."""
