"""What a plan will cost: from finished runs alike, from short trials on this machine, or from published figures."""
