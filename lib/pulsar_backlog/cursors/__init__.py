"""Acknowledgement state: decode it in every form, recover it, encode it, and reckon with sets of positions."""
