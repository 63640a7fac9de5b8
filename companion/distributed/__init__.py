"""Consensus ADMM on a Dask cluster, an optional extra; :func:`companion.admm.consensus` is what one calls.

``rows`` makes one block of rows from whatever the caller has, ``teams`` holds the blocks of one place with what changes
there, ``cluster`` places the teams on workers, asks them, adds up their answers and replaces what is lost.
"""
