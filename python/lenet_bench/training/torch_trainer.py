"""LeNet in PyTorch: an nn.Module, autograd, and torch.optim's SGD."""

import numpy as np
import torch
from torch.nn import functional

from ..arrays import Bytes, Floats
from ..backends import torch as backend
from ..choices import Recipe
from .trainer import Parameters


class LeNet(backend.LeNet):
    """The backend's network up to its logits."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of images (n, 1, 28, 28)."""
        x = functional.max_pool2d(self.conv1(x), 2)
        x = functional.max_pool2d(self.conv2(x), 2)
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc2(x)


class TorchTrainer:
    """The module and its optimizer.

    PyTorch scales the momentum buffer by the current rate; Caffe and Keras store scaled steps. With
    a changing rate these rules differ. So we scale the gradient by the rate, and use lr=1.
    """

    def __init__(self, recipe: Recipe, parameters: Parameters) -> None:
        torch.use_deterministic_algorithms(True)  # the same seed gives the same weights
        self._weight_decay = recipe.weight_decay
        self._model = LeNet()
        self._model.load_state_dict({name: torch.tensor(a) for name, a in parameters.items()})
        self._named = dict(self._model.named_parameters())
        weights = [p for name, p in self._named.items() if name.endswith(".weight")]
        biases = [p for name, p in self._named.items() if name.endswith(".bias")]
        self._optimizer = torch.optim.SGD(
            [{"params": weights}, {"params": biases}],
            lr=1.0,
            momentum=recipe.momentum,
            nesterov=recipe.momentum > 0,
        )

    def step(self, images: Floats, labels: Bytes, rate: float) -> float:
        classes = torch.from_numpy(labels.astype(np.int64))
        entropy = functional.cross_entropy(self._model(_tensor(images)), classes)
        self._optimizer.zero_grad()
        (rate * entropy).backward()
        self._optimizer.param_groups[0]["weight_decay"] = rate * self._weight_decay
        self._optimizer.step()
        return entropy.item()

    def logits(self, images: Floats) -> Floats:
        with torch.inference_mode():
            return self._model(_tensor(images)).numpy()

    def parameters(self) -> Parameters:
        return {name: p.detach().numpy().copy() for name, p in self._named.items()}


def _tensor(images: Floats) -> torch.Tensor:
    return torch.from_numpy(images[:, np.newaxis])
