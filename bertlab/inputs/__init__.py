"""From a tokenised corpus to batches: sequences are cut, pairs drawn, masks chosen, all as functions of keys."""
