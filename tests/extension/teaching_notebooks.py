"""Ten ordinary teaching notebooks as lists of cells: none of them deserves a warning."""

from __future__ import annotations

IMPORTS = "import numpy as np\nimport jaxlite as jax\nimport jaxlite.numpy as jnp"

LINEAR_REGRESSION = [
    IMPORTS,
    "rng = np.random.default_rng(0)\nX = rng.normal(size=(64, 3)).astype('float32')\n"
    "y = X @ np.array([1.0, -2.0, 0.5], 'float32') + 0.1",
    "LEARNING_RATE = 0.1\nEPOCHS = 20\nparams = {'w': jnp.zeros(3), 'b': jnp.zeros(())}",
    "def predict(params, x):\n    return x @ params['w'] + params['b']\n\n"
    "def loss(params, x, y):\n    return jnp.mean((predict(params, x) - y) ** 2)\n\n"
    "@jax.jit\ndef update(params, x, y):\n    grads = jax.grad(loss)(params, x, y)\n"
    "    return jax.tree.map(lambda p, g: p - LEARNING_RATE * g, params, grads)",
    "losses = []\nfor epoch in range(EPOCHS):\n    params = update(params, X, y)\n"
    "    losses.append(float(loss(params, X, y)))\nprint(f'last loss {losses[-1]:.3f}')",
    "LEARNING_RATE",
]

MULTILAYER_PERCEPTRON = [
    IMPORTS + "\nfrom functools import partial",
    "def init_layer(key, n_in, n_out):\n    return jax.random.normal(key, (n_in, n_out)) * 0.1\n"
    "sizes = (4, 8, 2)\nkeys = jax.random.split(jax.random.PRNGKey(0), len(sizes) - 1)\n"
    "weights = [init_layer(k, m, n) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]",
    "ACTIVATIONS = {'tanh': jnp.tanh, 'relu': lambda v: jnp.maximum(v, 0)}\n"
    "@partial(jax.jit, static_argnames='kind')\ndef forward(weights, x, kind='tanh'):\n"
    "    act = jnp.tanh if kind == 'tanh' else jax.nn.relu\n"
    "    for w in weights[:-1]:\n        x = act(x @ w)\n    return x @ weights[-1]",
    "x = jnp.ones((5, 4))\nforward(weights, x), forward(weights, x, kind='relu')",
    "batched = jax.vmap(forward, in_axes=(None, 0))\nbatched(weights, jnp.ones((3, 5, 4))).shape",
]

NEWTON = [
    IMPORTS,
    "def f(x):\n    return x**3 - 2 * x - 5\n\ndf = jax.grad(f)",
    "@jax.jit\ndef newton_step(x):\n    return x - f(x) / df(x)",
    "x = 2.0\nfor i in range(6):\n    x = newton_step(x)\nprint(x)",
    "from jaxlite import lax\n"
    "root = lax.while_loop(lambda v: jnp.abs(f(v)) > 1e-4, newton_step, 2.0)",
    "x = 3.0  # start again\nfor i in range(6):\n    x = newton_step(x)",
]

ODE = [
    IMPORTS + "\nfrom jaxlite import lax\nimport math",
    "DT = 0.01\nG = 9.81\n\ndef pendulum(state, length):\n    angle, speed = state\n"
    "    return jnp.array([speed, -G / length * jnp.sin(angle)])",
    "@jax.jit\ndef simulate(state, length):\n    def step(state, _):\n"
    "        k1 = pendulum(state, length)\n        k2 = pendulum(state + DT / 2 * k1, length)\n"
    "        state = state + DT * k2\n        return state, state\n"
    "    return lax.scan(step, state, None, length=100)",
    "final, path = simulate(jnp.array([math.pi / 4, 0.0]), 1.0)\npath.shape",
    "for length in (0.5, 1.0, 2.0):\n    final, _ = simulate(jnp.array([0.1, 0.0]), length)\n"
    "    print(length, final)",
]

MONTE_CARLO = [
    IMPORTS + "\nimport time",
    "@jax.jit\ndef estimate(key):\n    p = jax.random.uniform(key, (1000, 2))\n"
    "    return 4 * jnp.mean(jnp.sum(p**2, axis=1) < 1)",
    "start = time.perf_counter()\nkey = jax.random.PRNGKey(42)\nvalues = []\n"
    "for k in jax.random.split(key, 5):\n    values.append(estimate(k))\n"
    "seconds = time.perf_counter() - start\nnp.mean(values)",
    "key, sub = jax.random.split(key)\nestimate(sub)",
    "noise = np.random.rand(3)\nkey = jax.random.PRNGKey(7)\nestimate(key) + noise",
]

