"""Readers of whole files, this service's own and those of other programs."""
