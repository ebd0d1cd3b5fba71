"""λ in the reader's hand: live figures for a notebook, for a page without a kernel, and for a live kernel.

lab             trains in the reader's browser, no kernel needed
lambda_slider   runs made beforehand, one frame for each λ; in a live kernel it trains in between
Slider          stops along any number, switched on a page, drawn anew in a live kernel
sliders         ipywidgets that train through fit, for a live kernel
"""

from uaftc_lib.extras import needs

with needs("a live figure"):
    from uaftc_book.lab.frames import Frame, train_frame
    from uaftc_book.lab.sliders import LambdaSlider, lambda_slider, sliders
    from uaftc_book.lab.stops import Slider, Stop
    from uaftc_book.lab.widget import Lab, lab

__all__ = ["Frame", "Lab", "LambdaSlider", "Slider", "Stop", "lab", "lambda_slider", "sliders", "train_frame"]
