"""The model and its training written a second time, instance by instance, as the equations stand.

Nothing here is fast, batched or shared with the library, but for the masks and the order of the instances,
which are given.
"""

import math

import torch

ADAGRAD_EPSILON, ADAM_EPSILON, ADAM_BETAS = 1e-10, 1e-8, (0.9, 0.999)


def instances_of(corpus):
    """Token ids of each instance, as lists."""
    ends = corpus.offsets.tolist()
    return [corpus.tokens[begin:end].tolist() for begin, end in zip(ends, ends[1:])]


def dot(x, y):
    return sum(a * b for a, b in zip(x, y))


def classify(words, V, W, lam, M=None, additive=False):
    """Scores a_j, weights α_j, polarity s_j of each word's embedding and polarity s of the instance.

    Plain floats: Eq 1 to 7 for lists of floats; Eq 56 to 58 with M; Eq 65 with M and ``additive``; W may be
    one list or one list for each class (Eq 72).
    """
    keys = values = words
    if M is not None:
        mapped = [[dot(row, e) for row in M] for e in words]
        keys = [[math.tanh(x) for x in h] for h in mapped] if additive else mapped
        values = words if additive else mapped
    a = [dot(key, V) / lam for key in keys]
    top = max(a)
    total = sum(math.exp(score - top) for score in a)
    alpha = [math.exp(score - top) / total for score in a]
    h = [sum(weight * value[i] for weight, value in zip(alpha, values)) for i in range(len(V))]
    if isinstance(W[0], list):
        return a, alpha, [[dot(value, w) for w in W] for value in values], [dot(h, w) for w in W]
    return a, alpha, [dot(value, W) for value in values], dot(h, W)


def instance_loss(s, label):
    """Eq 5 for one polarity score, Eq 73 and 74 for one of each class."""
    if isinstance(s, list):
        return math.log(sum(math.exp(each - s[label]) for each in s))
    return math.log1p(math.exp(-s if label == 1 else s))


def differentiable_loss(p, corpus, lam, encoder="none", attention="dot", dropout=None):
    """The mean loss of a corpus from a dict of parameter tensors, one instance after the other."""
    total, position = 0.0, 0
    for t, ids in enumerate(instances_of(corpus)):
        e = torch.stack([p["embedding"][i] for i in ids])
        if dropout is not None:
            e = e * dropout.embedding[position : position + len(ids)]
        h = torch.stack([p["M"] @ row for row in e]) if encoder == "affine" else e
        keys = torch.stack([torch.tanh(p["M"] @ row) for row in e]) if attention == "additive" else h
        alpha = torch.softmax(keys @ p["V"] / lam, 0)
        pooled = sum(weight * row for weight, row in zip(alpha, h))
        if dropout is not None:
            pooled = pooled * dropout.pooled[t]
        s, label = pooled @ p["W"], int(corpus.labels[t])
        if s.dim():
            total = total - torch.log_softmax(s, 0)[label]
        else:
            total = total - torch.nn.functional.logsigmoid(s if label == 1 else -s)
        position += len(ids)
    return total / len(corpus)


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
