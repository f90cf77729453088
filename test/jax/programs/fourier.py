"""Fourier transforms and what is computed with them."""

import jax
import jax.numpy as jnp
from catalog import complex_normal, normal, program


@program("fourier", complex_normal(3, 16))
def there_and_back(x):
    return jnp.fft.fft(x), jnp.fft.ifft(x), jnp.fft.ifft(jnp.fft.fft(x))


@program("fourier", complex_normal(12), complex_normal(7), complex_normal(15))
def lengths_that_are_no_powers_of_two(a, b, c):
    return jnp.fft.fft(a), jnp.fft.fft(b), jnp.fft.ifft(c)


@program("fourier", normal(4, 10))
def real_input(x):
    return jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x), 10), jnp.fft.hfft(x[0].astype(jnp.complex64), 18)


@program("fourier", normal(2, 9))
def odd_real_length(x):
    return jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x), 9)


@program("fourier", complex_normal(4, 6), normal(6, 4))
def two_dimensions(x, y):
    return jnp.fft.fft2(x), jnp.fft.rfft2(y), jnp.fft.irfft2(jnp.fft.rfft2(y))


@program("fourier", complex_normal(2, 3, 4))
def three_dimensions(x):
    return jnp.fft.fftn(x), jnp.fft.ifftn(x), jnp.fft.fftshift(x)


@program("fourier", complex_normal(8, dtype="complex128"), normal(9, dtype="float64"), x64=True)
def in_double(x, y):
    return jnp.fft.fft(x), jnp.fft.rfft(y)


@program("fourier", normal(16), normal(16))
def convolution_theorem(x, y):
    return jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(y), 16)


@program("fourier", normal(12))
def gradient_of_a_spectrum(x):
    return jax.grad(lambda v: jnp.sum(jnp.abs(jnp.fft.rfft(v)) ** 2))(x)


@program("fourier", normal(10))
def cosine_transform(x):
    return jax.scipy.fft.dct(x), jax.scipy.fft.idct(x)


@program("fourier", normal(1, 32))
def short_time_spectrum(x):
    frames = jnp.stack([x[0, i : i + 8] for i in range(0, 25, 4)])
    return jnp.abs(jnp.fft.rfft(frames * jnp.hanning(8))) ** 2


@program("fourier", normal(8, 8))
def spectral_poisson_solver(charge):
    k = jnp.fft.fftfreq(8) * 2 * jnp.pi
    square = k[:, None] ** 2 + k[None, :] ** 2
    potential = jnp.fft.fft2(charge) / jnp.where(square == 0, 1.0, square)
    return jnp.fft.ifft2(potential.at[0, 0].set(0)).real
