"""Runs plans: in this process, in workers on its cores or GPUs, on a Ray cluster, or as jobs of SLURM."""
