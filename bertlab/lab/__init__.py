"""Studies, scales, plans and jobs."""
