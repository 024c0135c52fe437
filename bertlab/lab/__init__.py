"""What is run: studies, scales, plans, jobs."""
