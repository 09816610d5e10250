"""Corners of ``jaxlite.numpy`` that JAX's own users stumble over, beside real JAX."""

from __future__ import annotations

import contextlib

import jax
import pytest

import jaxlite
from tests.numpy import oracle

EXPRESSIONS = r"""
jnp.arange(3j)
jnp.arange(0,3+0j,1)
jnp.arange(3,dtype=complex)
3 in jnp.arange(5)
jnp.array([1,2]) in jnp.arange(5)
[1] in jnp.ones((3,2))
jnp.array([1,2],object)
jnp.array(['a'])
jnp.asarray(None)
jnp.array([1,2]).byteswap()
jnp.c_[jnp.ones(3), jnp.zeros(3)]
jnp.r_['0,2',jnp.ones(3), jnp.zeros(3)]
jnp.r_['-1,2,0',jnp.ones(3), jnp.zeros(3)]
jnp.r_['0,3,-1',jnp.ones(3), jnp.zeros(3)]
jnp.r_['r',jnp.ones(3), jnp.zeros(3)]
jnp.r_['c',jnp.ones(3), jnp.zeros(3)]
jnp.r_[-1:1:5j, 2]
jnp.c_[1:3]
jnp.c_['-1,2',jnp.ones(3), jnp.zeros(3)]
jnp.r_['q',1]
jnp.compress(jnp.array([True,False]),jnp.arange(4),size=0)
jnp.compress(jnp.array([],bool),jnp.ones((0,3)),axis=0,size=2)
jnp.compress(jnp.array([True]),jnp.ones((0,)),size=3)
jnp.corrcoef(jnp.ones(3,int))
jnp.corrcoef(jnp.arange(3), dtype=int)
jnp.cov(jnp.arange(3), dtype=int)
jnp.corrcoef(jnp.arange(9.).reshape(3,3)[:, :1], rowvar=True)
jnp.corrcoef(jnp.arange(3.)[None], rowvar=False)
jnp.corrcoef(jnp.arange(3.)[:,None], rowvar=False)
jnp.corrcoef(jnp.arange(3.)[None], rowvar=True)
jnp.cov(jnp.arange(3.)[None], rowvar=False)
jax.jit(lambda o: jnp.delete(jnp.arange(5),o,assume_unique_indices=True))(jnp.array([1,2]))
jax.jit(lambda o: jnp.delete(jnp.arange(5),o,assume_unique_indices=True))(1)
jnp.delete(jnp.arange(5),jnp.array([1,1]),assume_unique_indices=True)
jnp.delete(jnp.arange(5),-1)
jnp.delete(jnp.arange(6).reshape(2,3),jnp.array([[0],[2]]),axis=1,assume_unique_indices=True)
jnp.size([1,2])
jnp.shape([1,2])
jnp.ndim([1,2])
jnp.expand_dims(jnp.ones(3),np.array(0))
jnp.expand_dims(jnp.ones(3),np.array([0,1]))
jnp.expand_dims(jnp.ones(3),jnp.array(0))
jnp.eye(3,k=2**100)
jnp.eye(3,k=-2**40)
jnp.eye(3,k=2**31)
jax.jit(lambda i: jnp.insert(jnp.arange(4),i,9))(1)
jax.jit(lambda i: jnp.insert(jnp.arange(4),i,9))(-1)
jax.jit(lambda i: jnp.insert(jnp.ones((2,3)),i,9,axis=1))(2)
jax.jit(lambda i: jnp.insert(jnp.arange(4),i,9))(jnp.array([1,2]))
jnp.insert(jnp.arange(4.),1,jnp.array([1,2]))
jnp.interp(1.,jnp.arange(3.),jnp.arange(3.),left='interpolate')
jnp.interp(1.,jnp.arange(3.),jnp.arange(3.),period=0)
jnp.interp(1.,jnp.arange(3.),jnp.ones((3,3)))
jnp.isclose(jax.random.key(0),jax.random.key(0))
jnp.allclose(jax.random.key(0),jax.random.key(0))
jax.jit(lambda x: jnp.iscomplexobj(x))(1j)
jax.jit(lambda x: jnp.isrealobj(x))(1j)
jnp.iscomplexobj([1,2j])
jnp.isscalar(jnp.array(1.))
jnp.ravel_multi_index((jnp.array([1]),jnp.array([2])),(3,4),mode='wrap')
jnp.ravel_multi_index((jnp.array([1]),jnp.array([2])),(3,4),mode='clip')
jnp.ravel_multi_index((jnp.array([1.]),jnp.array([2])),(3,4),mode='clip')
jnp.ravel_multi_index((jnp.array([1]),jnp.array([2])),(3,4),mode='ignore')
jnp.ravel_multi_index((jnp.array([7]),jnp.array([2])),(3,4),mode='raise')
jnp.size(jnp.ones((2,3)),axis=(0,0))
jnp.size(jnp.ones((2,3)),axis=(1,-1))
jnp.size(jnp.ones((2,3)),axis=(0,1))
jnp.take_along_axis(jnp.arange(300),jnp.array([100],jnp.int8),0,mode='promise_in_bounds')
jnp.take_along_axis(jnp.arange(200),jnp.array([-1],jnp.int8),0)
jnp.take_along_axis(jnp.arange(6.).reshape(2,3),jnp.array([[1],[7]]),1,mode='one_hot')
jnp.take_along_axis(jnp.arange(6.).reshape(2,3),jnp.array([[1],[7]]),1,mode='clip')
jnp.take_along_axis(jnp.arange(6.).reshape(2,3),jnp.array([[1],[7]]),1)
jnp.trim_zeros(jnp.array([[0,0,0],[0,1,0],[0,0,0]]))
jnp.trim_zeros(jnp.array([[0,0,0],[0,1,0],[0,0,0]]),axis=0)
jnp.trim_zeros(jnp.array([[0,0,0],[0,1,0],[0,0,0]]),axis=1,trim='f')
jnp.trim_zeros(jnp.array([[0,0,0],[0,1,0],[0,0,0]]),axis=(-1,),trim='b')
jnp.trim_zeros(jnp.zeros((3,4)),axis=1)
jnp.trim_zeros(jnp.zeros((3,4)))
jax.jit(lambda i: jnp.unravel_index(i,(3,4)))(7)
jax.jit(lambda i: jnp.unravel_index(i,(3,4)))(jnp.array([7,3,-1,20]))
jax.jit(lambda s: jnp.unravel_index(7,(s,4)))(3)
jnp.unravel_index(jnp.array([7,3,-1,20]),(3,4))
jnp.vander(jnp.arange(3.))
jnp.zeros(2,3)
jnp.ones(2,3)
jnp.empty(2,3)
jnp.full(2,3)
jnp.zeros('a')
jnp.trapezoid(jnp.ones((2,3,5)),dx=jnp.ones((2,2,5)),axis=1)
jnp.trapezoid(jnp.ones((2,3,5)),dx=jnp.ones(4))
jax.jit(lambda n: jnp.tri(n))(3)
jax.jit(lambda n: jnp.tri(3,k=n))(1)
jax.jvp(lambda x: jnp.frexp(x)[0],(jnp.array([3.,0.5]),),(jnp.ones(2),))
jax.grad(lambda x: jnp.frexp(x)[0])(3.)
jnp.abs(jnp.uint8(3))
jnp.absolute(jnp.array([1,200],jnp.uint8))
jnp.fabs(jnp.array([1,200],jnp.uint8))
jnp.abs(jnp.array([True]))
jnp.mgrid[0:3]
jnp.mgrid[()]
jnp.ogrid[()]
jnp.ix_()
jnp.mgrid[0:2,0:3j:2j]
jnp.mgrid[:2.,:3]
jax.jit(lambda n: jnp.ogrid[n:3])(1)
jax.jit(lambda n: jnp.mgrid[0:n])(1)
jax.jit(lambda n: jnp.r_[0:n])(1)
jnp.pad(jnp.arange(3.),1,constant_values=2)
jnp.pad(jnp.ones(3),(1,2),'linear_ramp',end_values=5)
jnp.pad(jnp.arange(3),1,mode='mean',stat_length=2)
jnp.pad(jnp.float32(3)*jnp.ones(2),1)
jnp.pad(jnp.asarray(3.)[None]*1,1).weak_type
jnp.pad(jnp.broadcast_to(3.,(2,)),1).weak_type
jnp.pad(jnp.broadcast_to(3.,(2,)),1,constant_values=jnp.float32(1)).weak_type
jnp.pad(jnp.full((2,),3.),1,'edge').weak_type
jax.jit(lambda n: jnp.split(jnp.arange(4),n))(2)
jax.jit(lambda n: jnp.split(jnp.arange(4),[n]))(2)
jnp.split(jnp.arange(4),2.)
jnp.tensordot(jnp.ones((2,3)),jnp.ones((3,2)),axes=([1],[0,1]))
jnp.tensordot(jnp.ones((2,3)),jnp.ones((3,2)),axes=('a','b'))
jnp.tensordot(jnp.ones((2,3)),jnp.ones((3,2)),axes=(1,[0]))
jnp.tensordot(jnp.ones((2,3)),jnp.ones((3,2)),axes=7)
jnp.tensordot(jnp.ones((2,3)),jnp.ones((3,2)),axes=[1,0,1])
jnp.tensordot(jnp.ones((2,3)),jnp.ones((4,2)),axes=1)
jnp.arange(3,dtype=jnp.int16).tobytes()
jnp.arange(3).tobytes('F')
jnp.arange(3).tobytes(order='C')
jnp.trace(jnp.ones((2,3,2)),axis1=0,axis2=0)
jnp.trace(jnp.ones((2,3,2)),axis1=1,axis2=-2)
jnp.diagonal(jnp.ones((2,3,2)),axis1=1,axis2=1)
jnp.unwrap(jnp.arange(4,dtype=jnp.int16)*3,period=4)
jnp.unwrap(jnp.arange(4)*3)
jnp.unwrap(jnp.arange(4.)*3,discont=1.,period=4)
jnp.arange(4.).view(jnp.complex64)
jnp.arange(4,dtype=jnp.complex64).view(jnp.float32)
jnp.arange(4,dtype=jnp.complex64).view(jnp.int32)
jnp.arange(4,dtype=jnp.complex64).view(jnp.int8)
jnp.arange(4.).view(bool)
jnp.array([True,False]).view(jnp.int8)
jnp.arange(4,dtype=jnp.int8).view(bool)
jnp.where(True,jnp.ones((3,4)),2)
jnp.where(jnp.ones((2,1,1),bool),jnp.ones((3,4)),2)
jnp.ones(3).copy() is None
jnp.histogram(jnp.arange(5.),bins=3)
jnp.histogram2d(jnp.arange(5.),jnp.arange(5),bins=3)
jnp.piecewise(jnp.arange(4.),[jnp.arange(4)<2],[lambda x:x,lambda x:-x])
jnp.arange(5).at[jnp.array([0,0])].apply(lambda x: x+1)
jnp.arange(5)[jnp.array([True]*4)]
jnp.arange(5)[jnp.array([True]*6)]
jnp.ones((2,3))[jnp.ones((3,3),bool)]
jnp.ones((2,3))[np.ones((2,2),bool)]
jnp.ones((2,3))[:,np.array([True,False])]
jnp.arange(5)[1.0]
jnp.arange(5)['a']
jnp.arange(5)[[0,1]]
jnp.arange(5)[[0,1.]]
jnp.arange(5)[(0,),]
jnp.arange(5)[0,1]
jnp.arange(5)[...,...]
jnp.arange(5)[None,...,None]
jnp.arange(5)[7]
jnp.arange(5)[-7]
jnp.arange(5)[2**40]
jnp.arange(5)[-2**40]
jnp.arange(5)[2**31]
jnp.arange(5)[jnp.uint8(200)]
jnp.arange(5).at[7].get()
jnp.arange(5).at[7].get(mode='clip')
jnp.arange(5).at[7].get(mode='fill',fill_value=-1)
jnp.arange(5).at[-7].get(mode='fill',fill_value=-1)
jnp.arange(5).at[7].get(mode='promise_in_bounds')
jnp.arange(5).at[-1].get(wrap_negative_indices=False)
jnp.arange(5).at[-1].get(mode='fill',wrap_negative_indices=False)
jnp.arange(5).at[-1].set(9,wrap_negative_indices=False)
jnp.arange(5).at[-1].add(9,mode='drop',wrap_negative_indices=False)
jnp.arange(5).at[1:3].get(out_sharding=None)
jnp.arange(5).at[0].set(1.5)
jnp.arange(5).at[0].set(jnp.float32(1.5))
jnp.arange(5).at[0].add(True)
jnp.arange(5).at[0].set('a')
jnp.arange(5).at[0].divide(2)
jnp.arange(5.).at[0].power(2)
jnp.arange(5.).at[1:].multiply(jnp.arange(4.))
jnp.arange(5.).at[1:].multiply(jnp.arange(3.))
jnp.arange(5.).at[1].max(7)
jnp.arange(5.).at[jnp.array([1,1])].mul(2)
jnp.arange(6.).reshape(2,3).at[jnp.array([0,1]),jnp.array([0,2])].set(9)
jnp.arange(6.).reshape(2,3).at[:,jnp.array([0,2])].set(jnp.array([9.,8.]))
jnp.arange(6.).reshape(2,3).at[jnp.array([[True,False,True],[False,True,False]])].set(0)
jnp.arange(6.).reshape(2,3).at[jnp.array([True,False])].set(0)
jnp.arange(24).reshape(2,3,4)[jnp.array([0,1]),:,jnp.array([0,1])]
jnp.arange(24).reshape(2,3,4)[:,jnp.array([0,1]),jnp.array([0,1])]
jnp.arange(24).reshape(2,3,4)[0,:,jnp.array([0,1])]
jnp.arange(24).reshape(2,3,4)[jnp.array([0,1]),...,jnp.array([0,1])]
jnp.arange(24).reshape(2,3,4)[None,jnp.array([0,1]),1]
jnp.arange(24).reshape(2,3,4)[jnp.array([[0],[1]]),jnp.array([0,2])]
jnp.arange(24).reshape(2,3,4)[:,::-1,::2]
jnp.arange(24).reshape(2,3,4)[:,5:,::-2]
jnp.arange(24).reshape(2,3,4)[::0]
jnp.arange(5)[slice(0,jnp.int32(3))]
jnp.arange(5)[slice(0,2.)]
jax.jit(lambda i: jnp.arange(5)[i:])(2)
jax.jit(lambda i: jnp.arange(5)[i:i+2])(2)
jax.jit(lambda i: jnp.arange(5)[i])(7)
jax.jit(lambda i: jnp.arange(5)[i])(-1)
jax.jit(lambda m: jnp.arange(5)[m])(jnp.ones(5,bool))
jax.jit(lambda m: jnp.arange(5).at[m].set(0))(jnp.arange(5)>2)
jnp.take(jnp.arange(5),7)
jnp.take(jnp.arange(5),jnp.array([7,-1,-9]))
jnp.take(jnp.arange(5.),jnp.array([7,-1,-9]))
jnp.take(jnp.arange(5),jnp.array([7,-1]),mode='wrap')
jnp.take(jnp.arange(5),jnp.array([7,-1]),mode='clip')
jnp.take(jnp.arange(5),7,mode='raise')
jnp.take(jnp.arange(5),7.)
jnp.take(jnp.arange(5),[1,2])
jnp.take(jax.random.split(jax.random.key(0),3),jnp.array([0,7])).shape
jnp.take(jnp.arange(6).reshape(2,3),jnp.array([0,2]),axis=1,fill_value=-7,mode='fill')
jnp.take(jnp.arange(6).reshape(2,3),jnp.array([0,5]),axis=1,fill_value=-7,mode='fill')
jnp.put(jnp.arange(5),2,9,inplace=False)
jnp.put(jnp.arange(5),2,9)
jnp.put_along_axis(jnp.arange(6).reshape(2,3),jnp.array([[0],[1]]),9,axis=1,inplace=False)
jnp.place(jnp.arange(5),jnp.arange(5)>2,jnp.array([9,8]),inplace=False)
jnp.ones(3)[jnp.ones(3)]
jnp.ones(3)[jnp.array([],int)]
jnp.ones(3)[[]]
jnp.ones(3)[()]
jnp.ones((2,2))[jnp.array(True)]
jnp.ones((2,2))[np.array(0)]
jnp.ones((3,))[jnp.array([[0,1],[1,2]])]
jnp.ones((3,))[[[0,1],[1,2]]]
jnp.ones((3,))[[slice(None)]]
jnp.ones((3,))[[None]]
jnp.ones((0,3))[0]
jnp.ones((0,3))[jnp.array([0])]
jnp.ones((3,0))[:,0]
jax.grad(lambda x: x[jnp.array([0,0,1])].sum())(jnp.arange(3.))
jax.grad(lambda x: x.at[jnp.array([0,0])].mul(x[1]).sum())(jnp.arange(1.,4.))
jax.grad(lambda x: x.at[jnp.array([0,7])].get(mode='fill',fill_value=0).sum())(jnp.arange(1.,4.))
jax.grad(lambda x: x.at[jnp.array([0,7])].get(mode='clip').sum())(jnp.arange(1.,4.))
jax.grad(lambda x: x.at[0].max(2.).sum())(jnp.arange(1.,4.))
jax.grad(lambda x: x.at[0].min(1.).sum())(jnp.arange(1.,4.))
jnp.arange(3).at[0].subtract(1)
jnp.arange(3).at[0].sub(1)
jnp.arange(3)[...]
jnp.arange(3).at[0].min(-1)
jnp.logaddexp(jnp.inf,jnp.inf)
jax.grad(jnp.logaddexp,(0,1))(1.,1.)
jax.grad(jnp.logaddexp,(0,1))(jnp.inf,jnp.inf)
jax.grad(jnp.logaddexp,(0,1))(-jnp.inf,-jnp.inf)
jax.grad(jnp.logaddexp,(0,1))(-jnp.inf,1.)
jax.grad(jnp.logaddexp2,(0,1))(1.,1.)
jax.grad(jnp.maximum,(0,1))(1.,1.)
jax.grad(lambda x: jnp.abs(x))(0.)
jax.grad(lambda x: jax.nn.relu(x))(0.)
jax.grad(lambda x: jnp.sqrt(x))(0.)
jax.grad(lambda x: jnp.linalg.norm(x))(jnp.zeros(2))
jax.grad(lambda x: 0.**x)(0.)
jax.grad(lambda x: jnp.sort(x)[0])(jnp.array([1.,1.,2.]))
jax.grad(lambda x: jnp.max(x))(jnp.array([1.,1.,2.,2.]))
jax.grad(lambda x: jnp.median(x))(jnp.array([1.,1.,2.,2.]))
jax.grad(lambda x: jnp.prod(x))(jnp.array([0.,1.,2.,0.]))
jax.grad(lambda x: jnp.cumprod(x).sum())(jnp.array([0.,1.,2.,0.]))
jax.grad(lambda x: jnp.clip(x,0.,1.))(1.)
jax.grad(lambda x: jnp.round(x))(1.)
jax.grad(lambda x: jnp.sinc(x))(0.)
jax.grad(lambda x: jnp.arctan2(x,x))(0.)
jax.grad(lambda x: jnp.hypot(x,x))(0.)
jax.grad(jnp.where,1)(True,1.,2.)
jax.grad(lambda x: jnp.where(x>0,jnp.log(x),0.))(0.)
jax.grad(jnp.logaddexp2,(0,1))(1.,3.)
jax.vmap(jax.grad(jnp.logaddexp,(0,1)),(0,None))(jnp.arange(3.),1.)
jax.grad(lambda a: jnp.logaddexp(a,jnp.arange(3.)).sum())(1.)
jax.jvp(jnp.logaddexp,(1+2j,2.-1j),(1.+0j,1j))
jax.hessian(lambda x: jnp.logaddexp(x[0],x[1]))(jnp.array([1.,2.]))
jax.hessian(lambda x: jnp.logaddexp2(x[0],x[1]))(jnp.array([1.,1.]))
jnp.logaddexp(1,2)
jnp.logaddexp(jnp.float16(1),2)
jax.grad(jax.nn.softplus)(0.)
jax.hessian(jax.nn.softplus)(0.)
jax.grad(lambda x: jnp.logaddexp(x,0.))(0.)
jax.nn.log_sigmoid(jnp.arange(3.))
jnp.arange(4)[jnp.zeros((0,),bool)]
jnp.ones((3,4))[jnp.zeros((0,4),bool)]
jnp.ones((3,4))[jnp.zeros((3,0),bool)]
jnp.ones((3,4))[:,jnp.zeros((0,),bool)]
jnp.zeros(3,jnp.uint32).at[0].set(4294967295)
jnp.zeros(3,jnp.uint8).at[0].set(300)
jnp.zeros(3,jnp.int8).at[0].set(200)
jnp.zeros(3,jnp.uint32).at[0].add(4294967295)
jnp.zeros(3,jnp.uint32).at[0].set([4294967295])
jnp.zeros(3,jnp.float16).at[0].set(1e10)
jnp.full_like(jax.random.key(0),jax.random.key(1))==jax.random.key(1)
jnp.full((2,),jax.random.key(1)).shape
jnp.empty_like(jax.random.split(jax.random.key(0),3)).shape
jnp.concatenate([jax.random.split(jax.random.key(0),3)]*2).shape
jnp.array([jax.random.key(0),jax.random.key(1)]).shape
jnp.stack([jax.random.key(0),jax.random.key(1)]).shape
jax.random.key(0)==jax.random.key(0)
jax.random.key(0)<jax.random.key(0)
jax.random.key(jnp.arange(4))
jax.random.PRNGKey(jnp.arange(4))
jax.random.key(jax.random.key(0))
jax.random.key('a')
jax.random.key(0,impl='foo')
jax.random.key(0,impl=3)
jax.random.key(0,impl='threefry2x32',dtype='x')
jnp.issubdtype(jax.random.key(0).dtype,jax.dtypes.prng_key)
np.asarray(jax.random.key(0))
jax.random.key_impl(jax.random.key(0))
jax.random.key_data(jnp.zeros(2,jnp.uint32))
jax.random.wrap_key_data(jnp.zeros(2,jnp.int32))
jax.random.split(jax.random.PRNGKey(0),(2,3)).shape
jax.random.bits(jax.random.key(0),(2,),jnp.uint16)
jax.random.normal(jax.random.key(0),dtype=int)
jax.random.uniform(jax.random.key(0),(2,),int)
jax.random.normal(jax.random.split(jax.random.key(0)))
jax.random.randint(jax.random.key(0),(3,),0,10,float)
jax.random.choice(jax.random.key(0),5,(2,),p=jnp.ones(4))
jax.random.permutation(jax.random.key(0),5)
"""


