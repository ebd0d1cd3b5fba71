"""Which words drive which class: exact statements about a trained classifier with attention.

The command of this name is ``uaftc_lib/report/``. Everything here holds the states of the encoder fixed and asks what
the pooling and the linear head make of them. For a classifier without an encoder that is the whole model.
"""

from uaftc_lib.explain.adversarial import Adversary, adversarial_attention, jensen_shannon
from uaftc_lib.explain.contributions import Permuted, contributions, leave_one_out, permutation_test, probabilities
from uaftc_lib.explain.flips import minimal_flip_sets
from uaftc_lib.explain.shapley import shapley
from uaftc_lib.explain.words import association_matrix, attention_matrix, class_matrix, word_class_influence

__all__ = [
    "Adversary",
    "Permuted",
    "adversarial_attention",
    "association_matrix",
    "attention_matrix",
    "class_matrix",
    "contributions",
    "jensen_shannon",
    "leave_one_out",
    "minimal_flip_sets",
    "permutation_test",
    "probabilities",
    "shapley",
    "word_class_influence",
]
