"""λ in the reader's hand: live figures for a notebook, for a page without a kernel, and for a live kernel.

lab             trains in the reader's browser, no kernel needed
Slider          stops along any number, switched on a page, drawn anew in a live kernel
lambda_slider   a slider over training runs, one stop for each λ; a live kernel trains in between
"""

from uaftc_lib.extras import needs

with needs("a live figure"):
    from uaftc_book.lab.slider import Frame, Slider, Stop, lambda_slider, train_frame
    from uaftc_book.lab.widget import Lab, lab

__all__ = ["Frame", "Lab", "Slider", "Stop", "lab", "lambda_slider", "train_frame"]
