"""ResNet-18 of transformers by its configuration, its weights random."""

import torch
from transformers import ResNetConfig, ResNetForImageClassification


class Answer(torch.nn.Module):
    """Its scores alone."""

    def __init__(self) -> None:
        super().__init__()
        sizes = {"hidden_sizes": [64, 128, 256, 512], "depths": [2, 2, 2, 2]}
        config = ResNetConfig(layer_type="basic", num_labels=1000, **sizes)
        self.resnet = ResNetForImageClassification(config)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.resnet(image).logits
        return answer


def get_model() -> torch.nn.Module:
    return Answer()


def get_args() -> tuple[torch.Tensor]:
    return (torch.randn(1, 3, 224, 224),)
