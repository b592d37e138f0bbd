"""Prometheus expressions of a small part of PromQL, judged over what the components export.

Names, numbers, `time()`, `sum`, `max`, differences, comparisons with a number, `and`, `or`: of these Python's grammar
has the same precedence. A vector is a value for each set of labels; a comparison keeps what it holds for.
"""

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]

COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Eq: operator.eq,
    ast.Gt: operator.gt,
    ast.Lt: operator.lt,
}
AGGREGATIONS: dict[str, Callable[[list[float]], float]] = {"sum": sum, "max": max}
NO_LABELS: Labels = frozenset()


def scraped(**registries: CollectorRegistry) -> dict[str, Vector]:
    """Return every sample by name, as Prometheus stores it: with the job it comes from."""
    samples: dict[str, Vector] = {}
    for job, registry in registries.items():
        for family in text_string_to_metric_families(generate_latest(registry).decode()):
            for sample in family.samples:
                labels = frozenset({**sample.labels, "job": job}.items())
                samples.setdefault(sample.name, {})[labels] = sample.value
    return samples


@dataclass(frozen=True)
class Evaluation:
    """One moment: what was scraped, and the time in seconds."""

    samples: dict[str, Vector]
    now_s: float

    def firing(self, expression: str) -> Vector:
        """Return what an alert with this expression fires for."""
        value = self._of(ast.parse(expression.strip(), mode="eval").body)
        assert isinstance(value, dict), "an alert is about a vector"
        return value

    def _of(self, node: ast.expr) -> Vector | float:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        if isinstance(node, ast.Name):
            return self.samples.get(node.id, {})
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._called(node.func.id, *node.args)
        return self._combined(node)

    def _called(self, name: str, *arguments: ast.expr) -> Vector | float:
        if name == "time":
            return self.now_s
        [values] = (list(self._vector(argument).values()) for argument in arguments)
        return {NO_LABELS: AGGREGATIONS[name](values)} if values else {}

    def _combined(self, node: ast.expr) -> Vector:
        match node:
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return {labels: self._number(left) - value for labels, value in self._vector(right).items()}
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                holds, limit = COMPARISONS[type(op)], self._number(right)
                return {labels: value for labels, value in self._vector(left).items() if holds(value, limit)}
            case ast.BoolOp(op=ast.And(), values=[first, *others]):
                common = set.intersection(*(set(self._vector(each)) for each in others))
                return {labels: value for labels, value in self._vector(first).items() if labels in common}
            case ast.BoolOp(op=ast.Or(), values=[one, other]):
                return {**self._vector(other), **self._vector(one)}
        raise NotImplementedError(ast.unparse(node))

    def _vector(self, node: ast.expr) -> Vector:
        value = self._of(node)
        assert isinstance(value, dict)
        return value

    def _number(self, node: ast.expr) -> float:
        value = self._of(node)
        assert isinstance(value, float)
        return value
