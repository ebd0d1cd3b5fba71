"""λ in the reader's hand: live figures for a notebook, for a page without a kernel, and for a live kernel."""

from uaftc_lib.lab.frames import Frame, LambdaSlider, lambda_slider, train_frame
from uaftc_lib.lab.sliders import sliders

__all__ = ["Frame", "LambdaSlider", "lambda_slider", "sliders", "train_frame"]
