"""The report of a study: `store -> statistics -> tables, plots -> page`. Reads finished runs and nothing else."""
