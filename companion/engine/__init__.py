"""Guess, finish, prove: how every optimisation problem of the package is solved.

A library guesses which constraints are active, one linear system finishes, and a certificate proves.
"""