TRACING_LESSON = [
    IMPORTS,
    "@jax.jit\ndef f(x):\n    print('tracing')  # printed once: that is the lesson\n"
    "    print('the shape is', x.shape, 'of', x.ndim, 'axes')\n    return x * 2",
    "f(jnp.ones(3)); f(jnp.zeros(3)); f(jnp.ones(4))",
    "@jax.jit\ndef g(x):\n    if x.ndim == 1:\n        return x.sum()\n"
    "    if len(x) > 100:\n        raise ValueError(f'too long: {x.shape}')\n"
    "    return x.sum(axis=-1)",
    "g(jnp.ones(3)), g(jnp.ones((2, 3)))",
    "calls = 0\ndef count(v):\n    global calls\n    calls += 1\n    return v\ncount(1)\ncalls",
    "print(jax.make_jaxpr(g)(jnp.ones(3)))",
]

GAME_OF_LIFE = [
    IMPORTS,
    "KERNEL_SHIFTS = tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))",
    "@jax.jit\ndef life(board):\n    total = jnp.zeros_like(board)\n"
    "    for i, j in KERNEL_SHIFTS:\n        total = total + jnp.roll(board, (i, j), (0, 1))\n"
    "    born = (total == 3) & (board == 0)\n"
    "    stays = ((total == 2) | (total == 3)) & (board == 1)\n"
    "    return (born | stays).astype(board.dtype)",
    "board = np.zeros((8, 8), 'int32')\nboard[2, 1:4] = 1\nfor _ in range(4):\n"
    "    board = life(board)\nint(board.sum())",
    "board = np.zeros((8, 8), 'int32')\nboard[0, 0] = 1\nlife(board)",
]

CLASSES = [
    IMPORTS + "\nfrom dataclasses import dataclass\nfrom typing import NamedTuple\nimport enum",
    "@dataclass(frozen=True)\nclass Config:\n    rate: float = 0.1\n    steps: int = 3\n\n"
    "class Mode(enum.Enum):\n    TRAIN = 1\n    TEST = 2\n\n"
    "class State(NamedTuple):\n    w: object\n    step: object\n\nconfig = Config()",
    "@jax.jit\ndef update(state, grad):\n"
    "    return State(state.w - config.rate * grad, state.step + 1)",
    "class Optimizer(NamedTuple):\n    init: object\n    update: object\n\n"
    "def sgd(rate):\n    def init(w):\n        return State(w, jnp.zeros((), 'int32'))\n"
    "    def step(state, grad):\n        return State(state.w - rate * grad, state.step + 1)\n"
    "    return Optimizer(init, step)\n\nopt = sgd(0.1)",
    "@jax.jit\ndef train(state, x):\n    mode = Mode.TRAIN\n"
    "    g = x * (1 if mode is Mode.TRAIN else 0)\n"
    "    return opt.update(state, g)\nstate = opt.init(jnp.ones(3))\n"
    "state = train(state, jnp.ones(3))",
    "config = Config()\nstate = update(state, jnp.ones(3))\nprint(state.step)",
]

JIT_CELLS = [
    IMPORTS + "\nfrom jaxlite.numpy import tanh, mean",
    "x = np.linspace(0, 1, 50, dtype='float32').reshape(10, 5)\nw = jnp.ones((5, 3))\n"
    "lr = 0.1\nn = 2",
    "def normalise(v):\n    return (v - v.mean(0)) / (v.std(0) + 1e-6)",
    "%%jit --grad loss:w\nh = tanh(normalise(x) @ w)\nloss = mean((h - 0.5) ** 2)",
    "history = []\nfor i in range(3):\n    history.append(float(loss))",
    "%%jit\nw = w - lr * dw\nfor i in range(n):\n    z = w * i",
    "lr = 0.01\nx = x + 1",
    "%%jit --grad loss:w\nh = tanh(normalise(x) @ w)\nloss = mean((h - 0.5) ** 2)",
    "%%jit\nw = w - lr * dw\nfor i in range(n):\n    z = w * i",
]

MATRICES = [
    IMPORTS,
    "A = jnp.array([[2.0, 1.0], [1.0, 3.0]])\nb = jnp.array([1.0, 2.0])\njnp.linalg.solve(A, b)",
    "@jax.jit\ndef power_iteration(A, v):\n    for _ in range(10):\n        v = A @ v\n"
    "        v = v / jnp.linalg.norm(v)\n    return v @ A @ v, v",
    "value, vector = power_iteration(A, jnp.ones(2))\n"
    "assert jnp.allclose(A @ vector, value * vector, atol=1e-2)",
    "table = {}\nfor name, f in {'sum': jnp.sum, 'max': jnp.max}.items():\n"
    "    table[name] = float(jax.jit(f)(A))\ntable",
    "fast = jax.jit(lambda A, b: jnp.linalg.solve(A, b))\nfor scale in (1.0, 2.0):\n"
    "    fast(A * scale, b)",
    "del table\nA = A.at[0, 0].set(5.0)\nfast(A, b)",
]

NOTEBOOKS = {
    "linear regression": LINEAR_REGRESSION,
    "multilayer perceptron": MULTILAYER_PERCEPTRON,
    "newton": NEWTON,
    "ode": ODE,
    "monte carlo": MONTE_CARLO,
    "tracing lesson": TRACING_LESSON,
    "game of life": GAME_OF_LIFE,
    "classes": CLASSES,
    "jit cells": JIT_CELLS,
    "matrices": MATRICES,
}
