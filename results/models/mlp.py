"""A policy as robots have: three dense layers, in Keras."""

import keras
from keras import layers


def get_model() -> keras.Model:
    hidden = [layers.Dense(256, activation="tanh") for _ in range(2)]
    return keras.Sequential([keras.Input((48,)), *hidden, layers.Dense(12)])
