# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
from typing import Any
from ._core.fft import fft as fft
from ._core.fft import fft2 as fft2
from ._core.fft import fftfreq as fftfreq
from ._core.fft import fftn as fftn
from ._core.fft import fftshift as fftshift
from ._core.fft import hfft as hfft
from ._core.fft import hfft2 as hfft2
from ._core.fft import hfftn as hfftn
from ._core.fft import ifft as ifft
from ._core.fft import ifft2 as ifft2
from ._core.fft import ifftn as ifftn
from ._core.fft import ifftshift as ifftshift
from ._core.fft import ihfft as ihfft
from ._core.fft import ihfft2 as ihfft2
from ._core.fft import ihfftn as ihfftn
from ._core.fft import irfft as irfft
from ._core.fft import irfft2 as irfft2
from ._core.fft import irfftn as irfftn
from ._core.fft import rfft as rfft
from ._core.fft import rfft2 as rfft2
from ._core.fft import rfftfreq as rfftfreq
from ._core.fft import rfftn as rfftn

