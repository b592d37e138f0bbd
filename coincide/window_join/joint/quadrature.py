"""Gauss-Legendre nodes on [-1, 1]: exact integrals of polynomials from a few of their values."""

from __future__ import annotations

from functools import cache

import numpy as np

from coincide.arrays import FloatArray


@cache
def gauss_legendre(degree: int) -> tuple[list[float], list[float]]:
    """Return as few nodes, and their weights, as integrate polynomials of a degree exactly.

    Examples
    --------
    The integral of z^2 is 2/3:

    >>> nodes, weights = gauss_legendre(2)
    >>> round(sum(weight * node**2 for node, weight in zip(nodes, weights)), 12)
    0.666666666667
    """
    nodes, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
    return nodes.tolist(), weights.tolist()


@cache
def antiderivative(degree: int) -> tuple[list[float], list[list[float]]]:
    """Return nodes, and the matrix from a polynomial's values there to the coefficients of its integral from -1.

    Examples
    --------
    A straight line that is -a and a at the nodes, -1/sqrt(3) and 1/sqrt(3), has the integral (z^2 - 1) sqrt(3) a / 2:

    >>> nodes, matrix = antiderivative(1)
    >>> [round(-lower + upper, 4) for lower, upper in matrix]
    [-0.866, 0.0, 0.866]
    """
    nodes, _ = np.polynomial.legendre.leggauss(degree + 1)
    powers = np.arange(1, degree + 2)[:, None]
    integral: FloatArray = np.linalg.inv(np.vander(nodes, increasing=True)) / powers
    at_start = -(integral * (-1.0) ** powers).sum(axis=0, keepdims=True)
    return nodes.tolist(), np.concatenate((at_start, integral)).tolist()
