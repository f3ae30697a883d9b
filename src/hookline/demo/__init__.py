"""A scripted agent session in which hooks of every dialect really run: `python -m hookline.demo`."""
