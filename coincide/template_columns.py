"""TemplateColumns: templates side by side in arrays, as the kernels read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays import BoolArray, FloatArray, IndexArray
from coincide.histogram import Histogram


@dataclass(frozen=True, eq=False)
class TemplateColumns:
    """Templates with the same number k of buckets, one per column.

    Attributes
    ----------
    edges_s : ndarray of float64, shape (k + 1, n)
    mass, length_s, density : ndarray of float64, shape (k, n)
        The density of an atom is 0 here: its mass is accounted for apart.
    has_atoms : ndarray of bool, shape (n,)
        Whether the template has a bucket of zero length with mass.
    """

    edges_s: FloatArray
    mass: FloatArray
    length_s: FloatArray
    density: FloatArray
    has_atoms: BoolArray

    @classmethod
    def of(cls, templates: Sequence[Histogram], buckets: int) -> TemplateColumns:
        """Stack templates of at most `buckets` buckets; empty ones of zero length fill them up at the end."""
        edges = np.empty((buckets + 1, len(templates)))
        mass = np.zeros((buckets, len(templates)))
        for column, template in enumerate(templates):
            count = len(template.mass)
            edges[: count + 1, column] = template.edges_s
            edges[count + 1 :, column] = template.edges_s[-1]
            mass[:count, column] = template.mass
        length = np.diff(edges, axis=0)
        density = np.divide(mass, length, out=np.zeros_like(mass), where=length > 0)
        return cls(edges, mass, length, density, has_atoms=((length == 0) & (mass > 0)).any(axis=0))

    def __len__(self) -> int:
        return int(self.mass.shape[1])

    def take(self, index: IndexArray) -> TemplateColumns:
        """Return the columns at `index`, shape (n,), repeated as often as it names them."""
        return TemplateColumns(
            self.edges_s.take(index, axis=1),
            self.mass.take(index, axis=1),
            self.length_s.take(index, axis=1),
            self.density.take(index, axis=1),
            self.has_atoms[index],
        )
