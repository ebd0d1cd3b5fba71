"""The model and its training written a second time, instance by instance, as the equations stand.

Nothing here is fast, batched or shared with the library, but for the masks and the order of the instances,
which are given.
"""

import torch

ADAGRAD_EPSILON, ADAM_EPSILON, ADAM_BETAS = 1e-10, 1e-8, (0.9, 0.999)


def classify(p, e, lam, additive=False, kept=1.0):
    """Scores a_j, weights α_j, polarity s_j of each embedding of an instance, and its polarity s.

    Eq 1 to 7; Eq 56 to 58 with M; Eq 65 with M and ``additive``; W may have a column for each class (Eq 72). ``kept``:
    the mask of the pooled vector.
    """
    keys = values = e
    if "M" in p:
        mapped = torch.stack([p["M"] @ row for row in e])
        keys, values = (torch.tanh(mapped), e) if additive else (mapped, mapped)
    a = torch.stack([key @ p["V"] for key in keys]) / lam
    exponentials = torch.exp(a - a.max())
    alpha = exponentials / exponentials.sum()
    h = sum(weight * value for weight, value in zip(alpha, values))
    return a, alpha, torch.stack([value @ p["W"] for value in values]), (kept * h) @ p["W"]


def by_instance(p, corpus, lam, additive=False, dropout=None):
    """What :func:`classify` says of each instance, one after the other, from a dict of parameter tensors."""
    ends = corpus.offsets.tolist()
    for t, (begin, end) in enumerate(zip(ends, ends[1:])):
        e = torch.stack([p["embedding"][i] for i in corpus.tokens[begin:end]])
        if dropout is None:
            yield classify(p, e, lam, additive)
        else:
            yield classify(p, e * dropout.embedding[begin:end], lam, additive, dropout.pooled[t])


def instance_loss(s, label):
    """Eq 5 for one polarity score, Eq 73 and 74 for one of each class."""
    if s.dim():
        return torch.log(torch.exp(s - s[label]).sum())
    return torch.log1p(torch.exp(-s if label == 1 else s))


def mean_loss(p, corpus, lam, additive=False, dropout=None):
    """Of a corpus; it can be differentiated."""
    every = by_instance(p, corpus, lam, additive, dropout)
    return sum(instance_loss(s, label) for (*_, s), label in zip(every, corpus.labels.tolist())) / len(corpus)


class Optimizer:
    """Adagrad, SGD or Adam, one parameter and one formula at a time."""

    def __init__(self, kind, rates, decay):
        self.kind, self.rates, self.decay, self.step, self.memory = kind, rates, decay, 0, {}

    def update(self, parameters, gradients):
        """The parameters after one more step."""
        self.step += 1
        moved = {}
        for name, p in parameters.items():
            g, eta = gradients[name], self.rates[name] / (1 + (self.step - 1) * self.decay)
            first, second = self.memory.get(name, (torch.zeros_like(p), torch.zeros_like(p)))
            if self.kind == "sgd":
                change = g
            elif self.kind == "adagrad":
                second = second + g**2
                change = g / (second.sqrt() + ADAGRAD_EPSILON)
            else:
                b1, b2 = ADAM_BETAS
                first, second = b1 * first + (1 - b1) * g, b2 * second + (1 - b2) * g**2
                unbiased = first / (1 - b1**self.step), second / (1 - b2**self.step)
                change = unbiased[0] / (unbiased[1].sqrt() + ADAM_EPSILON)
            self.memory[name] = first, second
            moved[name] = p - eta * change
        return moved