@pytest.mark.jax_oracle
@pytest.mark.parametrize("expression", EXPRESSIONS.strip().splitlines())
def test_same_as_jax(expression: str) -> None:
    oracle.compare(expression)


#: Under strict promotion of dtypes and ranks: JAX raises for what mixes by mistake only.
STRICT = r"""
jnp.where(True, jnp.ones((3, 4)), jnp.ones((2, 3, 4)))
jnp.ones((3, 4))[jnp.arange(3)[:, None] * 0, jnp.arange(4)]
jnp.broadcast_arrays(jnp.ones(2), jnp.ones((3, 2)))
jnp.ones((3, 4)) + jnp.ones(4)
jnp.vander(jnp.arange(3.0))
jnp.mgrid[0:2, 0:3.0]
jnp.histogram(jnp.arange(5.0), bins=3)
jnp.insert(jnp.arange(3.0), 1, 7)
jnp.ravel_multi_index((jnp.array([1], jnp.int16), jnp.array([2], jnp.int16)), (3, 4), mode="clip")
jnp.pad(jnp.arange(3.0), 1, constant_values=0)
jnp.pad(jnp.arange(3), 1, "linear_ramp", end_values=1)
jnp.interp(1.0, jnp.arange(3.0), jnp.arange(3.0))
jnp.cov(jnp.arange(3.0))
jnp.unwrap(jnp.arange(3.0))
jnp.arange(5)[jnp.int8(2)]
jnp.arange(5.0).at[jnp.int8(2)].set(1)
lax.dynamic_slice(jnp.arange(5), (jnp.int16(1),), (2,))
jnp.arange(3) * 2.0
"""


@pytest.mark.jax_oracle
@pytest.mark.parametrize("expression", STRICT.strip().splitlines())
def test_same_as_jax_when_strict(expression: str) -> None:
    with contextlib.ExitStack() as stack:
        for j in (jax, jaxlite):
            stack.enter_context(j.numpy_rank_promotion("raise"))
            stack.enter_context(j.numpy_dtype_promotion("strict"))
        oracle.compare(expression)
