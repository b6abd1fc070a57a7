"""Products of matrices, equations, determinants: nests against numpy and jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import check_kernels, check_nest

from shadergen.errors import ShadergenError
from shadergen.ir.expr import walk
from shadergen.ir.ops import Det, Einsum, MatMul
from shadergen.ir.ops.einsum import parse_equation
from shadergen.ir.types import TensorType


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def einsum(equation: str, *arrays: np.ndarray) -> Any:
    """Sum by the definition: a loop over every value of every label."""
    terms, result = parse_equation(equation, [a.ndim for a in arrays])
    sizes: dict[str, int] = {}
    for term, a in zip(terms, arrays, strict=True):
        for label, size in zip(term, a.shape, strict=True):
            sizes[label] = max(size, sizes.get(label, 1))
    y = np.zeros([sizes[n] for n in result])
    for at in np.ndindex(*sizes.values()):
        place = dict(zip(sizes, at, strict=True))
        product = 1.0
        for term, a in zip(terms, arrays, strict=True):
            product *= a[tuple(place[n] % s for n, s in zip(term, a.shape, strict=True))]
        y[tuple(place[n] for n in result)] += product
    return y


MATRICES = [
    ((3, 4), (4, 5)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((1, 3, 2, 3, 4), (2, 3, 1, 4, 5)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((2, 3, 1), (1, 2)),
]


@pytest.mark.parametrize(("a", "b"), MATRICES, ids=str)
def test_products_of_matrices_are_those_of_numpy(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check_nest(MatMul(), normal(*a), normal(*b, seed=1))


def test_products_of_integers_stay_integers() -> None:
    a, b = np.arange(12, dtype=np.int32).reshape(3, 4), np.arange(8, dtype=np.int32).reshape(4, 2)
    assert check_nest(MatMul(), a, b).dtype == np.int32


@pytest.mark.parametrize(
    ("a", "b"), [((3, 4), (5, 4)), ((), (4,)), ((2, 3, 4), (3, 4, 5))], ids=str
)
def test_matrices_that_do_not_fit_are_refused(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    with pytest.raises(ShadergenError, match="SG0205"):
        MatMul().infer(TensorType(a), TensorType(b))


EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ij", [(2, 3)]),
    ("ba", [(2, 3)]),
    ("Ba", [(2, 3)]),
    ("->", [()]),
    ("", [()]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("...ii->...i", [(2, 4, 3, 3)]),
    ("iji->j", [(3, 2, 3)]),
    ("i,i", [(4,), (4,)]),
    ("i,j->ji", [(4,), (3,)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,j->i", [(2, 3), (1,)]),
    ("ij,ij->i", [(2, 1), (2, 3)]),
    ("... -> ...", [(2, 3)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]),
    ("...ij,...jk", [(3, 1, 2, 3), (2, 3, 4)]),
    ("i...,i...->...", [(3, 2), (3, 4, 2)]),
    ("ij,kl->ik", [(2, 3), (4, 5)]),
    ("iij,j->j", [(2, 2, 3), (3,)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("a,b,c,abc->", [(2,), (3,), (4,), (2, 3, 4)]),
    ("bn,anm,bm->ba", [(2, 3), (4, 3, 5), (2, 5)]),
    ("ijk,ijk,ijk->k", [(2, 3, 4), (2, 1, 4), (1, 3, 4)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=str)
def test_equations_are_sums_over_the_labels_that_the_result_lacks(
    equation: str, shapes: list[tuple[int, ...]]
) -> None:
    arrays = [normal(*s, seed=k) for k, s in enumerate(shapes)]
    found = check_kernels(Einsum(equation), *arrays)
    np.testing.assert_allclose(found, einsum(equation, *arrays), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("equation", "ranks"),
    [
        ("ij,jk->ik", (2,)),
        ("ij->ik", (2,)),
        ("ij->ii", (2,)),
        ("i1->i", (2,)),
        ("ij.->i", (2,)),
        ("......ij->", (4,)),
        ("ij->i->j", (2,)),
        ("ijk->i", (2,)),
        ("ij...->i", (1,)),
        ("ij->i...", (1,)),
    ],
    ids=str,
)
def test_text_that_is_no_equation_is_refused(equation: str, ranks: tuple[int, ...]) -> None:
    with pytest.raises(ShadergenError, match="SG0205"):
        Einsum(equation).infer(*(TensorType((2,) * r) for r in ranks))


def test_one_label_has_one_size() -> None:
    with pytest.raises(ShadergenError, match="sizes 3 and 4 share"):
        Einsum("ij,jk").infer(TensorType((2, 3)), TensorType((4, 5)))


@pytest.mark.parametrize("size", range(1, 7))
@pytest.mark.parametrize("batch", [(), (2, 3)], ids=str)
def test_determinants_are_those_of_numpy(size: int, batch: tuple[int, ...]) -> None:
    check_nest(Det(), normal(*batch, size, size), tolerance=1e-10)


def test_the_formula_of_a_determinant_shares_minors() -> None:
    nest = Det().nest(TensorType((6, 6)))
    assert sum(1 for _ in walk(nest.result)) < 450


@pytest.mark.parametrize("shape", [(3, 4), (7, 7), (3,)], ids=str)
def test_other_determinants_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShadergenError, match="SG0205"):
        Det().infer(TensorType(shape))
