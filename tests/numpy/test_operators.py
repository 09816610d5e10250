"""Operators, conversions, printing and methods of arrays, line by line under jaxlite and JAX."""

import pytest

from tests.numpy import oracle

pytestmark = pytest.mark.jax_oracle

EXPRESSIONS = r"""
x + 1
1 + x
x + [1]
x == 'a'
x == None
x != None
x == [1]
x - x
5 - i
x * 2.
2 * i
i / 2
2 / i
i // 2
7 // i[1:]
i % 2
2 % i[1:]
divmod(i, 2)
divmod(7, i[1:])
x ** 2
x ** .5
2 ** i
2. ** x
i ** i
i ** -1
x ** -2
x @ x.T
x @ v
v @ w
x @ 2
np.ones(4) @ v
np.ones(4) + v
np.float64(3) * v
np.float64(3) * bf
v * np.array([1., 2., 3., 4.])
np.int64(2) * i
np.arange(3) - i
-v
+v
abs(v)
~i
~b
~v
i & 1
i | 1
i ^ 1
1 & i
i << 1
i >> 1
1 << i
b & b
b | True
v < 1
v <= w
v > 1
1 > v
v >= w
v == w
v != w
i == 1.
round(v[0] + .6)
round(v, 1)
round(i)
len(x)
len(s)
list(i)
[a for a in x]
iter(s)
list(reversed(i))
2 in i
9 in i
bool(s)
bool(x)
bool(e)
bool(jnp.ones((1, 1)))
int(s)
int(x)
int(jnp.ones((1,)))
float(s)
float(i[1])
complex(s)
complex(c[0])
s.__index__()
x.__index__()
[1, 2, 3][i[1]]
hex(i[2])
'abc'[i[1]]
x.item()
x.item(5)
x.item(1, 1)
x.item(100)
x.tolist()
s.tolist()
b.tolist()
repr(x)
repr(s)
repr(jnp.asarray(3))
repr(e)
repr(e3)
repr(c)
repr(b)
repr(bf)
repr(u8)
repr(jnp.arange(1000))
repr(jnp.arange(2000))
repr(jnp.arange(17.) * 1.1)
repr(jnp.arange(66) * 1.)
repr(jnp.full((2,), 1e10))
repr(jnp.array([1e-8, 1.]))
repr(special)
repr(jnp.ones((40, 40)))
repr(jnp.ones((1, 14)))
repr(jnp.ones((3, 11), 'bfloat16'))
str(x)
str(s)
str(b)
str(jnp.arange(2000))
f'{s}'
f'{s:.3f}'
f'{i[1]:5d}'
f'{x}'
f'{x:.3f}'
x.shape
x.dtype == np.float32
x.ndim
x.size
x.nbytes
x.itemsize
x.T
t.T
t.mT
v.mT
c.real
c.imag
v.imag
x.astype(int)
x.astype('bfloat16')
x.astype(bool)
c.astype(float)
x.sum()
x.sum(0)
x.sum(axis=1, keepdims=True)
x.mean(1)
x.std(ddof=1)
x.var(0)
x.max(1)
x.min()
x.prod(0)
x.argmax(1)
x.argmin()
x.all()
x.any(0)
x.cumsum()
x.cumprod(1)
x.ptp(0)
x.flatten()
x.ravel()
x.transpose()
x.transpose(1, 0)
x.transpose((1, 0))
t.transpose(2, 0, 1)
x.swapaxes(0, 1)
x.dot(v)
x.diagonal()
x.trace()
x.take(jnp.array([1, 2]))
x.repeat(2)
x.repeat(2, axis=0)
v.sort()
v.argsort()
v.round(1)
v.clip(0, 1)
v.clip(min=1)
i.nonzero()
x.compress(b, axis=0)
jnp.array([1., 2.]).searchsorted(1.5)
i.choose([i, i, i])
c.conj()
c.conjugate()
x.copy()
x.tobytes()
x.is_deleted()
x.block_until_ready()
np.asarray(x)
np.asarray(x).flags.writeable
np.array(x).flags.writeable
np.asarray(x, dtype=int)
np.sin(v)
np.add(v, 1)
np.sum(v)
np.mean(x)
np.concatenate([v, w])
np.stack([v, w])
np.ones(3)[i]
__import__('copy').deepcopy(x)
__import__('copy').copy(x)
__import__('pickle').loads(__import__('pickle').dumps(x))
np.from_dlpack(x)
x.__array_namespace__().sin(v)
x.weak_type
isinstance(x, jax.Array)
isinstance(x, jnp.ndarray)
isinstance(np.ones(1), jnp.ndarray)
isinstance(np.float32(1), jnp.float32)
"""

# Same class of error; the words differ, because JAX's name its own internals.
CLASS_ONLY = r"""
x + None
x + 'a'
None + x
[1, 2, 3] + i
hash(x)
x.foo
"""


@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_same_as_jax(expression: str) -> None:
    oracle.compare(expression)


@pytest.mark.parametrize("expression", CLASS_ONLY.strip().splitlines())
def test_same_class_of_error_as_jax(expression: str) -> None:
    oracle.compare(expression, sentence=False)
