"""Reading and writing by index, line by line under jaxlite and JAX."""

import pytest

from tests.numpy import oracle

pytestmark = pytest.mark.jax_oracle

EXPRESSIONS = r"""
x[0]
x[-1]
x[5]
x[-7]
x[:, 1]
x[1:3]
x[::-1]
x[::2, 1:]
x[::-2]
x[2:0:-1]
x[5:0:-1]
x[0:0]
x[2:1]
x[-100:2]
x[1:100]
x[...]
x[()]
x[None]
x[:, None, 0]
x[..., None]
x[1:2, None, 0]
x[..., 0]
x[0, ...]
x[0, 0]
x[..., 0, 0]
t[0, :, 1]
t[:, ::-1, ::2]
x[::0]
x[0, 0, 0]
x[..., ...]
x[1.5]
x['a']
x[[0, 1]]
x[[]]
x[[slice(None)]]
x[(0, 1)]
x[1j]
x[object()]
x[np.int64(1)]
x[np.array(1)]
x[np.array(1.)]
x[jnp.array(1)]
x[jnp.array(-1)]
x[:, jnp.array(-1)]
x[jnp.array(1), 1:]
x[jnp.array(1), ::2]
x[jnp.array(7)]
x[jnp.array(1, dtype='uint8')]
x[jnp.array([0, 1])]
x[jnp.array([5, -7, -1])]
x[:, jnp.array([0, 1])]
x[jnp.array([0, 1]), jnp.array([0, 1])]
x[jnp.array([0, 1]), 1:]
x[jnp.array([0, 1]), ::2]
x[jnp.array([0, 1]), ::-1]
x[0, jnp.array([0, 1])]
x[jnp.array([0, 1]), 0]
x[jnp.array([0, 1]), None]
x[jnp.array([0, 1]), None, jnp.array([0, 1])]
x[:, [0, 1]]
x[np.array([0, 2])]
x[jnp.array([[0, 1], [1, 2]])]
x[jnp.array([[0], [1]]), jnp.array([0, 1])]
x[jnp.array([], int)]
x[jnp.array([1.5])]
x[jnp.array([0, 1, 2]), jnp.array([0, 1])]
x[x[0].astype(int)]
x[jnp.array([1], 'int8')]
x[jnp.array([1], 'uint8'), 0]
t[:, jnp.array([0, 1]), :]
t[jnp.array([0, 1]), :, jnp.array([0, 1])]
t[0, :, jnp.array([0, 1])]
t[0, jnp.array([0, 1])]
t[:, 0, jnp.array([0, 1])]
t[:, jnp.array([[0, 1]]), jnp.array([[0], [1]])]
t[..., jnp.array([0, 1])]
t[jnp.array([0, 1]), ..., 0]
t[None, :, jnp.array([0, 1])]
x[True]
x[False]
i[jnp.array(True)]
i[jnp.array(False)]
x[b]
x[np.array([True, False, True])]
x[bb]
x[:, bb[0]]
x[b, 0]
x[b, :2]
x[b, jnp.array([0, 1])]
t[jnp.ones((2, 3), bool)]
t[:, bb]
t[jnp.ones((2, 3), bool), 0]
x[jnp.array([True, False])]
x[x > 5]
x[x > 100]
x[[True, False, True]]
x[slice(jnp.array(1), None)]
x[1:2.]
e[0]
e3[0]
e[jnp.array([0])]
e[jnp.array([], int)]
e[:]
e3[:, 1]
s[()]
s[...]
s[None]
s[0]
x[{}]
x.at[0].set(1.)
x.at[0, 1].set(5)
x.at[1, :].set(1.0)
x.at[-1].set(v)
x.at[:, 1].set(v[:3])
x.at[1:].set(0)
x.at[::2].set(v)
x.at[::-1].set(x)
x.at[::-2, 1].set(jnp.array([7., 8.]))
x.at[5].set(1.)
x.at[-4].set(1.)
x.at[1:100].set(0.)
x.at[None, 0].set(2.)
x.at[1:, None].set(3.)
x.at[...].set(1)
x.at[()].set(1)
x.at[0].set(jnp.ones(3))
x.at[0:2, 1].set(jnp.array([[1.], [2.]]))
x.at[0].set('a')
x.at[0].set(None)
x.at[0].set([1., 2., 3., 4.])
x.at[0].set(1 + 2j)
i.at[0].set(1.5)
i.at[0].add(1.5)
i.at[0].set(True)
x.at[jnp.array([0, 1])].set(7)
x.at[jnp.array([5, -7])].set(1.)
x.at[jnp.array([-1])].set(1.)
x.at[jnp.array([0, 0])].add(1.)
x.at[jnp.array([0, 1]), jnp.array([2, 3])].add(10.)
x.at[jnp.array([0, 1]), 1:].multiply(10.)
x.at[jnp.array([0, 1]), ::2].set(10.)
x.at[:, jnp.array([0, 2])].set(jnp.array([1., 2.]))
x.at[jnp.array([[0, 1], [1, 2]])].add(1.)
x.at[0].add(v)
x.at[0].subtract(v)
x.at[0].multiply(v)
x.at[0].mul(2)
x.at[0].divide(2)
i.at[1].divide(2)
x.at[0].power(2)
i.at[1].power(2)
i.at[jnp.array([0, 0])].power(2)
x.at[0].min(0.5)
x.at[0].max(2.5)
i.at[0].min(-1)
x.at[0].apply(jnp.sin)
x.at[jnp.array([0, 2])].apply(lambda a: a * 2)
x.at[b].set(0.)
x.at[x > 5].set(0.)
x.at[x > 5].set(jnp.arange(6.))
x.at[x > 5].set(jnp.arange(5.))
x.at[x > 5].add(1)
x.at[jnp.array([5])].set(1, mode='clip')
x.at[jnp.array([5])].set(1, mode='drop')
x.at[jnp.array([5])].set(1, mode='foo')
x.at[jnp.array([2, 1])].set(1, unique_indices=True)
x.at[0].get()
x.at[jnp.array([5])].get()
x.at[jnp.array([5])].get(mode='fill')
x.at[jnp.array([5])].get(mode='fill', fill_value=-1)
x.at[7].get(mode='fill', fill_value=-1)
x.at[jnp.array([-1, 9])].get(mode='clip')
x.at[jnp.array([5])].get(mode='wrap')
i.at[jnp.array([7])].get(mode='fill')
u8.at[7].get(mode='fill')
b.at[7].get(mode='fill')
c.at[7].get(mode='fill')
x.at[1:5].get(mode='fill')
x.at[x > 5].get()
x.at[jnp.array([7])].get(mode='promise_in_bounds')
jnp.ones(3, 'int8').at[0].set(300)
jnp.ones(3, 'int8').at[0].set(jnp.int32(3))
jnp.ones(3, 'float16').at[0].add(jnp.float32(3))
jnp.asarray(1.).at[()].set(2)
jnp.asarray(1.).at[...].add(2)
jnp.full((2,), 1).at[0].set(2)
jnp.full((2,), 1).at[0].set(jnp.int32(2))
bf.at[0].add(1.5)
b.at[0].set(False)
b.at[0].add(True)
c.at[0].set(5)
e.at[0].set(1.)
e.at[jnp.array([0])].set(1.)
x.at[[0, 1]].set(1.)
x.__setitem__(0, 1.)
i[1].__index__()
x[0, 1].item()
x[None].squeeze()
"""

# Same class of error; the words differ, because JAX's name its own internals.
CLASS_ONLY = r"""
x.at[0].foo
x.at.set(1)
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_same_as_jax(expression: str) -> None:
    oracle.compare(expression)


@pytest.mark.parametrize("expression", CLASS_ONLY.strip().splitlines())
def test_same_class_of_error_as_jax(expression: str) -> None:
    oracle.compare(expression, sentence=False)
