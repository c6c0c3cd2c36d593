"""Differential equations, linear solves, physics and harmonic analysis."""

import jax
import jax.numpy as jnp

KEY = jax.random.key(0)


def diffrax_lotka_volterra():
    """An adaptive solve of an ordinary differential equation with diffrax."""
    import diffrax

    def vector_field(t, y, args):
        prey, predator = y
        alpha, beta, gamma, delta = args
        return alpha * prey - beta * prey * predator, -gamma * predator + delta * prey * predator

    def solve(y0, args):
        term, solver = diffrax.ODETerm(vector_field), diffrax.Tsit5()
        controller = diffrax.PIDController(rtol=1e-3, atol=1e-6)
        saveat = diffrax.SaveAt(ts=jnp.linspace(0, 10, 11))
        sol = diffrax.diffeqsolve(
            term, solver, 0.0, 10.0, 0.1, y0, args, saveat=saveat, stepsize_controller=controller, throw=False
        )
        return sol.ys

    return solve, ((jnp.float32(10), jnp.float32(10)), tuple(map(jnp.float32, (0.1, 0.02, 0.4, 0.02))))


def diffrax_euler_step():
    """Fixed steps of Heun's method with diffrax."""
    import diffrax

    def solve(y0, w):
        term = diffrax.ODETerm(lambda t, y, args: jnp.tanh(args @ y))
        sol = diffrax.diffeqsolve(
            term, diffrax.Heun(), 0.0, 1.0, 0.1, y0, w, adjoint=diffrax.DirectAdjoint(), throw=False, max_steps=16
        )
        return sol.ys[-1]

    return solve, (jnp.ones(4), jnp.eye(4) * 0.3)


def lineax_cg():
    """A linear solve by conjugate gradients with lineax."""
    import lineax as lx

    def solve(A, b):
        operator = lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag)
        return lx.linear_solve(operator, b, lx.CG(rtol=1e-5, atol=1e-5), throw=False).value

    return solve, (jnp.eye(6) * 2 + 0.1, jnp.arange(6.0))


def lineax_qr():
    """Least squares by QR with lineax."""
    import lineax as lx

    def solve(A, b):
        return lx.linear_solve(lx.MatrixLinearOperator(A), b, lx.QR(), throw=False).value

    return solve, (jax.random.normal(KEY, (6, 3)), jnp.arange(6.0))


def optimistix_newton():
    """A root by Newton's method with optimistix."""
    import optimistix as optx

    def fn(y, args):
        a, b = y
        return a - jnp.tanh(b + args), b - jnp.tanh(a + 1)

    def solve(y0, args):
        solver = optx.Newton(rtol=1e-5, atol=1e-5)
        return optx.root_find(fn, solver, y0, args, throw=False, max_steps=16).value

    return solve, ((jnp.float32(0), jnp.float32(0)), jnp.float32(0.5))


def optimistix_levenberg_marquardt():
    """A least-squares fit with optimistix."""
    import optimistix as optx

    def residuals(y, args):
        amplitude, rate = y
        times, values = args
        return values - amplitude * jnp.exp(-rate * times)

    def fit(y0, times, values):
        solver = optx.LevenbergMarquardt(rtol=1e-4, atol=1e-4)
        return optx.least_squares(residuals, solver, y0, (times, values), throw=False, max_steps=16).value

    times = jnp.linspace(0, 2, 9)
    return fit, ((jnp.float32(1), jnp.float32(1)), times, 2 * jnp.exp(-0.7 * times))


def jaxopt_gradient_descent():
    """Accelerated gradient descent with jaxopt."""
    import jaxopt

    def fit(w, X, y):
        solver = jaxopt.GradientDescent(lambda w: jnp.mean((X @ w - y) ** 2), maxiter=5, implicit_diff=False)
        return solver.run(w).params

    return fit, (jnp.zeros(3), jax.random.normal(KEY, (8, 3)), jnp.arange(8.0))


def jax_md_lennard_jones():
    """The energy of particles and their forces with jax-md."""
    from jax_md import energy, space

    displacement, _ = space.periodic(4.0)
    energy_fn = energy.lennard_jones_pair(displacement)

    def energy_and_forces(R):
        potential, gradient = jax.value_and_grad(energy_fn)(R)
        return potential, -gradient

    return energy_and_forces, (jax.random.uniform(KEY, (8, 3)) * 4,)


def jax_md_nve_step():
    """A step of molecular dynamics with jax-md."""
    from jax_md import energy, simulate, space

    displacement, shift = space.periodic(4.0)
    init, apply = simulate.nve(energy.soft_sphere_pair(displacement), shift, 1e-3)
    state = init(KEY, jax.random.uniform(KEY, (8, 2)) * 4, kT=0.1)
    return apply, (state,)


def s2fft_forward():
    """The spherical harmonic transform with s2fft."""
    from s2fft.transforms import spherical

    def analyse(f):
        return spherical.forward_jax(f, 6)

    return analyse, (jax.random.normal(KEY, (6, 11)).astype(jnp.complex64),)


def e3nn_tensor_product():
    """Spherical harmonics and a tensor product of irreps with e3nn."""
    import e3nn_jax as e3nn

    def features(x):
        harmonics = e3nn.spherical_harmonics("0e + 1o + 2e", x, normalize=True)
        return e3nn.tensor_product(harmonics, harmonics, filter_ir_out="0e + 1o").array

    return features, (jax.random.normal(KEY, (4, 3)),)


def mjx_pendulum_step():
    """A step of a pendulum with MuJoCo MJX."""
    import mujoco
    from mujoco import mjx

    xml = """<mujoco><worldbody><body><joint name="hinge" type="hinge" axis="0 1 0"/>
    <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5"/></body></worldbody>
    <actuator><motor joint="hinge"/></actuator></mujoco>"""
    model = mjx.put_model(mujoco.MjModel.from_xml_string(xml))
    data = mjx.make_data(model)

    def step(qpos, qvel, ctrl):
        state = mjx.step(model, data.replace(qpos=qpos, qvel=qvel, ctrl=ctrl))
        return state.qpos, state.qvel

    return step, (jnp.array([0.3]), jnp.zeros(1), jnp.ones(1))


def brax_positional_step():
    """A step of a pendulum with brax's positional pipeline."""
    from brax.io import mjcf
    from brax.positional import pipeline

    xml = """<mujoco><worldbody><body pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
    <geom type="sphere" size="0.1" pos="0 0 -0.5" mass="1"/></body></worldbody>
    <actuator><motor joint="hinge"/></actuator></mujoco>"""
    xml = xml.replace("<joint type", '<joint name="hinge" type')
    system = mjcf.loads(xml)

    def step(q, qd, action):
        state = pipeline.init(system, q, qd)
        state = pipeline.step(system, state, action)
        return state.q, state.qd

    return step, (jnp.array([0.3]), jnp.zeros(1), jnp.ones(1))


PROGRAMS = (
    diffrax_lotka_volterra,
    diffrax_euler_step,
    lineax_cg,
    lineax_qr,
    optimistix_newton,
    optimistix_levenberg_marquardt,
    jaxopt_gradient_descent,
    jax_md_lennard_jones,
    jax_md_nve_step,
    s2fft_forward,
    e3nn_tensor_product,
    mjx_pendulum_step,
    brax_positional_step,
)
